"""Random policy in jumanji's 5x5 maze, a walk on a grid whose walls are always the same."""

import jax
from jumanji.environments import Maze
from jumanji.environments.routing.maze.generator import ToyGenerator
from jumanji.wrappers import AutoResetWrapper, VmapWrapper
from protocol import serve
from random_policy import prepare_rollout


def prepare(options):
    num_envs = options["num_envs"]
    env = VmapWrapper(AutoResetWrapper(Maze(generator=ToyGenerator())))

    def reset(key):
        return env.reset(jax.random.split(key, num_envs))[0]

    def step(state, action):
        state, timestep = env.step(state, action)
        return state, timestep.last()

    return prepare_rollout("jumanji", options, reset, lambda key: jax.random.randint(key, (num_envs,), 0, 4), step)


serve(prepare)
