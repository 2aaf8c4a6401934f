"""Programs that spend their time in calls to the host, compiled with less effort."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from funcenv._compile.cuda_graph import CudaGraphJit
from funcenv._compile.options import applies_to, host_options


class HostJit:
    """A jitted function of a vector environment, compiled quickly on a CPU if the environment calls the host.

    The simulator on the host takes nearly all of such a program's time, and the results are equal to rounding. For any
    other environment and on any other backend it is a `CudaGraphJit`.

    Args:
        function: a pure function, whose first argument is a vector environment.
        static_argnames: as `jax.jit` takes them.
    """

    def __init__(self, function: Callable[..., Any], static_argnames: Sequence[str] = ()) -> None:
        functools.update_wrapper(self, function)
        self._jit = functools.partial(jax.jit, function, static_argnames=static_argnames)
        self._other = CudaGraphJit(function, static_argnames)

    @functools.cached_property
    def quick(self) -> Any:
        """The program for environments that call the host, as `jax.jit` makes it."""
        return self._jit(compiler_options=host_options())

    def __call__(self, venv: Any, *args: Any) -> Any:
        """Run the program."""
        program = self.quick if venv.env.calls_host and applies_to("cpu", (venv, args)) else self._other
        return program(venv, *args)
