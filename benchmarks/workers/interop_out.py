"""Our environments behind the interface of another library, beside their own functions: prints a line of JSON."""

import importlib.metadata
import json
import sys

import jax
from interop import ratio_of_times

import funcenv
from funcenv.envs import register_envs
from funcenv.interop.exported import typed_key
from funcenv.vector_step import select

NUM_STEPS, NUM_ENVS = 64, 256
PACKAGES = {"envelope": "jax-envelope"}


def interface(library, env_id):
    """Return a loop through the interface, and one of `FuncEnv` that does the same, from the same keys."""
    if library == "gymnax":
        env, params = funcenv.to_gymnax(env_id)
        inner = params

        def step(state, row):
            observation, state, reward, terminated, truncated, _ = env.step(row[1], state, row[0], params)
            return state, (observation, reward, terminated, truncated)

        def own_step(state, row):
            step_key, reset_key = jax.random.split(row[1])
            following, timestep = inner.step(state, row[0], step_key)
            fresh, first = inner.reset(reset_key)
            fresh, observation = select(timestep.done, (fresh, first.observation), (following, timestep.observation))
            return fresh, (observation, timestep.reward, timestep.terminated, timestep.truncated)

        return (lambda key: env.reset(key, params)[1], step), (lambda key: inner.reset(key)[0], own_step)

    inner = funcenv.make(env_id, max_episode_steps=-1)
    env = getattr(funcenv, f"to_{library}")(inner)

    def own_step(carry, row):
        state, key = carry
        step_key, key = jax.random.split(key)
        state, timestep = inner.step(state, row[0], step_key)
        return (state, key), (timestep.observation, timestep.reward, timestep.terminated)

    def own_start(key):
        reset_key, key = jax.random.split(typed_key(key))
        if library == "brax":
            key = jax.random.wrap_key_data(jax.random.bits(key, (2,)), impl="threefry2x32")
        return inner.reset(reset_key)[0], key

    if library == "brax":

        def start(key):
            return env.reset(key)

        def step(state, row):
            state = env.step(state, jax.nn.one_hot(row[0], 2))
            return state, (state.obs, state.reward, state.done)

    else:

        def start(key):
            return env.init(key)[0]

        def step(state, row):
            state, info = env.step(state, row[0])
            return state, (info.obs, info.reward, info.terminated)

    return (start, step), (own_start, own_step)


def main(library, env_id):
    register_envs()
    keys = jax.random.split(jax.random.key(1, impl="threefry2x32"), (NUM_ENVS, NUM_STEPS + 1))
    space = funcenv.make(env_id).action_space
    actions = jax.vmap(jax.vmap(space.sample))(keys[:, 1:])
    loops = []
    for start, step in interface(library, env_id):

        def play(keys, actions, start=start, step=step):
            return jax.lax.scan(step, start(keys[0]), (actions, keys[1:]))[1]

        loops.append(jax.jit(jax.vmap(play)))
    theirs, ours = (jax.tree.leaves(loop(keys, actions)) for loop in loops)
    largest = max(float(abs(a.astype(float) - b.astype(float)).max()) for a, b in zip(theirs, ours, strict=True))
    ratio = ratio_of_times([lambda loop=loop: jax.block_until_ready(loop(keys, actions)) for loop in loops])
    package = PACKAGES.get(library, library)
    version = f"{package} {importlib.metadata.version(package)}"
    print(json.dumps({"version": version, "largest difference": largest, "ratio": ratio}))


main(*sys.argv[1:])
