"""Small CPU programs compiled as one function, where that is known to be right.

XLA's CPU backend runs a compiled program as a list of kernels, and hands lists of more than a few to a thread pool. For
one environment, whose kernels take nanoseconds, that costs 15 to 50 microseconds a call. A function marked
`xla_cpu_small_call` is compiled to a single kernel instead: 5 microseconds. XLA does not document the mark, so nothing
relies on it: it is used on a CPU only; a program that does not compile with it, or gives another result with it, is
compiled without; and the environment variable `FUNCENV_NO_FAST_PATH=1` turns it off.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata

from funcenv._compile.jaxpr import equations
from funcenv.random._counter_based import lowered_for_one_function


class SingleKernel:
    """A jitted function that chooses at its first call how it is compiled.

    The first call runs both ways and compares: integers and flags must be equal, floats equal to rounding. For that
    the plain program is compiled quickly rather than well; well only if it is chosen. Later calls go straight to the
    chosen program; other argument shapes are compiled the same way.

    Args:
        function: a pure function.
        view: what to compare, made of a result: the numbers themselves, where the result is a packed form of them.
        plain: what to compile in the ordinary way, if it is written in another manner; it must give the same results.
        attempt: False makes no attempt to compile it as one function.
        mapped: as `funcenv.random._counter_based.lowered_for_one_function` takes it.

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
        mapped: bool = False,
    ) -> None:
        self._function, self._view, self._mapped = function, view, mapped
        self._plain = jax.jit(plain or function)
        self._chosen: Callable[..., Any] | None = None if attempt and is_enabled() else self._plain

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if self._chosen is None:
            self._chosen, result = self._choose(args)
            return result
        return self._chosen(*args)

    @property
    def program(self) -> Callable[..., Any]:
        """The compiled function that was chosen; before the first call, the plain one."""
        return self._chosen or self._plain

    @property
    def is_plain(self) -> bool:
        """Whether the plain program was chosen."""
        return self._chosen is self._plain

    @functools.cached_property
    def marked(self) -> Any:
        """The program that becomes one function, as `jax.jit` makes it: not compiled yet, and not compared."""
        return jax.jit(fuse(self._function), compiler_options=compiler_options())

    def lowered(self, *args: Any) -> Any:
        """The program that becomes one function, lowered for arguments or their shapes."""
        with lowered_for_one_function(self._mapped):
            return self.marked.lower(*args)

    def num_compilations(self) -> int:
        """For how many kinds of arguments the chosen program has been compiled."""
        return int(self.program._cache_size())  # type: ignore[attr-defined]  # jax.jit gives its functions this method

    def _choose(self, args: tuple[Any, ...]) -> tuple[Callable[..., Any] | None, Any]:
        """The program to keep to, None to choose again the next time; and what it gives."""
        if is_tracing():  # nothing can be compared
            return None, self._plain(*args)
        result = self._faithful_result(args) if jax.default_backend() == "cpu" else None
        if result is None:
            return self._plain, self._plain(*args)
        return self.marked, result

    def _faithful_result(self, args: tuple[Any, ...]) -> Any:
        """What the marked program gives, if that is right; else None."""
        lowered = self._plain.lower(*args)  # before anything unusual is tried, so that errors of the function come bare
        try:
            if not is_supported(self.marked.trace(*args).jaxpr.jaxpr):
                return None
            with lowered_for_one_function(self._mapped):
                result = self.marked(*args)
        except jax.errors.JaxRuntimeError:  # XLA cannot compile it as one function
            return None
        expected = lowered.compile(compiler_options=quick_options())(*args)
        return result if agree(self._view(result), self._view(expected)) else None


def fuse(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, marked to be compiled as one kernel, for use within `jax.jit` on a CPU; unchecked.

    XLA refuses what `is_supported` names, and more than about a thousand numbers at a time, with
    `jax.errors.JaxRuntimeError` when it compiles; and without `compiler_options` matrix products and scatters too.
    With `FUNCENV_NO_FAST_PATH=1` the function comes back as it is.

    >>> int(jax.jit(fuse(lambda x: x + 1))(1))
    2
    """
    if not is_enabled():
        return function

    def witnessed(*args: Any) -> tuple[Any, jax.Array]:
        return function(*args), _witness(args)

    inner = jax.jit(witnessed)

    barrier: Any = jax.lax.optimization_barrier  # for which JAX has no types

    def marked(*args: Any) -> Any:
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):  # type: ignore[no-untyped-call]  # JAX's
            return barrier(inner(*args))[0]

    return marked


def _witness(args: Any) -> jax.Array:
    """A number that depends on every argument.

    XLA aborts, and the process with it, where a parameter of such a function turns out to be needed for nothing. So
    one entry of each is needed for this.
    """
    total = jnp.zeros((), jnp.float32)
    for leaf in jax.tree.leaves(args):
        array = jnp.asarray(
            jax.random.key_data(leaf) if jnp.issubdtype(jax.typeof(leaf).dtype, jax.dtypes.prng_key) else leaf
        )
        if array.size:
            total += array[(0,) * array.ndim].astype(jnp.float32)
    return total


def is_supported(jaxpr: Any) -> bool:
    """Whether a program holds nothing that XLA is known not to fuse: sorting, callbacks, linear algebra.

    >>> is_supported(jax.make_jaxpr(lambda x: x + 1)(1).jaxpr), is_supported(jax.make_jaxpr(jnp.sort)(jnp.ones(3)).jaxpr)
    (True, False)
    """
    names = {equation.primitive.name for equation in equations(jaxpr)}
    return not (names & _REFUSED or any("callback" in name for name in names))


_REFUSED = frozenset(
    ["sort", "top_k", "approx_top_k", "fft", "ffi_call", "custom_call", "cholesky", "lu", "qr", "householder_product"]
    + ["svd", "eig", "eigh", "schur", "hessenberg", "tridiagonal", "tridiagonal_solve", "triangular_solve"]
)


@functools.cache
def compiler_options(level: int = 2) -> dict[str, Any]:
    """The options for a program that is compiled as one function, as far as this XLA knows them.

    Wide vectors; two emitters less, whose results cannot be called from within a function: without them, XLA writes
    out matrix products, large sums and scatters as loops; and not quite all optimisation, which takes a sixth less time
    to compile something as fast.

    Args:
        level: of optimisation, 0 to 3.
    """
    return known_options(
        xla_cpu_prefer_vector_width=512,
        xla_cpu_experimental_ynn_fusion_type="",
        xla_cpu_use_fusion_emitters=False,
        xla_backend_optimization_level=level,
    )


@functools.cache
def quick_options(level: int = 0) -> dict[str, Any]:
    """The options for a program that runs a few times, as far as this XLA knows them.

    XLA's older emitter of loops takes half as long to compile as its newer ones do.

    Args:
        level: of optimisation, 0 to 3.
    """
    return known_options(xla_backend_optimization_level=level, xla_cpu_use_fusion_emitters=False)


def known_options(**options: Any) -> dict[str, Any]:
    """Those of some options that this XLA knows."""
    if _is_known(options):
        return options
    return {name: value for name, value in options.items() if _is_known({name: value})}


def _is_known(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda x: x + 1).lower(0).compile(compiler_options=options)
    except jax.errors.JaxRuntimeError:  # no such option
        return False
    return True


def is_enabled() -> bool:
    """Whether programs may be compiled in ways that XLA does not document: unless `FUNCENV_NO_FAST_PATH=1` says otherwise."""
    return os.environ.get("FUNCENV_NO_FAST_PATH", "0") in ("", "0")


def applies_to(platform: str, args: Any) -> bool:
    """Whether a program is ours to compile in a manner of its own: on this platform, wanted, and not being traced.

    Args:
        platform: what `jax.default_backend()` must be.
        args: what the program is called with.

    >>> applies_to("no such platform", ())
    False
    """
    if not is_enabled() or jax.default_backend() != platform:
        return False
    return not (any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)) or is_tracing())


def is_tracing() -> bool:
    """Whether this runs within a function that is being traced.

    >>> is_tracing(), jax.jit(lambda: jnp.asarray(is_tracing()))()
    (False, Array(True, dtype=bool))
    """
    return isinstance(jax.lax.neg(np.float32(0)), jax.core.Tracer)


def agree(ours: Any, theirs: Any) -> bool:
    """Equal structures and integers, floats within a few roundings."""
    return all(_equal(np.asarray(a), np.asarray(b)) for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True))


def _equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return bool(np.array_equal(a, b))
    rounding = float(jnp.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]  # JAX's
    return bool(np.allclose(a, b, rtol=64 * rounding, atol=1e-6, equal_nan=True))
