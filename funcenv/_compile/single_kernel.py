"""CPU programs compiled to a single kernel, where that is verified to be right.

XLA's CPU backend runs a compiled program as a list of kernels, and hands lists of more than a few to a thread pool.
For a small program that costs more than its arithmetic. A function marked `xla_cpu_small_call` compiles to one kernel
instead. XLA does not document the mark, so nothing relies on it: it is used on CPUs only, a program that does not
compile with it or returns another result is compiled without it, and `FUNCENV_NO_FAST_PATH=1` turns it off.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from funcenv._compile import store
from funcenv._compile.host_split import DirectProgram, SplitProgram, split_host_call
from funcenv._compile.jaxpr import count_eqn, is_matrix_product, iter_eqns
from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.materialize import materializes
from funcenv._compile.options import (
    is_debugging,
    is_tracing,
    quick_options,
    require_backend,
    single_kernel_options,
)
from funcenv._compile.signature import signature
from funcenv._compile.switch import is_enabled
from funcenv._compile.verified import Choice, Refusal, VerifiedProgram, agree, record
from funcenv._jax import optimization_barrier, set_xla_metadata
from funcenv.random._counter_based import Style
from funcenv.random.generators import with_style

MAX_EQUATIONS = 5000  # larger programs are not compiled to a single kernel
_MAX_PRODUCT_OPERATIONS = 2.0**14  # nor are those with larger products of matrices

CALLS_HOST = "the program calls the host"

STATEFUL_PROGRAM = "a program of a stateful environment"
"""The entry of the choices that a `SingleKernel` records, where it is refused."""


class SingleKernel:
    """A jitted function that compiles to a single kernel where possible, and is verified.

    The first call with arguments of new shapes runs both programs and compares: integers and flags must be equal,
    floats equal up to rounding. If they differ, or XLA cannot compile the kernel, this call and all later ones use
    the plain program.

    Args:
        function: a pure function.
        view: from a result to the numbers that are compared, if the result is a packed form of them.
        plain: the function for the plain program, if it is written in another way; it must return the same results.
        refusal: why a single kernel is not tried, in words; None to try it.
        style: how its generators compute few numbers, `BATCHED_SINGLE_KERNEL` if it maps over environments.
        splits: whether the plain program of a function that returns one array, for one shape of its arguments, is
            divided at its call to the host, if it has one.
        parts: all that the function is made of, as `store.describe` takes it, by which programs are kept; None if they
            are not.

    Attributes:
        refusal: why calls run the plain program, in words; None while they run the kernel.

    >>> double = SingleKernel(lambda x: 2 * x)
    >>> double(jnp.int32(4))
    Array(8, dtype=int32)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        view: Callable[[Any], Any] = lambda result: result,
        plain: Callable[..., Any] | None = None,
        refusal: str | None = None,
        style: Style = Style.SINGLE_KERNEL,
        splits: bool = False,
        parts: Any = None,
    ) -> None:
        self._function, self._view, self._style, self._splits, self._parts = function, view, style, splits, parts
        self._plain: Any = KeptJit(plain or function, "plain program", parts)
        self.refusal = refusal
        self._program: Any = None  # the compiled kernel for the arguments of the last call
        self._programs: dict[Any, Any] = {}  # by the shapes of the arguments
        try:
            require_backend("cpu")
        except Refusal as reason:
            self.refusal = str(reason)

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if self.refusal is not None:
            record(Choice(STATEFUL_PROGRAM, None, self.refusal))
            return self._plain(*args)
        if self._program is not None:
            try:
                return self._program(*args)
            except TypeError:  # The arguments have other shapes, or are traced.
                pass
        return self._result(args)

    @property
    def is_divided(self) -> bool:
        """True if calls run the parts of the plain program before and after its call to the host."""
        return isinstance(self._plain, SplitProgram | DirectProgram)

    @functools.cached_property
    def kernel(self) -> Any:
        """The single-kernel program, as `jax.jit` makes it."""
        return jax.jit(mark_single_kernel(self._function, self._style))

    def clear_cache(self) -> None:
        """Forget all compiled programs."""
        self._plain.clear_cache()
        self.kernel.clear_cache()
        self._program, self._programs = None, {}

    def num_compilations(self) -> int:
        """Return for how many argument shapes the program in use is compiled."""
        return len(self._programs) if self.refusal is None else self._plain.num_compilations()

    def _result(self, args: tuple[Any, ...]) -> Any:
        """Return the result for arguments of other shapes than the last, which are verified if they are new."""
        if is_tracing() or is_debugging():  # Nothing can be compared, or each operation is to be examined.
            return self._plain(*args)
        shapes = signature(args)
        if shapes not in self._programs:
            try:
                self._programs[shapes] = self._verified_kernel(args)
            except Refusal as refusal:
                self.refusal = str(refusal)
                record(Choice(STATEFUL_PROGRAM, None, self.refusal))
                return self._first_plain_result(args)
        self._program = self._programs[shapes]
        return self._program(*args)

    def _verified_kernel(self, args: tuple[Any, ...]) -> Any:
        """Return the kernel for these arguments; raise `Refusal` if it cannot be compiled, or is not right."""

        def trace() -> Any:
            plain = self._plain.jitted.trace(*args).jaxpr.jaxpr  # raises errors of the function, too
            require_no_host_call(plain)
            if self._style is Style.BATCHED_SINGLE_KERNEL:
                require_no_image(plain)
            return self.kernel.trace(*args)

        def compile_kernel(meanwhile: Callable[[], object], *args: Any) -> Any:
            options = single_kernel_options()
            name = store.describe("kernel", self._parts, args, options)
            with refusals_of_the_compiler():
                return store.compile_kept(name, trace, options, require_supported, meanwhile)

        def describe(*args: Any) -> str | None:
            return store.describe("trial of a kernel", self._parts, args)

        return VerifiedProgram(compile_kernel, self._matches, describe, self._reference).get(*args)

    def _first_plain_result(self, args: tuple[Any, ...]) -> Any:
        """Return the plain program's result, and divide the program at its call to the host if that is wanted."""
        if self._splits and self.refusal == CALLS_HOST:
            split = VerifiedProgram(self._split_program, self._matches, reference=self._reference)
            with contextlib.suppress(Refusal):  # The plain program is left whole.
                self._plain = split.get(*args)
        return self._plain(*args)

    def _reference(self, *args: Any) -> Any:
        """Return the plain program, compiled quickly."""
        return self._plain.lower(*args).compile(compiler_options=quick_options())

    def _matches(self, program: Any, reference: Any, *args: Any) -> bool:
        return agree(self._view(program(*args)), self._view(reference(*args)))

    def _split_program(self, meanwhile: Callable[[], object], *args: Any) -> Any:
        del meanwhile
        program = split_host_call(self._plain.jitted, *args, compile=_compile_quickly)
        if program is None:
            raise Refusal("the program does not call the host once")
        return program


def compile_single_kernel(
    function: Callable[..., Any],
    *args: Any,
    style: Style = Style.BATCHED_SINGLE_KERNEL,
    options: dict[str, Any] | None = None,
    parts: Any = None,
    meanwhile: Callable[[], object] | None = None,
) -> Callable[..., Any]:
    """Compile a function to a single kernel for arguments like these.

    Args:
        function: a pure function.
        *args: arguments with the shapes to compile for.
        style: as `mark_single_kernel` takes it.
        options: of the compiler; `single_kernel_options()` by default.
        parts: all that the function is made of, as `store.describe` takes it.
        meanwhile: as `store.compile_kept` takes it.

    Raises:
        Refusal: XLA cannot compile it to a single kernel.
    """
    options = single_kernel_options() if options is None else options
    name = store.describe("kernel", parts, args, (style, options))
    kernel: Any = jax.jit(mark_single_kernel(function, style))
    with refusals_of_the_compiler():
        program: Callable[..., Any] = store.compile_kept(
            name, lambda: kernel.trace(*args), options, require_supported, meanwhile
        )
    return program


@contextlib.contextmanager
def refusals_of_the_compiler() -> Iterator[None]:
    """Raise `Refusal` where XLA does not compile a program to one kernel."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        raise Refusal("XLA cannot compile it to one kernel") from error


def _compile_quickly(function: Callable[..., Any], *args: Any) -> Any:
    """Compile a function to a single kernel if XLA can, or else as usual; the caller verifies the result."""
    kernel = jax.jit(mark_single_kernel(function, Style.STATEFUL), compiler_options=single_kernel_options())
    try:
        require_supported(kernel.trace(*args).jaxpr.jaxpr)
        with refusals_of_the_compiler():
            kernel(*args)
    except Refusal:
        return jax.jit(function)
    return kernel


def mark_single_kernel(
    function: Callable[..., Any], style: Style = Style.BATCHED_SINGLE_KERNEL, inlines: bool = False
) -> Callable[..., Any]:
    """Mark a function to become one kernel within `jax.jit` on a CPU; the result is not verified.

    XLA raises `jax.errors.JaxRuntimeError` at compile time for what `require_supported` names, and for loops over more
    than about a thousand numbers at a time. Without `single_kernel_options` it also refuses matrix products and
    scatters. With `FUNCENV_NO_FAST_PATH=1` the function comes back unmarked.

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
        with set_xla_metadata(**within):
            return with_style(function(*with_style(args, style)), None), _keep_arguments_used(args)

    inner = jax.jit(styled)

    def marked(*args: Any) -> Any:
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
            # Without the first barrier XLA moves constants into the kernel, and aborts the process if one is large.
            return optimization_barrier(inner(*optimization_barrier(args)))[0]

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


def require_supported(jaxpr: Any) -> None:
    """Raise `Refusal` if a program has operations that XLA cannot put into a kernel: sorting, callbacks or solvers.

    Programs of more than `MAX_EQUATIONS` equations, such as rigid bodies, take too long to compile. Products of
    matrices are computed number by number in a kernel, which is slower if they are large.

    >>> require_supported(jax.make_jaxpr(jnp.sort)(jnp.ones(3)).jaxpr)
    Traceback (most recent call last):
    funcenv._compile.verified.Refusal: a kernel cannot hold the operation sort
    """
    names = require_no_host_call(jaxpr)
    if len(names) > MAX_EQUATIONS:
        raise Refusal(f"the program has {len(names):,} operations, more than the {MAX_EQUATIONS:,} of a kernel")
    if unsupported := sorted(_UNSUPPORTED.intersection(names)):
        raise Refusal(f"a kernel cannot hold the operation {unsupported[0]}")
    products = sum(map(count_eqn, filter(is_matrix_product, iter_eqns(jaxpr))))
    if products > _MAX_PRODUCT_OPERATIONS:
        raise Refusal(f"its products of matrices take {products:,.0f} operations, which are slower in a kernel")


def require_no_host_call(jaxpr: Any) -> list[str]:
    """Return the names of the operations of a program; raise `Refusal` if one of them calls the host."""
    names = [eqn.primitive.name for eqn in iter_eqns(jaxpr)]
    if any("callback" in name for name in names):
        raise Refusal(CALLS_HOST)
    return names


def require_no_image(jaxpr: Any) -> None:
    """Raise `Refusal` if a program for a batch stores parts of an image.

    A plain program then draws as fast as a kernel would, or faster, and compiles in half the time. A stateful
    environment, which draws single images, keeps its kernel.
    """
    if materializes(jaxpr):
        raise Refusal("it stores parts of an image, which is drawn as fast without a kernel")


_UNSUPPORTED = frozenset(
    ["sort", "top_k", "approx_top_k", "fft", "ffi_call", "custom_call", "cholesky", "lu", "qr", "householder_product"]
    + ["svd", "eig", "eigh", "schur", "hessenberg", "tridiagonal", "tridiagonal_solve", "triangular_solve"]
)
