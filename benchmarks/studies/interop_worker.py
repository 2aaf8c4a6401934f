"""One environment, as it is imported from a library or exported to it, beside its own functions: prints a line of JSON.

The arguments are "in" or "out", the library, and the id.
"""

import importlib
import importlib.metadata
import inspect
import json
import statistics
import sys
import time

import jax
import numpy as np

import funcenv
from funcenv.checker.check import find_problems
from funcenv.envs import register_envs
from funcenv.interop.exported import typed_key
from funcenv.interop.jumanji import plain_observation
from funcenv.interop.stable import conform
from funcenv.vector_step import select

PLAYGROUND = {"config_overrides": {"impl": "jax"}}  # its other simulator runs on GPUs only
NUM_STEPS, NUM_ENVS, NUM_ENVS_OUT, ROUNDS = 64, 64, 256, 15
MIN_CPU_SECONDS = 0.05  # Shorter rounds are lost in what the rest of the process does.


MODULES = {"playground": "mujoco_playground"}
PACKAGES = {"envelope": "jax-envelope", "functional": "gymnasium"}


def own_functions(library, name):
    """Return the library's `reset(key)` and `step(state, action, key)`: state, observation and reward."""
    if library == "functional":
        return functions_of_gymnasium(name)
    module = importlib.import_module(MODULES.get(library, library))
    if library in ("gymnax", "craftax"):
        if library == "gymnax":
            env, params = module.make(name)
        else:
            env = importlib.import_module("craftax.craftax_env").make_craftax_env_from_name(name, auto_reset=False)
            params = env.default_params

        def reset(key):
            observation, state = env.reset_env(key, params)
            return state, observation, 0.0

        def step(state, action, key):
            observation, state, reward, _, _ = env.step_env(key, state, action, params)
            return state, observation, reward

    elif library == "jumanji":
        env = module.make(name)

        def reset(key):
            state, timestep = env.reset(key)
            return state, plain_observation(timestep.observation), timestep.reward

        def step(state, action, key):
            state, timestep = env.step(state, action)
            return state, plain_observation(timestep.observation), timestep.reward

    elif library == "jaxmarl":
        env = module.make(name)

        def of_agents(entries):
            return {agent: entries[agent] for agent in env.agents}

        def reset(key):
            observation, state = env.reset(key)
            return state, of_agents(observation), dict.fromkeys(env.agents, 0.0)

        def step(state, action, key):
            observation, state, rewards, _, _ = env.step_env(key, state, action)
            return state, of_agents(observation), of_agents(rewards)

    elif library in ("brax", "playground"):
        if library == "brax":
            env = importlib.import_module("brax.envs").get_environment(name)
        else:
            env = module.registry.load(name, **PLAYGROUND)

        def reset(key):
            state = env.reset(key)
            return state, state.obs, state.reward

        def step(state, action, key):
            state = env.step(state, action)
            return state, state.obs, state.reward

    elif library == "envelope":
        env = module.create(name.replace(".", "::", 1))

        def reset(key):
            state, info = env.init(key)
            return state, info.obs, info.reward

        def step(state, action, key):
            state, info = env.step(state, action)
            return state, info.obs, info.reward

    elif library == "pgx":
        env = module.make(name)

        def reset(key):
            state = env.init(key)
            return state, state.observation, state.rewards[0]

        def step(state, action, key):
            state = env.step(state, action, key)
            return state, state.observation, state.rewards[0]

    elif library == "xminigrid":
        env, params = module.make(name)

        def reset(key):
            timestep = env.reset(params, key)
            return timestep, timestep.observation, timestep.reward

        def step(timestep, action, key):
            timestep = env.step(params, timestep, action)
            return timestep, timestep.observation, timestep.reward

    else:
        env = module.make(name)

        def reset(key):
            timestep = env.reset(key)
            return timestep, timestep.observation, timestep.reward

        def step(timestep, action, key):
            timestep = env._step(timestep.replace(info=dict(timestep.info)), action)
            return timestep, timestep.observation, timestep.reward

    return reset, step


def functions_of_gymnasium(path):
    """Return those of a functional environment of Gymnasium, with keys split as `FromFunctional` splits them."""
    module, _, name = path.partition(":")
    env = getattr(importlib.import_module(module), name)()
    params = env.get_default_params()

    def call(name, *args):
        function = getattr(env, name)
        takes_params = params is not None and "params" in inspect.signature(function).parameters
        return function(*args, **({"params": params} if takes_params else {}))

    def reset(key):
        state = call("initial", jax.random.split(key)[0])
        return state, call("observation", state, None), 0.0

    def step(state, action, key):
        state_key, reward_key, _ = jax.random.split(key, 3)
        later = call("transition", state, action, state_key)
        return later, call("observation", later, None), call("reward", state, action, later, reward_key)

    return reset, step


def our_env(library, name):
    """Return the environment as funcenv imports it, without a time limit of ours."""
    if library == "functional":
        module, _, name = name.partition(":")
        return funcenv.from_gymnasium_functional(getattr(importlib.import_module(module), name)())
    return funcenv.make(f"{library}/{name}", max_episode_steps=-1)


def our_functions(env):
    """Return the same of an imported environment."""

    def reset(key):
        state = env.initial(key)
        return state, env.observation(state, key), state.reward

    def step(state, action, key):
        state = env.transition(state, action, key)
        return state, env.observation(state, key), state.reward

    return reset, step


def play(reset, step, keys, actions):
    """Return observations and rewards of a trajectory without resets."""

    def advance(state, row):
        action, key = row
        state, observation, reward = step(state, action, key)
        return state, (jax.tree.leaves(observation), reward)

    return jax.lax.scan(advance, reset(keys[0])[0], (actions, keys[1:]))[1]


def stable(reset, step, actions, keys):
    """Give the library's states the shapes and dtypes of later ones, which a scan needs."""
    first = jax.tree.map(lambda leaf: leaf[0], actions)
    later = jax.eval_shape(lambda: step(step(reset(keys[0])[0], first, keys[0])[0], first, keys[0]))[0]

    def cast(state, *results):
        return conform(state, later), *results

    return lambda key: cast(*reset(key)), lambda state, action, key: cast(*step(state, action, key))


def compare(ours, theirs):
    """Say how far two trajectories agree."""
    pairs = list(zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True))
    pairs = [(np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in pairs]
    if all(np.array_equal(a, b, equal_nan=True) for a, b in pairs):
        return "equal bit for bit"
    return f"differ by at most {max(np.nanmax(abs(a - b)) for a, b in pairs):.1g}"


def ratio_of_times(calls):
    """Return the CPU time of the first call as a multiple of the second one's: the median over rounds of both."""
    for call in calls:
        call()
    start = time.process_time()
    calls[1]()
    repeats = max(1, round(MIN_CPU_SECONDS / max(time.process_time() - start, 1e-6)))
    seconds = [[], []]
    for _ in range(ROUNDS):
        for times, call in zip(seconds, calls, strict=True):
            start = time.process_time()
            for _ in range(repeats):
                call()
            times.append(time.process_time() - start)
    return statistics.median(a / b for a, b in zip(*seconds, strict=True))


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


def main_in(library, name):
    """Compare an environment of a library, as funcenv imports it, with the library's own functions."""
    env = our_env(library, name)
    ours, theirs = our_functions(env), own_functions(library, name)
    keys = jax.random.split(jax.random.key(1), NUM_STEPS + 1)
    actions = jax.vmap(env.action_space.sample)(keys[1:])
    theirs = stable(*theirs, actions, keys)
    trajectories = compare(*(jax.jit(lambda f=f: play(*f, keys, actions))() for f in (ours, theirs)))
    findings = find_problems(env, jax.random.key(0))
    batch = jax.random.split(jax.random.key(2), (NUM_ENVS, NUM_STEPS + 1))
    drawn = jax.vmap(jax.vmap(env.action_space.sample))(batch[:, 1:])
    loops = [jax.jit(jax.vmap(lambda keys, actions, f=f: play(*f, keys, actions)[1])) for f in (ours, theirs)]
    ratio = ratio_of_times([lambda loop=loop: jax.block_until_ready(loop(batch, drawn)) for loop in loops])
    codes = ", ".join(sorted({finding.code for finding in findings}))
    return {"trajectories": trajectories, "findings": codes, "ratio": ratio}


def main_out(library, env_id):
    """Compare our environment behind a library's interface with its own functions."""
    keys = jax.random.split(jax.random.key(1, impl="threefry2x32"), (NUM_ENVS_OUT, NUM_STEPS + 1))
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
    return {"largest difference": largest, "ratio": ratio}


def main(direction, library, name):
    register_envs()
    found = {"in": main_in, "out": main_out}[direction](library, name)
    package = PACKAGES.get(library, library)
    print(json.dumps({"version": f"{package} {importlib.metadata.version(package)}", **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
