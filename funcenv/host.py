"""Simulators that run on the host, outside of JAX, as pure functions.

A simulator in C, C++ or Python whose whole state can be read and written is a pure function: write the state, step,
read the state. `host_call` makes such a function a part of JAX programs, under `jax.jit`, `jax.vmap`, `jax.lax.scan`
and `jax.shard_map`. A batch of environments is one call, which gets NumPy arrays with a leading axis for the batch, so
that the simulator can step all of them together, on threads of its own. `Pool` keeps the simulators between calls.

Four rules make the function pure:

- The state that JAX carries is everything that the next step depends on. A simulator holds nothing of importance
  between calls, and the same arguments give the same result whichever simulator answers.
- Calls may be concurrent, say from several devices of one process. Each borrows a simulator of its own from a `Pool`.
- States of 64-bit floats are carried as 32-bit words (`to_words`), so that they are exact also without
  `jax_enable_x64`.
- The function does not call JAX, which could wait for the very program that waits for the function.

A call costs some 100 us of a CPU in addition to the simulator's own time. There is no gradient: derivatives with
respect to the arguments raise `TypeError`.

A simulator of springs stands for one in C. It keeps a mutable state, and steps many springs at once:

>>> class Springs:
...     def __init__(self, num):
...         self.state = np.zeros((num, 2))  # position and velocity, 64-bit floats
...     def step(self, forces):
...         x, v = self.state.T
...         v += 0.1 * (forces - x)
...         x += 0.1 * v

This is all that it takes to step it from JAX:

>>> springs = Pool(Springs)
>>> def step_springs(words, force):
...     with springs.borrow(len(words)) as simulator:
...         simulator.state[:] = from_words(words)
...         simulator.step(force)
...         return to_words(simulator.state), simulator.state[:, 0].astype(np.float32)
>>> def step(words, force):
...     result = jax.ShapeDtypeStruct((4,), np.uint32), jax.ShapeDtypeStruct((), np.float32)
...     return host_call(step_springs, result, words, force)

>>> words = jax.numpy.zeros(4, "uint32")  # two floats of 64 bits
>>> words, position = jax.jit(step)(words, jax.numpy.float32(1))
>>> from_words(np.asarray(words)).tolist(), float(position)
([0.010000000000000002, 0.1], 0.009999999776482582)
>>> words, positions = jax.vmap(step, in_axes=(None, 0))(words, jax.numpy.arange(3.0))
>>> words.shape, np.asarray(positions).round(4).astype(str).tolist()
((3, 4), ['0.0199', '0.0299', '0.0399'])
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._jax import Shape
from funcenv.struct import NDArray

Simulator = TypeVar("Simulator")

MAX_COPY_SECONDS = 60
"""Bound on the time until the arguments of a host call are on the host, in seconds; a copy takes milliseconds."""


def host_call(function: Callable[..., Any], result: Any, *args: Any, fills: bool = False) -> Any:
    """Call a function on the host from JAX code, once for a whole batch.

    Args:
        function: a pure function of NumPy arrays. Each argument has a leading axis `[num, ...]` in front of the axes of
            one environment; `num` is 1 outside of `jax.vmap`, and the product of the batches inside nested ones.
            Arguments are read-only. It returns the structure of `result`, with fresh arrays `[num, ...]`. An exception
            stops the program, and its message is in the `jax.errors.JaxRuntimeError` that the caller sees.
        result: a pytree of `jax.ShapeDtypeStruct`: what the call returns for one environment.
        *args: at least one array, or pytrees of arrays, that the result depends on.
        fills: whether the function writes its results instead of returning them. Its first argument is then the
            structure of `result` with arrays `[num, ...]` to fill, which saves copies.

    Returns:
        The result, as JAX arrays.

    Raises:
        ValueError: there is no argument, or `result` names a 64-bit dtype without `jax_enable_x64`. While the program
            runs: the function returned another structure, shape or dtype than `result`.
        TypeError: a derivative with respect to an argument is taken.

    >>> double = lambda x: 2 * x
    >>> jax.vmap(lambda x: host_call(double, jax.ShapeDtypeStruct((), np.int32), x))(jax.numpy.arange(3))
    Array([0, 2, 4], dtype=int32)
    >>> def halve(half, x):
    ...     np.divide(x, 2, out=half)
    >>> host_call(halve, jax.ShapeDtypeStruct((), np.float32), np.float32(3), fills=True)
    Array(1.5, dtype=float32)
    """
    leaves, structure = jax.tree.flatten(jax.tree.map(jnp.asarray, args))
    if not leaves:
        raise ValueError("host_call needs an argument that the result depends on, got none; pass the state")
    shapes, result_structure = jax.tree.flatten(result)
    for shape in shapes:
        if jax.dtypes.canonicalize_dtype(shape.dtype) != shape.dtype:
            raise ValueError(
                f"a result of host_call has dtype {shape.dtype}, which needs jax_enable_x64; "
                "return its bits as 32-bit words (to_words), or a narrower dtype"
            )
    fields, result_fields = (
        tuple(Field(leaf.shape, np.dtype(leaf.dtype)) for leaf in each) for each in (leaves, shapes)
    )
    call = HostFunction(function, structure, fields, result_structure, result_fields, fills)
    return jax.tree.unflatten(result_structure, call.bind(leaves))


def to_words(values: Any) -> Any:
    """Return the bits of floats `[..., k]`, taken as 64-bit floats, as 32-bit words, uint32 `[..., 2 k]`.

    NumPy arrays give a NumPy array, in memory of its own. JAX arrays of 32 or 64 bits give a JAX array, also without
    `jax_enable_x64`, where numbers that are too small for normal 32-bit floats become 0.

    >>> to_words(np.array([1.0, -0.5])).tolist()
    [0, 1072693248, 0, 3219128320]
    >>> to_words(jnp.array([1.0, -0.5])).tolist()
    [0, 1072693248, 0, 3219128320]
    """
    if not isinstance(values, jax.Array):
        return np.array(values, np.float64, order="C").view(np.uint32)
    if values.dtype == np.float64:
        pairs = jax.lax.bitcast_convert_type(values, jnp.uint32)
    else:
        pairs = _widen(jax.lax.bitcast_convert_type(values.astype(jnp.float32), jnp.uint32))
    return pairs.reshape((*values.shape[:-1], 2 * values.shape[-1]))


def _widen(bits: jax.Array) -> jax.Array:
    """Return the low and the high word of 64-bit floats, `[..., 2]`, from the bits of equal 32-bit floats."""
    sign, exponent, fraction = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    wide_exponent = jnp.where(exponent == 0xFF, jnp.uint32(0x7FF), exponent + jnp.uint32(1023 - 127))
    is_zero = exponent == 0
    high = jnp.where(is_zero, jnp.uint32(0), (wide_exponent << 20) | (fraction >> 3)) | (sign << 31)
    return jnp.stack([jnp.where(is_zero, jnp.uint32(0), fraction << 29), high], axis=-1)


def from_words(words: NDArray) -> NDArray:
    """Return the 64-bit floats `[..., k]` whose bits are the words `[..., 2 k]`: the inverse of `to_words`.

    >>> from_words(to_words(np.array([1.0, -0.5]))).tolist()
    [1.0, -0.5]
    """
    return np.ascontiguousarray(words).view(np.float64)


class Pool(Generic[Simulator]):
    """Simulators that host calls borrow, so that none is made twice and none is used twice at once.

    Simulators are kept by the arguments that they were made with, such as the size of the batch. A process that was
    forked makes simulators of its own, because a fork copies no threads.

    Args:
        make: makes a simulator from hashable arguments.
        max_idle: how many unused simulators are kept; beyond that, the one that was used least recently is released.

    >>> pool = Pool(lambda num: np.zeros(num))
    >>> with pool.borrow(3) as first:
    ...     with pool.borrow(3) as second:
    ...         first is second
    False
    >>> with pool.borrow(3) as third:
    ...     third is second or third is first
    True
    """

    def __init__(self, make: Callable[..., Simulator], max_idle: int = 8) -> None:
        self._make, self._max_idle = make, max_idle
        # A fork cannot use its parent's simulators, and freeing them might wait for threads that it lacks.
        self._abandoned: list[Any] = []
        self._start()
        _pools.add(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, tuple[Hashable, Simulator]] = OrderedDict()  # the least recently used first

    def borrow(self, *args: Hashable) -> contextlib.AbstractContextManager[Simulator]:
        """Lend a simulator for the duration of a `with` block: an idle one made with these arguments, or a new one.

        If the block raises, the simulator is released instead of kept, because its state may be broken.
        """
        return _Loan(self, args)

    def clear(self) -> None:
        """Release all idle simulators.

        >>> pool = Pool(lambda num: np.zeros(num))
        >>> with pool.borrow(3) as first:
        ...     pass
        >>> pool.clear()
        >>> with pool.borrow(3) as second:
        ...     second is first
        False
        """
        with self._lock:
            released, self._idle = self._idle, OrderedDict()
        del released  # outside of the lock

    def _take(self, args: tuple[Hashable, ...]) -> Simulator:
        with self._lock:
            for number in reversed(self._idle):
                if self._idle[number][0] == args:
                    return self._idle.pop(number)[1]
        return self._make(*args)

    def _give_back(self, args: tuple[Hashable, ...], simulator: Simulator) -> None:
        released = []  # outside of the lock, because freeing a simulator may take long
        with self._lock:
            self._idle[id(simulator)] = args, simulator
            while len(self._idle) > self._max_idle:
                released.append(self._idle.popitem(last=False))

    def _abandon(self) -> None:
        """Begin anew in a process that was forked; another thread of the parent may have held the lock."""
        self._abandoned.append(self._idle)
        self._start()


class _Loan(Generic[Simulator]):
    """A simulator that is lent: faster than a generator with `contextlib.contextmanager`."""

    __slots__ = ("_args", "_pool", "_simulator")

    def __init__(self, pool: Pool[Simulator], args: tuple[Hashable, ...]) -> None:
        self._pool, self._args = pool, args

    def __enter__(self) -> Simulator:
        self._simulator = self._pool._take(self._args)
        return self._simulator

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._pool._give_back(self._args, self._simulator)


_pools: weakref.WeakSet[Pool[Any]] = weakref.WeakSet()


def _abandon_all() -> None:
    for pool in list(_pools):
        pool._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


@dataclasses.dataclass(frozen=True)
class HostFunction:
    """The function that JAX calls back, with the batch as one leading axis and with checked results.

    Equal calls compare as equal, so that JAX finds the program which it compiled for one. All arguments travel as one
    array of 32-bit words, and so do all results: JAX takes as long for each array as for the rest of a call, and would
    narrow arrays of 64 bits where only a `with jax.enable_x64()` allows them.
    """

    function: Callable[..., Any]
    structure: Any  # tree structure of the arguments
    fields: tuple[Field, ...]  # one for each leaf of the arguments
    result_structure: Any
    result_fields: tuple[Field, ...]
    fills: bool  # true if the function writes its results

    def bind(self, leaves: list[jax.Array]) -> list[jax.Array]:
        """Add the call to the program that is being traced."""
        shape = Shape((sum(field.num_words for field in self.result_fields),), np.uint32)

        def call(*leaves: jax.Array) -> list[jax.Array]:
            sent = jnp.concatenate([_bits(leaf) for leaf in leaves])
            received = jax.pure_callback(self, shape, sent, vmap_method="broadcast_all")
            parts = split_words(received, self.result_fields)
            return [field.from_bits(part) for field, part in zip(self.result_fields, parts, strict=True)]

        differentiable: Any = jax.custom_jvp(call)
        differentiable.defjvp(functools.partial(_refuse_derivative, _name(self.function)))
        results: list[jax.Array] = differentiable(*leaves)
        return results

    def __call__(self, sent: Any) -> NDArray:
        """Answer one call; the axes of a batch come first."""
        words = _received(sent)
        *batch, length = words.shape
        num = math.prod(batch)
        parts = split_words(words if len(batch) == 1 else words.reshape(num, length), self.fields)
        rows = [field.read(part) for field, part in zip(self.fields, parts, strict=True)]
        answer = np.empty((num, sum(field.num_words for field in self.result_fields)), np.uint32)
        self.prepare(rows, answer)()
        return answer if len(batch) == 1 else answer.reshape(*batch, -1)

    def prepare(self, rows: list[NDArray], answer: NDArray) -> Callable[[], None]:
        """Return a function that reads the arguments from arrays, and writes the answer into words, `[num, ...]`.

        It may be called again when the arguments have changed.
        """
        args = jax.tree.unflatten(self.structure, rows)
        parts = split_words(answer, self.result_fields)
        pairs = list(zip(self.result_fields, parts, strict=True))
        arrays = [field.view(part) for field, part in pairs]
        narrow = [(array, part) for array, (field, part) in zip(arrays, pairs, strict=True) if field.is_narrow]
        out = jax.tree.unflatten(self.result_structure, arrays)

        def run() -> None:
            if self.fills:
                self.function(out, *args)
            else:
                self._copy(self.function(*args), arrays)
            for array, part in narrow:
                part[:] = array.view(f"uint{8 * array.itemsize}").reshape(part.shape)

        return run

    def _copy(self, results: Any, arrays: list[NDArray]) -> None:
        """Copy what the function returned, if it is what was declared."""
        leaves, structure = jax.tree.flatten(results)
        if structure != self.result_structure:
            raise ValueError(
                f"{_name(self.function)} returned the structure {structure} to host_call instead of "
                f"{self.result_structure}; return what `result` declares"
            )
        for leaf, array in zip(leaves, arrays, strict=True):
            if np.shape(leaf) != array.shape or getattr(leaf, "dtype", None) != array.dtype:
                found = f"{getattr(leaf, 'dtype', type(leaf).__name__)}{list(np.shape(leaf))}"
                raise ValueError(
                    f"{_name(self.function)} returned {found} to host_call instead of "
                    f"{array.dtype}{list(array.shape)}; return one row for each environment, and cast with astype"
                )
            array[...] = leaf


class Field(NamedTuple):
    """An array of one environment as 32-bit words: 64-bit numbers take two, narrower ones take one."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def num_words(self) -> int:
        """Number of words."""
        return math.prod(self.shape) * max(self.dtype.itemsize // 4, 1)

    def from_bits(self, words: jax.Array) -> jax.Array:
        """Return the array; traceable."""
        if self.dtype == bool:
            return (words != 0).reshape(self.shape)
        if self.dtype.itemsize == 8:
            words = words.reshape(-1, 2)
        elif self.dtype.itemsize < 4:
            words = words.astype(f"uint{8 * self.dtype.itemsize}")
        return jax.lax.bitcast_convert_type(words, self.dtype).reshape(self.shape)

    @property
    def is_narrow(self) -> bool:
        """True if a number has less than 32 bits; its word then holds its value as an unsigned integer."""
        return self.dtype.itemsize < 4

    def read(self, words: NDArray) -> NDArray:
        """Return the arrays `[num, ...]` on the host: a view of the words, unless they are narrow."""
        if self.is_narrow:
            words = words.astype(f"uint{8 * self.dtype.itemsize}")
        return words.view(self.dtype).reshape(len(words), *self.shape)

    def view(self, words: NDArray) -> NDArray:
        """Return arrays `[num, ...]` to write to: the memory of the words, or fresh memory for narrow numbers."""
        if self.is_narrow:
            return np.zeros((len(words), *self.shape), self.dtype)
        return words.view(self.dtype).reshape((len(words), *self.shape), copy=False)


def _received(sent: Any) -> NDArray:
    """Return the words that a program sends.

    JAX copies more than 100 KB on a thread of XLA's pool. If the only thread runs the program that waits for this call,
    the copy never begins.

    Raises:
        RuntimeError: the copy took longer than `MAX_COPY_SECONDS`.
    """
    if isinstance(sent, jax.Array):
        pause, deadline = 1e-5, time.monotonic() + MAX_COPY_SECONDS
        while not sent.is_ready():  # type: ignore[attr-defined]  # JAX declares no types
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"a host call got no arguments within {MAX_COPY_SECONDS} s, because all threads of XLA wait for "
                    'host calls; call jax.config.update("jax_cpu_enable_async_dispatch", False), or set the '
                    "environment variable PJRT_NPROC to 2 or more, before JAX starts"
                )
            time.sleep(pause)
            pause = min(2 * pause, 1e-2)
    return np.asarray(sent)


def _bits(leaf: jax.Array) -> jax.Array:
    """Return an array as a vector of 32-bit words; traceable."""
    if leaf.dtype == bool:
        return leaf.astype(jnp.uint32).reshape(-1)
    narrow = f"uint{8 * leaf.dtype.itemsize}" if leaf.dtype.itemsize < 4 else np.uint32
    return jax.lax.bitcast_convert_type(leaf, narrow).astype(jnp.uint32).reshape(-1)


def split_words(words: Any, fields: tuple[Field, ...]) -> list[Any]:
    """Return the words of each field, along the last axis."""
    return [words[..., start:stop] for start, stop in _spans(fields)]


@functools.lru_cache(maxsize=256)
def _spans(fields: tuple[Field, ...]) -> tuple[tuple[int, int], ...]:
    stops = list(itertools.accumulate(field.num_words for field in fields))
    return tuple(zip([0, *stops], stops, strict=False))


def _refuse_derivative(name: str, primals: Any, tangents: Any) -> Any:
    del primals, tangents
    raise TypeError(f"{name} runs on the host and has no derivative; take gradients of functions that JAX computes")


def _name(function: Any) -> str:
    """Return the name of a function, for messages."""
    function = getattr(function, "func", function)  # a functools.partial holds it
    return str(getattr(function, "__qualname__", type(function).__name__))
