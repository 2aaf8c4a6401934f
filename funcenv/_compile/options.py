"""Compiler options by purpose, as far as the installed XLA knows them, and where fast paths apply."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from funcenv._compile import store
from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.switch import is_enabled, is_plain
from funcenv._compile.verified import Refusal
from funcenv._jax import config
from funcenv.sharding import num_devices_in_context, target_platform


@functools.cache
def single_kernel_options(level: int = 2) -> dict[str, Any]:
    """Return the options for a program that is compiled to a single CPU kernel.

    They ask for wide vectors. They also turn off two emitters whose output cannot be called from within a kernel:
    XLA then writes matrix products, large sums and scatters as loops.

    Args:
        level: of optimisation, 0 to 3. Level 2 compiles faster than 3, to programs as fast.
    """
    return known_options(
        xla_cpu_prefer_vector_width=512,
        xla_cpu_experimental_ynn_fusion_type="",
        xla_cpu_use_fusion_emitters=False,
        xla_backend_optimization_level=level,
    )


@functools.cache
def quick_options(level: int = 0) -> dict[str, Any]:
    """Return the options for a program that runs only a few times, so that compiling must be quick.

    Args:
        level: of optimisation, 0 to 3.
    """
    return known_options(xla_backend_optimization_level=level, xla_cpu_use_fusion_emitters=False)


@functools.cache
def host_options() -> dict[str, Any]:
    """Return the options for a program of calls to the host, or of long kernels, so that compiling should be quick.

    They compile the first in half of the time, and the second, which run as fast, in three quarters of it. At level 0
    policies with networks would run slowly.
    """
    return quick_options(level=1)


def jit_quickly(function: Callable[..., Any], kind: str, parts: Any) -> KeptJit:
    """Return a jitted function with `host_options` unless fast paths are off, for programs that run now and then.

    Args:
        function: a pure function.
        kind: as `KeptJit` takes it, and so are `parts`.
        parts: see there.
    """
    return KeptJit(function, kind, parts, options=host_options() if is_enabled() else None)


@functools.cache
def trial_options() -> dict[str, Any]:
    """Return the options for a trial of what a program of the user's will contain.

    XLA accepts and refuses the same operations as with its defaults, and only optimizes less.
    """
    return known_options(xla_backend_optimization_level=0)


@functools.cache
def graph_options() -> dict[str, Any]:
    """Return the options with which XLA puts loops and branches of a program for an NVIDIA GPU into its CUDA graphs.

    They are for a program of your own that steps environments; `rollout` and `evaluate` use them when they are called
    from Python. They change nothing on other devices. What pays is a matter of the program: docs/accelerators.md has
    times of both.

    Returns:
        The value of XLA's documented option: what it puts into graphs by default, `WHILE` and `CONDITIONAL`. Nothing if
        the installed XLA has no such option.

    >>> import jax
    >>> double = jax.jit(lambda x: 2 * x, compiler_options=graph_options())
    >>> int(double(3))
    6
    """
    kinds = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,WHILE,CONDITIONAL"
    return known_options(xla_gpu_enable_command_buffer=kinds)


def known_options(**options: Any) -> dict[str, Any]:
    """Return the given options without those that this XLA refuses."""

    def known() -> dict[str, Any]:
        if _is_known(options):
            return options
        return {name: value for name, value in options.items() if _is_known({name: value})}

    found: dict[str, Any] = store.find_out("options of the compiler", options, known)
    return found


def _is_known(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda: ()).lower().compile(compiler_options=options)
    except jax.errors.JaxRuntimeError:  # There is no such option.
        return False
    return True


def applies_to(platform: str, args: Any) -> bool:
    """Return whether a fast path applies: right backend, not disabled, not inside a trace.

    Args:
        platform: what `target_platform()` must be.
        args: the arguments of the program.

    >>> applies_to("no such platform", ())
    False
    """
    if not is_enabled() or target_platform() != platform:
        return False
    return not (any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)) or is_tracing())


def require_backend(backend: str) -> None:
    """Raise `Refusal` unless fast paths are enabled, and the program is for this platform and not for a mesh."""
    if is_plain():
        raise Refusal("switched off, so that results do not depend on the number of devices")
    if not is_enabled():
        raise Refusal("switched off by FUNCENV_NO_FAST_PATH")
    if target_platform() != backend:
        raise Refusal(f"the backend is {target_platform()}, not {backend}")
    if num_devices_in_context() > 1:
        raise Refusal("the environments are spread over a mesh")


def require_no_debugging() -> None:
    """Raise `Refusal` if an option of JAX asks for plain programs, in which each operation can be examined."""
    if is_debugging():
        raise Refusal(f"one of {', '.join(_DEBUGGING_OPTIONS)} is set")


def is_debugging() -> bool:
    """Return whether an option of JAX asks for plain programs, in which each operation can be examined."""
    return any(getattr(config, name) for name in _DEBUGGING_OPTIONS)


_DEBUGGING_OPTIONS = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs", "jax_debug_key_reuse")


def is_tracing() -> bool:
    """Return whether the caller runs inside a function that is being traced.

    >>> import jax.numpy as jnp
    >>> is_tracing(), jax.jit(lambda: jnp.asarray(is_tracing()))()
    (False, Array(True, dtype=bool))
    """
    return isinstance(jax.device_put(np.float32(0)), jax.core.Tracer)  # This compiles nothing outside of a trace.


@contextlib.contextmanager
def default_promotion() -> Iterator[None]:
    """Use JAX's default promotion rules in the code of other libraries: a user may have set strict ones."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
