"""The steps that a record is made of: resets, held and random actions, ends of episodes, every autoreset mode.

Two environments are stepped side by side. The first one holds each action for `HELD_STEPS` steps, the second one acts
at random. Episodes are cut short, so that resets are part of every record.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from funcenv._compile.jaxpr import count_jaxpr
from funcenv._compile.kept_jit import KeptJit
from funcenv.func_env import AnyEnv
from funcenv.random import key as new_key
from funcenv.registry import make
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode, FuncVectorEnv
from funcenv.verify.digest import Trace, trace

NUM_ENVS = 2
NUM_STEPS = 128
NUM_SHORT_STEPS = 32
"""The number of steps in the modes besides SAME_STEP, and of Atari games."""
MAX_EPISODE_STEPS = 100
MAX_SHORT_EPISODE_STEPS = 24
"""The limits of an episode in recorded runs of `NUM_STEPS` and of `NUM_SHORT_STEPS` steps."""
HELD_STEPS = 8
SEED = 35
MAX_OPERATIONS_FOR_ALL_MODES = 20_000
"""Bound on the operations of a step, as traced, up to which a record has every autoreset mode."""
_FRACTION = 64  # Actions are multiples of 1 / 64, so that the rounding of a sample does not matter.


def make_env(id: str, length: int = NUM_STEPS) -> AnyEnv:
    """Return the environment of an id with the time limit of a recorded run of `length` steps.

    >>> make_env("CartPole-v1").max_episode_steps
    100
    """
    return make(id, max_episode_steps=MAX_EPISODE_STEPS if length == NUM_STEPS else MAX_SHORT_EPISODE_STEPS)


def modes_of(env: AnyEnv) -> tuple[AutoresetMode, ...]:
    """Return the autoreset modes to record: all, or SAME_STEP alone where a step takes long to compile.

    >>> len(modes_of(make_env("CartPole-v1")))
    3
    """
    if not env.calls_host and _count_operations(env) > MAX_OPERATIONS_FOR_ALL_MODES:
        return (AutoresetMode.SAME_STEP,)
    return AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED


def trace_of(env: AnyEnv, mode: AutoresetMode, length: int = NUM_STEPS) -> Trace:
    """Return the trace of an environment in a mode.

    >>> len(trace_of(make_env("CliffWalking-v1"), AutoresetMode.DISABLED, 4).bits)
    5
    """
    actions = jax.tree.map(lambda leaf: leaf[:length], actions_of(env))
    return trace(play(env, mode, actions))


def num_steps(mode: AutoresetMode, is_short: bool = False) -> int:
    """Return the number of recorded steps in a mode."""
    return NUM_STEPS if mode is AutoresetMode.SAME_STEP and not is_short else NUM_SHORT_STEPS


def actions_of(env: AnyEnv) -> Any:
    """Return the actions of all steps, NumPy arrays `[NUM_STEPS, NUM_ENVS, ...]`; floats are multiples of 1 / 64."""
    keys = jax.random.split(new_key(SEED), (NUM_STEPS, NUM_ENVS))
    drawn = jax.device_get(_draw(env.action_space, keys))
    held = np.arange(NUM_STEPS) // HELD_STEPS * HELD_STEPS

    def fix(leaf: NDArray) -> NDArray:
        leaf = np.stack([leaf[held, 0], leaf[:, 1]], axis=1)
        is_float = leaf.dtype.kind == "f"
        return np.trunc(leaf * _FRACTION).astype(leaf.dtype) / leaf.dtype.type(_FRACTION) if is_float else leaf

    return jax.tree.map(fix, drawn)


def play(env: AnyEnv, mode: AutoresetMode, actions: Any) -> list[Any]:
    """Return the time steps of a reset, and of the steps with `actions`, as NumPy arrays `[NUM_ENVS, ...]` each."""
    keys = jax.random.split(new_key(SEED), NUM_ENVS)
    first, rest = jax.device_get(_program(mode)(env, keys, actions))
    length = len(jax.tree.leaves(actions)[0])
    return [first, *(jax.tree.map(lambda leaf, i=i: leaf[i], rest) for i in range(length))]


def _count_operations(env: AnyEnv) -> float:
    key = new_key(SEED)
    state, _ = jax.eval_shape(env.reset, key)
    action = jax.eval_shape(env.action_space.sample, key)
    return count_jaxpr(jax.make_jaxpr(env.step)(state, action, key).jaxpr)


@functools.partial(jax.jit, static_argnums=0)
def _draw(space: Any, keys: jax.Array) -> Any:
    return jax.vmap(jax.vmap(space.sample))(keys)


@functools.cache
def _program(mode: AutoresetMode) -> Any:
    def played(env: AnyEnv, keys: jax.Array, actions: Any) -> Any:
        venv = FuncVectorEnv(env, NUM_ENVS, autoreset_mode=mode)
        vstate, first = venv.reset(keys)
        return first, jax.lax.scan(venv.step, vstate, actions)[1]

    return KeptJit(played, f"record {mode.value}")
