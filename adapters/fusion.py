"""Programs with an ordinary one behind them, for those that XLA may refuse to compile as one function.

A compiled CPU program is a list of small kernels, and at a microsecond each they cost more than the arithmetic of a
few environments. As one function (`funcenv.fused.fuse`), loops included, a step is twice to four times as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


class WithFallback:
    """A compiled function, and the one that takes its place if XLA refuses it when it is first called.

    Attributes:
        preferred: the compiled function.
        call: the program; the first call settles which of the two it is.
        fell_back: whether the other one took its place.

    >>> from funcenv.fused import fuse
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
