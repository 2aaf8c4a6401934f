"""Random policy in brax's inverted pendulum, a pole on a cart in a general rigid-body engine, in one compiled program.

As `brax.envs.create` makes it: default engine ("generalized"), episodes of at most 1000 steps, and a reset that goes
back to each environment's first state.
"""

import importlib.metadata

import jax
import jax.numpy as jnp
from brax import envs
from protocol import serve

jax.devices()


def prepare(options):
    num_envs = options["num_envs"]
    env = envs.create("inverted_pendulum", batch_size=num_envs)

    @jax.jit
    def run(key):
        key, reset_key = jax.random.split(key)
        state = env.reset(reset_key)

        def step(carry, _):
            key, state, episodes = carry
            key, action_key = jax.random.split(key)
            action = jax.random.uniform(action_key, (num_envs, env.action_size), minval=-1.0, maxval=1.0)
            state = env.step(state, action)
            return (key, state, episodes + state.done), None

        (_, _, episodes), _ = jax.lax.scan(step, (key, state, jnp.zeros(num_envs)), None, options["num_steps"])
        return episodes.sum()

    key = jax.random.key(0)

    def work():
        return {"episodes": int(run(key))}

    version = importlib.metadata.version("brax")
    return work, {"steps": num_envs * options["num_steps"], "version": version, "jax": jax.__version__}


serve(prepare)
