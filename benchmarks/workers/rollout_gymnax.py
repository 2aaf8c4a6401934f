"""Random policy in gymnax, no trajectory kept: the loop that its README shows, under `jax.lax.scan`."""

import importlib.metadata

import gymnax
import jax
import jax.numpy as jnp
from protocol import serve


def prepare(options):
    env, params = gymnax.make(options["env"])
    num_envs = options["num_envs"]

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
            _, state, reward, terminated, truncated, _ = timestep
            return (key, state, total + reward, episodes + (terminated | truncated)), None

        carry = key, state, jnp.zeros(num_envs), jnp.zeros(num_envs, jnp.int32)
        (_, _, total, episodes), _ = jax.lax.scan(step, carry, None, options["num_steps"])
        return total.sum(), episodes.sum()

    key = jax.random.key(0)

    def work():
        total, episodes = run(key)
        return {"episodes": int(episodes), "mean_return": float(total) / max(int(episodes), 1)}

    version = importlib.metadata.version("gymnax")
    return work, {"steps": num_envs * options["num_steps"], "version": version, "jax": jax.__version__}


serve(prepare)
