"""Programs that XLA compiles for a CPU as one function.

A compiled CPU program is a list of small kernels, and at a microsecond each they cost more than the arithmetic of a
few environments. XLA can emit a computation as one function instead, loops included: twice to four times as fast. The
attributes that ask for it are not documented, and sorting, scattering, matrix products and callbacks are not
supported; so where XLA refuses, the ordinary program takes over, once and for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata


def fuse(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, marked to be compiled as a whole; for a CPU, within `jax.jit`."""
    compiled = jax.jit(function)

    def call(*args: Any) -> Any:
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):  # type: ignore[no-untyped-call]  # JAX's
            return compiled(*args)

    return call


class WithFallback:
    """A compiled function, and the one that takes its place if XLA refuses it when it is first called.

    Attributes:
        preferred: the compiled function.
        call: the program; the first call settles which of the two it is.
        fell_back: whether the other one took its place.

    >>> program = WithFallback(fuse(lambda x: x + 1), lambda x: x + 1)
    >>> int(program.call(1)), program.fell_back
    (2, False)
    """

    def __init__(self, preferred: Callable[..., Any], ordinary: Callable[..., Any]) -> None:
        self.preferred, self._ordinary = jax.jit(preferred), jax.jit(ordinary)
        self.fell_back = False
        self.call: Callable[..., Any] = self._first_call

    def _first_call(self, *args: Any) -> Any:
        try:
            result = self.preferred(*args)
        except jax.errors.JaxRuntimeError:  # of the compiler; an error of the program comes again below
            self.call, self.fell_back = self._ordinary, True
            return self._ordinary(*args)
        self.call = self.preferred
        return result
