"""Programs whose loops run within one CUDA graph.

XLA's GPU backend collects the kernels of a program in CUDA graphs, and each graph is launched at once. By default loops
stay outside, and the host launches the kernels of every iteration, which takes longer than small kernels run. With the
documented option `xla_gpu_enable_command_buffer` loops become part of the graph, so a whole rollout is one. XLA's
execution plan shows it, also on a machine without a GPU (`--xla_dump_to` writes it).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from funcenv._compile.options import applies_to, graph_options


class CudaGraphJit:
    """A jitted function that becomes one CUDA graph, loops included, where the target platform is a GPU.

    It is what `jax.jit` makes of it on other backends, inside a traced function, with `FUNCENV_NO_FAST_PATH=1`, and if
    XLA refuses the graph. The results are the same.

    Args:
        function: a pure function.
        static_argnames: as `jax.jit` takes them.

    >>> count = CudaGraphJit(lambda number: jax.lax.fori_loop(0, number, lambda i, total: total + i, 0))
    >>> int(count(5))
    10
    """

    def __init__(self, function: Callable[..., Any], static_argnames: Sequence[str] = ()) -> None:
        functools.update_wrapper(self, function)
        self._jit = functools.partial(jax.jit, function, static_argnames=static_argnames)
        self._plain: Any = self._jit()  # JAX does not declare its clear_cache
        self._is_refused = False

    @functools.cached_property
    def _captured(self) -> Any:
        return self._jit(compiler_options=graph_options())

    def clear_cache(self) -> None:
        """Forget all compiled programs."""
        self._plain.clear_cache()
        vars(self).pop("_captured", None)

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if self._is_refused or not applies_to("gpu", args):
            return self._plain(*args)
        try:
            return self._captured(*args)
        except jax.errors.JaxRuntimeError:
            result = self._plain(*args)  # This raises, too, if the graph is not the cause.
            self._is_refused = True
            return result
