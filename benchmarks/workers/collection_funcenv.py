"""The users' loop of `collection` over `FuncVectorEnv.step`."""

from collection import prepare_collection
from protocol import serve

import funcenv


def prepare(options):
    env = funcenv.make(options["env"])
    venv = funcenv.FuncVectorEnv(env, options["num_envs"])

    def reset(key):
        state, timestep = venv.reset(key)
        return state, timestep.observation

    def step(_, state, action):
        state, timestep = venv.step(state, action)
        return state, (timestep.observation, timestep.reward, timestep.done)

    return prepare_collection(
        "funcenv", options, funcenv.key(0), reset, step, env.observation_space.shape[0], env.action_space.n
    )


serve(prepare)
