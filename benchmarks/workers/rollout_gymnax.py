"""Random policy in gymnax: the loop of its README in a `jax.lax.scan`, with its default generator.

`options["keep"]` keeps the trajectory. Otherwise the scan only carries the rewards and the number of episodes.
"""

import importlib.metadata

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
from protocol import serve

jax.devices()  # start the backend before the clock starts


def prepare(options):
    env, params = gymnax.make(options["env"])
    num_envs, keep = options["num_envs"], options.get("keep")

    @jax.jit
    def run(key):
        key, reset_key = jax.random.split(key)
        _, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(reset_key, num_envs), params)

        def step(carry, _):
            key, state, total, episodes = carry
            key, action_key, step_key = jax.random.split(key, 3)
            action = jax.vmap(env.action_space(params).sample)(jax.random.split(action_key, num_envs))
            step_keys = jax.random.split(step_key, num_envs)
            timestep = jax.vmap(env.step, in_axes=(0, 0, 0, None))(step_keys, state, action, params)
            observation, state, reward, terminated, truncated, _ = timestep
            kept = (observation, action, reward, terminated, truncated) if keep else None
            return (key, state, total + reward, episodes + (terminated | truncated)), kept

        carry = key, state, jnp.zeros(num_envs), jnp.zeros(num_envs, jnp.int32)
        (_, _, total, episodes), kept = jax.lax.scan(step, carry, None, options["num_steps"])
        return total.sum(), episodes.sum(), kept

    key = jax.random.key(0)

    def work():
        total, episodes, kept = run(key)
        jax.block_until_ready(kept)
        return {"episodes": int(np.asarray(episodes)), "reward": float(np.asarray(total))}

    version = importlib.metadata.version("gymnax")
    return work, {"steps": num_envs * options["num_steps"], "version": version, "jax": jax.__version__}


if __name__ == "__main__":
    serve(prepare)
