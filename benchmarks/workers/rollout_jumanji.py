"""Random policy in jumanji's 5x5 maze (always the same walls), a walk on a grid, in one compiled program."""

import importlib.metadata

import jax
import jax.numpy as jnp
from jumanji.environments import Maze
from jumanji.environments.routing.maze.generator import ToyGenerator
from jumanji.wrappers import AutoResetWrapper, VmapWrapper
from protocol import serve

jax.devices()


def prepare(options):
    num_envs = options["num_envs"]
    env = VmapWrapper(AutoResetWrapper(Maze(generator=ToyGenerator())))

    @jax.jit
    def run(key):
        key, reset_key = jax.random.split(key)
        state, _ = env.reset(jax.random.split(reset_key, num_envs))

        def step(carry, _):
            key, state, episodes = carry
            key, action_key = jax.random.split(key)
            action = jax.random.randint(action_key, (num_envs,), 0, 4)
            state, timestep = env.step(state, action)
            return (key, state, episodes + timestep.last()), None

        carry = key, state, jnp.zeros(num_envs, jnp.int32)
        (_, _, episodes), _ = jax.lax.scan(step, carry, None, options["num_steps"])
        return episodes.sum()

    key = jax.random.key(0)

    def work():
        return {"episodes": int(run(key))}

    version = importlib.metadata.version("jumanji")
    return work, {"steps": num_envs * options["num_steps"], "version": version, "jax": jax.__version__}


serve(prepare)
