"""Small CPU programs compiled as one function, where that is known to be right.

XLA's CPU backend runs a compiled program as a list of kernels, and hands lists of more than a few to a thread pool. For
one environment, whose kernels take nanoseconds, that costs 15 to 50 microseconds a call. A function marked
`xla_cpu_small_call` is compiled to a single kernel instead: 5 microseconds. XLA does not document the mark, so nothing
relies on it: it is used on a CPU only; a program that does not compile with it, or gives another result with it, is
compiled without; and the environment variable `FUNCENV_PLAIN=1` turns it off.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata


class Fused:
    """A jitted function that chooses at its first call how it is compiled.

    The first call runs both ways and compares: integers and flags must be equal, floats equal to rounding. Later calls
    go straight to the chosen program; other argument shapes are compiled the same way.

    Args:
        function: a pure function.
        view: what to compare, made of a result: the numbers themselves, where the result is a packed form of them.

    >>> double = Fused(lambda x: 2 * x)
    >>> double(jnp.int32(4))
    Array(8, dtype=int32)
    """

    def __init__(self, function: Callable[..., Any], view: Callable[[Any], Any] = lambda result: result) -> None:
        self._view = view
        self._plain = jax.jit(function)
        self._chosen: Callable[..., Any] | None = None if _wanted() else self._plain
        self._marked = jax.jit(fuse(function))

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if self._chosen is not None:
            return self._chosen(*args)
        return self._choose(args)

    @property
    def program(self) -> Callable[..., Any]:
        """The compiled function that was chosen; before the first call, the plain one."""
        return self._chosen or self._plain

    def num_compilations(self) -> int:
        """For how many kinds of arguments the chosen program has been compiled."""
        return int(self.program._cache_size())  # type: ignore[attr-defined]  # jax.jit gives its functions this method

    def _choose(self, args: tuple[Any, ...]) -> Any:
        expected = self._plain(*args)
        if jax.default_backend() != "cpu" or any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)):
            return expected
        result = expected
        try:
            result = self._marked(*args)
            same = _agree(self._view(result), self._view(expected))
        except jax.errors.JaxRuntimeError:  # XLA could not compile it as one function
            same = False
        self._chosen = self._marked if same else self._plain
        return result if same else expected  # what later calls with these arguments return, bit for bit


def fuse(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, marked to be compiled as one kernel, for use within `jax.jit` on a CPU; unchecked.

    XLA refuses, with `jax.errors.JaxRuntimeError` when it compiles, to fuse sorting, scattering, matrix products and
    callbacks. With `FUNCENV_PLAIN=1` the function comes back as it is.

    >>> int(jax.jit(fuse(lambda x: x + 1))(1))
    2
    """
    if not _wanted():
        return function
    inner = jax.jit(function)

    def marked(*args: Any) -> Any:
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):  # type: ignore[no-untyped-call]  # JAX's
            return inner(*args)

    return marked


def _wanted() -> bool:
    return os.environ.get("FUNCENV_PLAIN", "0") in ("", "0")


def _agree(ours: Any, theirs: Any) -> bool:
    """Equal structures and integers, floats within a few roundings."""
    return all(_equal(np.asarray(a), np.asarray(b)) for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True))


def _equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return bool(np.array_equal(a, b))
    rounding = float(jnp.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]  # JAX's
    return bool(np.allclose(a, b, rtol=64 * rounding, atol=1e-6, equal_nan=True))
