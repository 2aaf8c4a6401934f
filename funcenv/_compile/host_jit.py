"""Programs that spend their time in calls to the host or in long kernels, compiled with less effort."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from funcenv._compile.chunks import count_bytes
from funcenv._compile.cuda_graph import CudaGraphJit
from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.lazy_reset import is_large
from funcenv._compile.options import applies_to, host_options

_MAX_OBSERVATION_BYTES = 2**12  # Pictures are drawn outside of kernels, and with less optimization half as fast.


class HostJit:
    """A jitted function of a vector environment, compiled quickly on a CPU if that calls the host or is large.

    The simulator on the host takes nearly all of such a program's time, or rigid bodies do, which have kernels of their
    own; results are equal to rounding. For any other environment and on any other backend it is a `CudaGraphJit`.

    Args:
        function: a pure function, whose first argument is a vector environment.
        static_argnames: as `jax.jit` takes them.
    """

    def __init__(self, function: Callable[..., Any], static_argnames: Sequence[str] = ()) -> None:
        functools.update_wrapper(self, function)
        self._kept = functools.partial(KeptJit, function, static_argnames=static_argnames)
        self.usual = self._kept()
        self._on_accelerators = CudaGraphJit(function, static_argnames)

    @functools.cached_property
    def quick(self) -> Any:
        """The program that is compiled quickly."""
        return self._kept(options=host_options())

    def clear_cache(self) -> None:
        """Forget all compiled programs."""
        self.quick.clear_cache()
        self.usual.clear_cache()
        self._on_accelerators.clear_cache()

    def __call__(self, venv: Any, *args: Any) -> Any:
        """Run the program."""
        if not applies_to("cpu", (venv, args)):
            return self._on_accelerators(venv, *args)
        return (self.quick if is_slow_to_compile(venv) else self.usual)(venv, *args)


def is_slow_to_compile(venv: Any) -> bool:
    """Return whether optimizing the programs of a vector environment takes longer than it saves."""
    if venv.env.calls_host:
        return True
    if not is_large(venv.env, venv.num_envs):
        return False
    space = venv.single_observation_space
    observation = jax.eval_shape(lambda: space.sample(jax.random.key(0)))
    return count_bytes(observation) <= _MAX_OBSERVATION_BYTES
