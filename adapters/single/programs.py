"""The compiled functions of a stateful environment, and where its numbers lie."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.options import is_enabled
from funcenv._compile.single_kernel import SingleKernel
from funcenv.adapters.packing import Packing
from funcenv.func_env import FuncEnv, Timestep
from funcenv.vector import call_key


class Snapshot(NamedTuple):
    """Where an environment is: everything that `step` depends on."""

    env_state: Any
    key: jax.Array
    num_calls: jax.Array


class _Frame(NamedTuple):
    """What one compiled call returns, packed: what is shown, and what is carried to the next call."""

    reward: Any
    terminated: Any
    truncated: Any
    observation: Any
    info: Any
    snapshot: Snapshot


class Programs:
    """The compiled functions of one environment, and the layout of what they return.

    Args:
        func_env: the environment.
        impl: the generator of its keys.
    """

    def __init__(self, func_env: FuncEnv[Any, Any, Any], impl: Hashable) -> None:
        self._env = func_env
        key = jax.random.key(0, impl=impl)
        example = jax.eval_shape(_first, func_env, key, jnp.zeros((), jnp.uint32))
        example = example._replace(snapshot=example.snapshot._replace(key=key))
        self._layout = Packing(example)
        readers = self._layout.readers()
        # The three scalars come first; reading them through `struct` is four times as fast as through numpy.
        self.read_scalars: Callable[[Any], tuple[float, int, int]] = struct.Struct(
            "=dII" if example.reward.dtype == np.float64 else "=fII"
        ).unpack_from
        self.read_observation = _tree_reader(readers.observation)
        self.read_info = _tree_reader(readers.info)
        self.read_env_state = _tree_reader(readers.snapshot.env_state)  # on the host, to be drawn
        self.has_info = bool(readers.info)
        self.start = jax.jit(lambda env, key, num_calls: self._layout.pack(_first(env, key, num_calls)))
        self.reset = SingleKernel(lambda words: self._again(self._env, words), self._layout.read)
        self.reset_with = jax.jit(self._again)
        self.step = SingleKernel(lambda words, action: self._advance(self._env, words, action), self._layout.read)
        self.step_with = jax.jit(self._advance)
        self.snapshot = jax.jit(lambda words: self._layout.unpack(words).snapshot)
        self.restore = jax.jit(self._restore)

    def _advance(self, env: FuncEnv[Any, Any, Any], words: jax.Array, action: Any) -> jax.Array:
        env_state, key, num_calls = self._layout.unpack(words).snapshot
        env_state, timestep = env.step(env_state, action, call_key(key, num_calls))
        return self._layout.pack(_frame(timestep, Snapshot(env_state, key, num_calls + np.uint32(1))))

    def _again(self, env: FuncEnv[Any, Any, Any], words: jax.Array) -> jax.Array:
        _, key, num_calls = self._layout.unpack(words).snapshot
        return self._layout.pack(_first(env, key, num_calls))

    def _restore(self, env: FuncEnv[Any, Any, Any], snapshot: Snapshot) -> jax.Array:
        timestep = env.observe(snapshot.env_state, call_key(snapshot.key, snapshot.num_calls - np.uint32(1)))
        return self._layout.pack(_frame(timestep, snapshot))


def programs(func_env: FuncEnv[Any, Any, Any], impl: Hashable) -> Programs:
    """Shared between equal environments; made anew for those that cannot be compared, as with array parameters."""
    try:
        hash(func_env)
    except TypeError:
        return Programs(func_env, impl)
    return _shared(func_env, impl, bool(jnp.zeros(()).dtype == np.float64), is_enabled())


def _first(env: FuncEnv[Any, Any, Any], key: jax.Array, num_calls: jax.Array) -> _Frame:
    env_state, timestep = env.reset(call_key(key, num_calls))
    return _frame(timestep, Snapshot(env_state, key, num_calls + np.uint32(1)))


def _tree_reader(readers: Any) -> Callable[[np.ndarray[Any, Any]], Any]:
    """One function for all leaves; the leaf's own where there is just one."""
    if callable(readers):
        return readers
    return lambda words: jax.tree.map(lambda read: read(words), readers)


def _frame(timestep: Timestep[Any], snapshot: Snapshot) -> _Frame:
    reward = timestep.reward.astype(float)
    shown = reward, timestep.terminated, timestep.truncated, timestep.observation, timestep.info
    return _Frame(*shown, snapshot)


@functools.lru_cache(maxsize=64)
def _shared(func_env: FuncEnv[Any, Any, Any], impl: Hashable, x64: bool, fused: bool) -> Programs:
    del x64, fused  # a part of what a program depends on
    return Programs(func_env, impl)
