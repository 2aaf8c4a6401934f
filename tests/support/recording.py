"""One recorded run of each environment, compiled once, on which all generic tests assert.

    in a batch      `NUM_ENVS` environments, reset and then stepped `NUM_STEPS` times with random actions
    alone           the last of these, played once more by itself: reset, step, and reset where an episode ends
    scenes          what each state of that one looks like, in coordinates

The run is two programs. That of the environment alone plays half of the steps; so the second half can also begin with
a state that was stored. All results are NumPy arrays.
"""

import functools
import pickle
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import funcenv
from funcenv.vector import call_key
from funcenv.wrappers import TimeLimit

NUM_ENVS, NUM_STEPS = 3, 64
MAX_EPISODE_STEPS = 5  # so that episodes end
HALF = NUM_STEPS // 2


class Life(NamedTuple):
    """Half of the steps of one environment; every leaf has a leading axis `[HALF]`."""

    state: Any  # after the step, and after the reset where an episode ended
    observation: Any  # of that state
    timestep: Any  # what the step returned
    is_inside: Any  # whether its observation lies in the space
    scene: Any  # of that state; None where the environment draws nothing


class Recording(NamedTuple):
    """What one environment did."""

    env: Any
    actions: Any  # [NUM_STEPS, NUM_ENVS]
    first: Any  # the timestep of the reset, [NUM_ENVS]
    timesteps: Any  # [NUM_STEPS, NUM_ENVS]
    again: Any  # (first, timesteps), played a second time with the same key
    halves: tuple[Life, Life]
    resumed: Life  # the second half, begun with a state that was pickled and loaded


@functools.lru_cache(maxsize=32)
def record(id: str) -> Recording:
    """Return the recorded run of a registered id, with a short time limit instead of its own."""
    return record_env(TimeLimit(funcenv.make(id).unwrapped, MAX_EPISODE_STEPS))


def record_env(env: Any) -> Recording:
    """Return the recorded run of an environment whose episodes are short."""
    keys = jax.random.split(funcenv.key(0), NUM_ENVS)
    (actions, *played), (_, *again) = (jax.device_get(_in_batch(env, keys)) for _ in range(2))
    own = jax.tree.map(lambda leaf: leaf[:, -1], actions)
    begin, end = (jax.tree.map(lambda leaf, part=part: leaf[part], own) for part in (slice(HALF), slice(HALF, None)))
    state, _ = _reset(env, keys[-1])
    start, first = jax.device_get(_alone(env, (jax.device_get(state), jnp.uint32(1)), begin, keys[-1]))
    stored = pickle.loads(pickle.dumps(start))
    second, resumed = (jax.device_get(_alone(env, origin, end, keys[-1])[1]) for origin in (start, stored))
    return Recording(env, actions, *played, tuple(again), (first, second), resumed)


@jax.jit
def _in_batch(env, keys):
    venv = funcenv.FuncVectorEnv(env, NUM_ENVS)
    action_keys = jax.random.split(keys[0], (NUM_STEPS, NUM_ENVS))
    actions = jax.vmap(jax.vmap(env.action_space.sample))(action_keys)
    vstate, first = venv.reset(keys)
    return actions, first, jax.lax.scan(venv.step, vstate, actions)[1]


@jax.jit
def _reset(env, key):
    return env.reset(call_key(key, jnp.uint32(0)))


@jax.jit
def _alone(env, start, actions, key):
    """Play without `vmap`, by the law of keys: call number c uses `call_key(key, c)`."""

    def step(carry, action):
        state, num_calls = carry
        state, timestep = env.step(state, action, call_key(key, num_calls))
        fresh_key = call_key(key, num_calls + 1)

        def reset():
            fresh, first = env.reset(fresh_key, after=state)
            return (fresh, num_calls + 2), first.observation

        carry, observation = jax.lax.cond(timestep.done, reset, lambda: ((state, num_calls + 1), timestep.observation))
        inside = env.observation_space.contains(timestep.observation)
        return carry, Life(carry[0], observation, timestep, inside, _scene(env, carry[0]))

    return jax.lax.scan(step, start, actions)


def _scene(env, state):
    try:
        return env.scene(state).canonical()
    except NotImplementedError:
        return None
