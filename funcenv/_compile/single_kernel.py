"""CPU programs compiled to a single kernel, where that is verified to be right.

XLA's CPU backend runs a compiled program as a list of kernels, and hands lists of more than a few to a thread pool.
For a small program that costs more than its arithmetic. A function marked `xla_cpu_small_call` compiles to one kernel
instead. XLA does not document the mark, so nothing relies on it: it is used on CPUs only, a program that does not
compile with it or returns another result is compiled without it, and `FUNCENV_NO_FAST_PATH=1` turns it off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

from funcenv._compile.compare import agree
from funcenv._compile.host_split import split_host_call
from funcenv._compile.jaxpr import iter_eqns
from funcenv._compile.options import is_enabled, is_tracing, quick_options, single_kernel_options
from funcenv.random._counter_based import Style
from funcenv.random.generators import with_style

MAX_EQUATIONS = 6000  # larger programs are not compiled to a single kernel


class SingleKernel:
    """A jitted function that compiles to a single kernel where possible, and is verified.

    The first call with arguments of new shapes runs both programs and compares: integers and flags must be equal,
    floats equal up to rounding. If they differ, or XLA cannot compile the kernel, this call and all later ones use
    the plain program.

    Args:
        function: a pure function.
        view: from a result to the numbers that are compared, if the result is a packed form of them.
        plain: the function for the plain program, if it is written in another way; it must return the same results.
        attempt: whether to try a single kernel at all.
        style: how its generators compute few numbers, `BATCHED_SINGLE_KERNEL` if it maps over environments.
        splits: whether the plain program of a function that returns one array, for one shape of its arguments, is
            divided at its call to the host, if it has one.

    >>> double = SingleKernel(lambda x: 2 * x)
    >>> double(jnp.int32(4))
    Array(8, dtype=int32)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        view: Callable[[Any], Any] = lambda result: result,
        plain: Callable[..., Any] | None = None,
        attempt: bool = True,
        style: Style = Style.SINGLE_KERNEL,
        splits: bool = False,
    ) -> None:
        self._function, self._view, self._style, self._splits = function, view, style, splits
        self._plain: Any = jax.jit(plain or function)
        self._uses_kernel = attempt and is_enabled() and jax.default_backend() == "cpu"
        self._num_verified = 0  # argument shapes

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if not self._uses_kernel:
            return self._plain(*args)
        if self._num_verified:
            result = self.kernel(*args)
            if self.kernel._cache_size() == self._num_verified:
                return result
        return self._verified_result(args)

    @property
    def is_plain(self) -> bool:
        """True if calls run the plain program."""
        return not self._uses_kernel

    @functools.cached_property
    def kernel(self) -> Any:
        """The single-kernel program, as `jax.jit` makes it."""
        return jax.jit(mark_single_kernel(self._function, self._style), compiler_options=single_kernel_options())

    def num_compilations(self) -> int:
        """Return for how many argument shapes the program in use is compiled."""
        program: Any = self.kernel if self._uses_kernel else self._plain
        return int(program._cache_size())

    def _verified_result(self, args: tuple[Any, ...]) -> Any:
        if is_tracing():  # Nothing can be compared.
            return self._plain(*args)
        lowered = self._plain.lower(*args)  # Errors of the function itself are raised here.
        result = self._kernel_result(args)
        if result is not None:
            expected = lowered.compile(compiler_options=quick_options())(*args)
            if agree(self._view(result), self._view(expected)):
                self._num_verified = self.kernel._cache_size()
                return result
        self._uses_kernel = False
        expected = self._plain(*args)
        program = split_host_call(self._plain, *args, compile=_compile_quickly) if self._splits else None
        if program is not None and agree(self._view(program(*args)), self._view(expected)):
            self._plain = program
        return expected

    def _kernel_result(self, args: tuple[Any, ...]) -> Any:
        """Return what the kernel returns, or None if XLA cannot compile it."""
        try:
            if not is_supported(self.kernel.trace(*args).jaxpr.jaxpr):
                return None
            return self.kernel(*args)
        except jax.errors.JaxRuntimeError:  # The compiler refuses.
            return None


def compile_single_kernel(
    function: Callable[..., Any],
    *args: Any,
    style: Style = Style.BATCHED_SINGLE_KERNEL,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any] | None:
    """Compile a function to a single kernel for arguments like these; return None if XLA cannot.

    Args:
        function: a pure function.
        *args: arguments with the shapes to compile for.
        style: as `mark_single_kernel` takes it.
        options: of the compiler; `single_kernel_options()` by default.
    """
    traced = jax.jit(mark_single_kernel(function, style)).trace(*args)
    if not is_supported(traced.jaxpr.jaxpr):
        return None
    try:
        options = single_kernel_options() if options is None else options
        program: Callable[..., Any] = traced.lower().compile(compiler_options=options)
    except jax.errors.JaxRuntimeError:  # The compiler refuses.
        return None
    return program


def _compile_quickly(function: Callable[..., Any], *args: Any) -> Any:
    """Compile a function to a single kernel if XLA can, or else as usual; the caller verifies the result."""
    kernel = jax.jit(mark_single_kernel(function, Style.SINGLE_KERNEL), compiler_options=single_kernel_options())
    try:
        if is_supported(kernel.trace(*args).jaxpr.jaxpr):
            kernel(*args)
            return kernel
    except jax.errors.JaxRuntimeError:  # The compiler refuses.
        pass
    return jax.jit(function)


def mark_single_kernel(
    function: Callable[..., Any], style: Style = Style.BATCHED_SINGLE_KERNEL, inlines: bool = False
) -> Callable[..., Any]:
    """Mark a function to become one kernel within `jax.jit` on a CPU; the result is not verified.

    XLA raises `jax.errors.JaxRuntimeError` at compile time for what `is_supported` names, and for loops over more than
    about a thousand numbers at a time. Without `single_kernel_options` it also refuses matrix products and scatters.
    With `FUNCENV_NO_FAST_PATH=1` the function comes back unmarked.

    Args:
        function: a pure function.
        style: how the generators of the keys among its arguments compute few numbers.
        inlines: whether XLA may merge functions that are jitted within this one, as those of `jax.numpy` are, with what
            surrounds them; otherwise they remain calls.

    >>> int(jax.jit(mark_single_kernel(lambda x: x + 1))(1))
    2
    """
    if not is_enabled():
        return function

    def styled(*args: Any) -> tuple[Any, jax.Array]:
        within = {"inlineable": None, "xla_cpu_small_call": None} if inlines else {}  # None removes a mark
        with set_xla_metadata(**within):  # type: ignore[no-untyped-call]  # JAX's
            return with_style(function(*with_style(args, style)), None), _keep_arguments_used(args)

    inner = jax.jit(styled)
    barrier: Any = jax.lax.optimization_barrier  # JAX declares no types for it.

    def marked(*args: Any) -> Any:
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):  # type: ignore[no-untyped-call]  # JAX's
            # Without the first barrier XLA moves constants into the kernel, and aborts the process if one is large.
            return barrier(inner(*barrier(args)))[0]

    return marked


def _keep_arguments_used(args: Any) -> jax.Array:
    """Return a number that depends on every argument.

    XLA aborts the process if it finds that a parameter of a single kernel is not needed.
    """
    total = jnp.zeros((), jnp.float32)
    for leaf in jax.tree.leaves(args):
        is_key = jnp.issubdtype(jax.typeof(leaf).dtype, jax.dtypes.prng_key)
        array = jnp.asarray(jax.random.key_data(leaf) if is_key else leaf)
        if array.size:
            total += array[(0,) * array.ndim].astype(jnp.float32)
    return total


def is_supported(jaxpr: Any) -> bool:
    """Return whether a program has only operations that XLA can put into a kernel: no sorting, callbacks or solvers.

    Programs of more than `MAX_EQUATIONS` equations, such as rigid bodies, take too long to compile.

    >>> def jaxpr(function):
    ...     return jax.make_jaxpr(function)(jnp.ones(3)).jaxpr
    >>> is_supported(jaxpr(jnp.sin)), is_supported(jaxpr(jnp.sort))
    (True, False)
    """
    eqns = list(iter_eqns(jaxpr))
    if len(eqns) > MAX_EQUATIONS:
        return False
    names = {eqn.primitive.name for eqn in eqns}
    return not (names & _UNSUPPORTED or any("callback" in name for name in names))


_UNSUPPORTED = frozenset(
    ["sort", "top_k", "approx_top_k", "fft", "ffi_call", "custom_call", "cholesky", "lu", "qr", "householder_product"]
    + ["svd", "eig", "eigh", "schur", "hessenberg", "tridiagonal", "tridiagonal_solve", "triangular_solve"]
)
