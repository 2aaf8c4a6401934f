"""The users' loop of `collection` over gymnax, with a key for each environment's step."""

import gymnax
import jax
from collection import prepare_collection
from protocol import serve


def prepare(options):
    env, params = gymnax.make(options["env"])
    num_envs = options["num_envs"]

    def reset(key):
        observation, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(key, num_envs), params)
        return state, observation

    def step(key, state, action):
        keys = jax.random.split(key, num_envs)
        timestep = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, state, action, params)
        observation, state, reward, terminated, truncated, _ = timestep
        return state, (observation, reward, terminated | truncated)

    num_inputs = env.observation_space(params).shape[0]
    return prepare_collection("gymnax", options, jax.random.key(0), reset, step, num_inputs, env.num_actions)


serve(prepare)
