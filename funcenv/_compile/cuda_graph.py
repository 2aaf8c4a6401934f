"""Programs whose loops run within one CUDA graph.

XLA's GPU backend collects the kernels of a program in CUDA graphs, each of which is started at once. A loop it leaves
out, unless it is asked: the host then starts the kernels of every turn, which takes longer than small kernels run. With
the documented option `xla_gpu_enable_command_buffer` loops are a part of the graph, and so a whole rollout is one.
`benchmarks/gpu_program.py` shows it, also on a machine without a GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from funcenv._compile.single_kernel import applies_to, known_options


class CudaGraphJit:
    """A jitted function that becomes one CUDA graph, loops included, where JAX's default backend is a GPU.

    Elsewhere, as a part of a traced function, with the environment variable `FUNCENV_NO_FAST_PATH=1`, and where XLA refuses,
    it is what `jax.jit` makes of it. The results are the same.

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
        self._plain = self._jit()
        self._is_refused = False

    @functools.cached_property
    def _captured(self) -> Any:
        return self._jit(compiler_options=graph_options())

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if self._is_refused or not applies_to("gpu", args):
            return self._plain(*args)
        try:
            return self._captured(*args)
        except jax.errors.JaxRuntimeError:
            result = self._plain(*args)  # fails, too, if it is not the graph that is at fault
            self._is_refused = True
            return result


@functools.cache
def graph_options() -> dict[str, Any]:
    """The options that put loops, too, into CUDA graphs, as far as this XLA knows them."""
    return known_options(xla_gpu_enable_command_buffer=",".join([*_USUAL, "WHILE"]))


_USUAL = ("FUSION", "CUBLAS", "CUBLASLT", "CUSTOM_CALL", "CUDNN", "DYNAMIC_SLICE_FUSION")
"""What XLA puts into graphs without being asked."""
