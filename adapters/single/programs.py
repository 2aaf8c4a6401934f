"""The compiled functions of a stateful environment, and the layout of their results."""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.sharing import share_programs
from funcenv._compile.single_kernel import SingleKernel
from funcenv.adapters.packing import Packing
from funcenv.func_env import AnyEnv, Timestep
from funcenv.random._counter_based import Style
from funcenv.random.generators import with_style
from funcenv.struct import NDArray
from funcenv.vector import call_key


class Snapshot(NamedTuple):
    """The whole state of an environment: everything that `step` depends on."""

    env_state: Any
    key: jax.Array
    num_calls: jax.Array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        """Return the state of the innermost environment as the vector that Gymnasium calls `state`.

        It consists of the fields without a default, which are those that the dynamics depend on.
        """
        del copy
        state = innermost(self.env_state)
        leaves = jax.tree.leaves([getattr(state, name) for name in _coordinates(state)] or state)
        return np.concatenate([np.ravel(leaf) for leaf in leaves], dtype=dtype)

    def with_vector(self, vector: Any) -> Snapshot:
        """Return the snapshot with another state of the innermost environment, given as `numpy.asarray` returns it."""
        state = innermost(self.env_state)
        names = _coordinates(state)
        leaves, structure = jax.tree.flatten([getattr(state, name) for name in names] or state)
        sizes, values = [np.size(leaf) for leaf in leaves], np.asarray(vector)
        if values.shape != (sum(sizes),) or values.dtype.kind not in "biuf":
            raise ValueError(f"a state is a Snapshot or a vector of {sum(sizes)} numbers, got {vector!r}")
        pieces = np.split(values, np.cumsum(sizes)[:-1])
        leaves = [jnp.asarray(piece.reshape(old.shape), old.dtype) for piece, old in zip(pieces, leaves, strict=True)]
        changed = jax.tree.unflatten(structure, leaves)
        return self.with_innermost(state.replace(**dict(zip(names, changed, strict=True))) if names else changed)

    def with_innermost(self, state: Any) -> Snapshot:
        """Return the snapshot with another state of the innermost environment; those of wrappers stay."""
        return self._replace(env_state=_with_innermost(self.env_state, state))


def innermost(env_state: Any) -> Any:
    """Return the state of the environment inside all wrappers."""
    while hasattr(env_state, "env_state"):
        env_state = env_state.env_state
    return env_state


def same_structure(one: Any, other: Any) -> bool:
    """Return whether two pytrees have the same structure, static fields included."""
    structures: tuple[Any, Any] = jax.tree.structure(one), jax.tree.structure(other)
    return bool(structures[0] == structures[1])


def same_shapes(one: Any, other: Any) -> bool:
    """Return whether two pytrees have the same structure, shapes and dtypes."""
    if not same_structure(one, other):
        return False
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all((a.shape, a.dtype) == (b.shape, b.dtype) for a, b in pairs)


def _with_innermost(env_state: Any, state: Any) -> Any:
    if not hasattr(env_state, "env_state"):
        return state
    return env_state.replace(env_state=_with_innermost(env_state.env_state, state))


def _coordinates(state: Any) -> list[str]:
    """Return the names of the fields of a state that have no default; none if the state is not a record."""
    fields = dataclasses.fields(state) if dataclasses.is_dataclass(state) else ()
    return [entry.name for entry in fields if entry.default is dataclasses.MISSING]


class _Result(NamedTuple):
    """The result of one compiled call: what it reports, and the state that the next call needs."""

    reward: Any
    terminated: Any
    truncated: Any
    observation: Any
    info: Any
    snapshot: Snapshot


class EnvPrograms:
    """The compiled functions of one environment, which take and return packed results.

    Args:
        func_env: the environment.
        impl: the PRNG implementation of its keys.
    """

    def __init__(self, func_env: AnyEnv, impl: Hashable) -> None:
        self._env = func_env
        key = jax.random.key(0, impl=impl)
        example = jax.eval_shape(_reset_result, func_env, key, jnp.zeros((), jnp.uint32))
        example = example._replace(snapshot=example.snapshot._replace(key=key))
        self._layout = Packing(example)
        readers = self._layout.readers()
        # The three scalars come first; `struct` reads them four times as fast as NumPy.
        self.read_scalars: Callable[[Any], tuple[float, int, int]] = struct.Struct(
            "=dII" if example.reward.dtype == np.float64 else "=fII"
        ).unpack_from
        self.read_observation, self.read_info = _tree_reader(readers.observation), _tree_reader(readers.info)
        self.read_env_state = _tree_reader(readers.snapshot.env_state)
        self.has_info = bool(readers.info)
        self.first_reset = jax.jit(lambda env, key, num_calls: self._layout.pack(_reset_result(env, key, num_calls)))
        self.reset = self._single_kernel(self._reset)
        self.reset_with = jax.jit(self._reset)
        self.step = self._single_kernel(self._step)
        self.step_with = jax.jit(self._step)
        self.snapshot = jax.jit(lambda packed: self._layout.unpack(packed).snapshot)
        self.restore = jax.jit(self._restore)

    def _single_kernel(self, function: Callable[..., Any]) -> SingleKernel:
        """Compile `function(env, packed, ...)` for this environment, with generators that suit a single kernel."""

        def styled(*args: Any) -> Any:
            return function(self._env, *args, style=Style.SINGLE_KERNEL)

        return SingleKernel(styled, self._layout.read, functools.partial(function, self._env))

    def _step(self, env: AnyEnv, packed: jax.Array, action: Any, style: Style | None = None) -> jax.Array:
        env_state, key, num_calls = with_style(self._layout.unpack(packed).snapshot, style)
        env_state, timestep = env.step(env_state, action, call_key(key, num_calls))
        return self._layout.pack(_result(timestep, Snapshot(env_state, key, num_calls + np.uint32(1))))

    def _reset(self, env: AnyEnv, packed: jax.Array, style: Style | None = None) -> jax.Array:
        _, key, num_calls = with_style(self._layout.unpack(packed).snapshot, style)
        return self._layout.pack(_reset_result(env, key, num_calls))

    def _restore(self, env: AnyEnv, snapshot: Snapshot) -> jax.Array:
        timestep = env.observe(snapshot.env_state, call_key(snapshot.key, snapshot.num_calls - np.uint32(1)))
        return self._layout.pack(_result(timestep, snapshot))


env_programs = share_programs(EnvPrograms)


def _reset_result(env: AnyEnv, key: jax.Array, num_calls: jax.Array) -> _Result:
    env_state, timestep = env.reset(call_key(key, num_calls))
    return _result(timestep, Snapshot(env_state, key, num_calls + np.uint32(1)))


def _result(timestep: Timestep[Any], snapshot: Snapshot) -> _Result:
    return _Result(
        reward=timestep.reward.astype(float),
        terminated=timestep.terminated,
        truncated=timestep.truncated,
        observation=timestep.observation,
        info=timestep.info,
        snapshot=snapshot,
    )


def _tree_reader(readers: Any) -> Callable[[np.ndarray[Any, Any]], Any]:
    """Return one function that reads all leaves: the reader itself where there is only one leaf."""
    return readers if callable(readers) else lambda words: jax.tree.map(lambda read: read(words), readers)
