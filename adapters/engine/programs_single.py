"""The compiled functions of a stateful environment, and the layout of their results."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from funcenv._compile import store
from funcenv._compile.options import jit_quickly
from funcenv._compile.sharing import share_programs
from funcenv._compile.single_kernel import SingleKernel
from funcenv.adapters.engine.packing import Packing, Reader
from funcenv.adapters.engine.remembered import Remembered, remember
from funcenv.adapters.engine.snapshot import Snapshot
from funcenv.func_env import AnyEnv, Timestep
from funcenv.random import default_impl, find_impl, words_in_key
from funcenv.random._counter_based import Style
from funcenv.random.generators import with_style
from funcenv.struct import NDArray
from funcenv.vector import call_key


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
        impl_name: the name of the PRNG implementation of its keys; None for the default.
        stepped: returns the environment that is stepped, from this one or one with other parameters.
    """

    def __init__(self, func_env: AnyEnv, impl_name: str | None, stepped: Callable[[AnyEnv], AnyEnv]) -> None:
        self._env, self._impl_name, self._stepped = func_env, impl_name, stepped
        impl = find_impl(impl_name) if impl_name else default_impl()
        key = jax.random.wrap_key_data(jax.device_put(np.zeros(words_in_key(impl), np.uint32)), impl=impl)
        example = store.find_out("shapes of a reset", self._parts("shapes"), functools.partial(self._shapes, key))
        example = example._replace(snapshot=example.snapshot._replace(key=key))
        self._layout = Packing(example)
        readers = self._layout.readers()
        # The three scalars come first; `struct` reads them four times as fast as NumPy.
        self.read_scalars: Callable[[Any], tuple[float, int, int]] = struct.Struct(
            "=dII" if example.reward.dtype == np.float64 else "=fII"
        ).unpack_from
        self.read_observation = _tree_reader(readers.observation)
        self.read_info = _info_reader(example.info, readers.info, self._layout.spans().info)
        self.read_env_state = _tree_reader(readers.snapshot.env_state)
        self.has_info = bool(readers.info)
        self.first_reset = jit_quickly(
            lambda env, key, num_calls: self._layout.pack(self._reset_result(env, key, num_calls)),
            "first reset",
            self._parts("first_reset"),
        )
        self.reset = self._single_kernel(self._reset)
        self.reset_with = jax.jit(self._reset)
        self.step = self._single_kernel(self._step)
        self.step_with = jax.jit(self._step)
        self.remembered: Remembered | None = None
        if stepped(func_env) is func_env:
            self.remembered = remember(func_env, self._layout.spans(), impl, self.step, self.reset)
        self.snapshot = jax.jit(lambda packed: self._layout.unpack(packed).snapshot)
        self.restore = jax.jit(self._restore)

    def are_for(self, func_env: AnyEnv, impl_name: str | None, stepped: Callable[[AnyEnv], AnyEnv]) -> bool:
        """Return whether these programs were made of the same arguments, and of this very environment."""
        return self._env is func_env and (self._impl_name, self._stepped) == (impl_name, stepped)

    def __reduce__(self) -> tuple[Any, ...]:
        return _find, (self._env, self._impl_name, self._stepped)

    def _single_kernel(self, function: Callable[..., Any]) -> SingleKernel:
        """Compile `function(env, packed, ...)` for this environment, with generators that suit a single kernel."""

        def styled(*args: Any) -> Any:
            return function(self._env, *args, style=Style.STATEFUL)

        return SingleKernel(
            styled,
            self._layout.read,
            functools.partial(function, self._env),
            splits=True,
            parts=self._parts(function.__name__),
        )

    def _parts(self, name: str) -> Any:
        """Return all that a program is made of."""
        return type(self).__name__, name, self._env, self._impl_name, self._stepped

    def _shapes(self, key: jax.Array) -> _Result:
        """Return the shapes of the result of a reset, without its key."""
        result: _Result = jax.eval_shape(self._reset_result, self._env, key, np.uint32(0))
        snapshot: Any = result.snapshot
        return result._replace(snapshot=snapshot._replace(key=None))

    def _step(self, env: AnyEnv, packed: jax.Array, action: Any, style: Style | None = None) -> jax.Array:
        env_state, key, num_calls = with_style(self._layout.unpack(packed).snapshot, style)
        env_state, timestep = self._stepped(env).step(env_state, action, call_key(key, num_calls))
        return self._layout.pack(_result(timestep, Snapshot(env_state, key, num_calls + np.uint32(1))))

    def _reset(self, env: AnyEnv, packed: jax.Array, style: Style | None = None) -> jax.Array:
        last, key, num_calls = with_style(self._layout.unpack(packed).snapshot, style)
        return self._layout.pack(self._reset_result(env, key, num_calls, last))

    def _restore(self, env: AnyEnv, snapshot: Snapshot) -> jax.Array:
        timestep = self._stepped(env).observe(
            snapshot.env_state, call_key(snapshot.key, snapshot.num_calls - np.uint32(1))
        )
        return self._layout.pack(_result(timestep, snapshot))

    def _reset_result(self, env: AnyEnv, key: jax.Array, num_calls: jax.Array, last: Any = None) -> _Result:
        env_state, timestep = self._stepped(env).reset(call_key(key, num_calls), after=last)
        return _result(timestep, Snapshot(env_state, key, num_calls + np.uint32(1)))


env_programs = share_programs(EnvPrograms)


def _find(*args: Any) -> EnvPrograms:
    """Return the programs of pickled arguments."""
    return env_programs(*args)


def _result(timestep: Timestep[Any], snapshot: Snapshot) -> _Result:
    return _Result(
        reward=timestep.reward.astype(float),
        terminated=timestep.terminated,
        truncated=timestep.truncated,
        observation=timestep.observation,
        info=timestep.info,
        snapshot=snapshot,
    )


def _tree_reader(readers: Any) -> Callable[[NDArray], Any]:
    """Return one function that reads all leaves: the reader itself where there is only one leaf."""
    if callable(readers):
        return readers
    leaves, structure = jax.tree.flatten(readers)
    return lambda words: jax.tree.unflatten(structure, [read(words) for read in leaves])


def _info_reader(info: Any, readers: Any, spans: Any) -> Callable[[NDArray], Any]:
    """Return one function that reads `info`. Where it is a flat dict of scalars, `struct` reads all of them at once."""
    leaves = jax.tree.leaves(info)
    kinds = [_SCALARS.get(str(leaf.dtype)) if leaf.shape == () else None for leaf in leaves]
    is_flat = isinstance(info, dict) and jax.tree_util.all_leaves(info.values())
    if not info or None in kinds or not is_flat:
        return _tree_reader(jax.tree.map(_scalar_reader, readers))
    formats, makes = zip(*[kind for kind in kinds if kind is not None], strict=True)
    names, start = sorted(info), jax.tree.leaves(spans)[0].start
    read: Callable[..., tuple[Any, ...]] = struct.Struct("=" + "".join(formats)).unpack_from

    def read_info(words: NDArray) -> dict[str, Any]:
        values = read(words, 4 * start)
        return {name: make(value) for name, make, value in zip(names, makes, values, strict=True)}

    return read_info


# How `struct` reads the words of a scalar, by its dtype, and what makes a scalar of it.
_SCALARS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "float32": ("f", np.float32),
    "float64": ("d", np.float64),
    "int32": ("i", np.int32),
    "int64": ("q", np.int64),
    "uint32": ("I", np.uint32),
    "bool": ("I", bool),
}


def _scalar_reader(read: Reader) -> Callable[[NDArray], Any]:
    """Return a reader that makes NumPy scalars of arrays without axes, and bools of them if they are flags."""

    def read_scalar(words: NDArray) -> Any:
        leaf = read(words)
        if leaf.shape != ():
            return leaf
        return bool(leaf) if leaf.dtype == bool else leaf[()]

    return read_scalar
