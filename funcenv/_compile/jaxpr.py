"""The size of a program: its equations, and about how many operations they perform.

XLA's own `cost_analysis` counts the body of a loop once, however often it runs. Level generators and physics solvers
are mostly loops, so `count_operations` counts the body as often as it runs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from jax.extend.core import Jaxpr

_ASSUMED_ITERATIONS = 16  # trips of a loop whose length depends on data
_CALLBACK_OPERATIONS = 100_000.0  # cost of a call to the host, beside its own work: about 0.1 ms
_OPERATIONS_PER_WORD = {"threefry2x32": 100, "random_bits": 100, "random_fold_in": 100, "random_split": 100}


def count_operations(function: Callable[..., Any], *args: Any) -> float:
    """Estimate how many scalar operations a call performs.

    Args:
        function: a function that JAX can trace.
        args: its arguments, or their shapes and dtypes (`jax.ShapeDtypeStruct`).

    >>> import jax.numpy as jnp
    >>> count_operations(lambda x: jnp.sin(x) + x, jnp.zeros(10))
    20.0
    >>> count_operations(lambda x: jax.lax.scan(lambda x, _: (x * x, None), x, length=50), jnp.zeros(10))
    500.0
    >>> count_operations(lambda x: jax.pure_callback(lambda x: x, x, x), jnp.zeros(10))
    100000.0
    >>> image, kernel = jnp.zeros((1, 3, 8, 8)), jnp.zeros((16, 3, 2, 2))  # to 16 channels of 7 x 7
    >>> count_operations(lambda image: jax.lax.conv(image, kernel, (1, 1), "VALID"), image) == 2 * (16 * 7 * 7) * 12
    True
    """
    return count_jaxpr(jax.make_jaxpr(function)(*args).jaxpr)


def iter_eqns(jaxpr: Jaxpr) -> Iterator[Any]:
    """Iterate over the equations of a program, including those inside loops, branches and calls, but not the calls.

    >>> program = jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, lambda: x + 1, lambda: -x))(1)
    >>> sorted(eqn.primitive.name for eqn in iter_eqns(program.jaxpr))
    ['add', 'cond', 'convert_element_type', 'gt', 'neg']
    """
    for eqn in jaxpr.eqns:
        inner = inner_jaxprs(list(eqn.params.values()))
        if not inner or eqn.primitive.name not in ("jit", "pjit"):
            yield eqn
        for part in inner:
            yield from iter_eqns(part)


def broadcast_literal(eqn: Any) -> Any | None:
    """Return the literal that an equation fills an array with, or None if the equation does anything else."""
    if eqn is not None and eqn.primitive.name == "broadcast_in_dim" and is_literal(eqn.invars[0]):
        return eqn.invars[0].val
    return None


def is_literal(atom: Any) -> bool:
    """Return whether an argument of an equation, or an output of a program, is a number rather than a variable."""
    return isinstance(atom, _kinds()[2])


def count_jaxpr(jaxpr: Jaxpr) -> float:
    """Estimate how many scalar operations a program performs."""
    return math.fsum(map(count_eqn, jaxpr.eqns))


def count_eqn(eqn: Any) -> float:
    """Estimate how many scalar operations an equation performs."""
    inner = [count_jaxpr(jaxpr) for jaxpr in inner_jaxprs(list(eqn.params.values()))]
    name = eqn.primitive.name
    if inner:
        iterations = {"scan": eqn.params.get("length", 1), "while": _ASSUMED_ITERATIONS}.get(name, 1)
        return iterations * (max(inner) if name == "cond" else sum(inner))
    if "callback" in name:
        return _CALLBACK_OPERATIONS
    size = max((_size(variable) for variable in (*eqn.outvars, *eqn.invars)), default=0)
    if name == "dot_general":
        (axes, _), _ = eqn.params["dimension_numbers"]
        return 2.0 * _size(eqn.outvars[0]) * math.prod(eqn.invars[0].aval.shape[axis] for axis in axes)
    if name == "conv_general_dilated":
        dimensions, kernel = eqn.params["dimension_numbers"], eqn.invars[1].aval.shape
        return 2.0 * _size(eqn.outvars[0]) * math.prod(kernel) / kernel[dimensions.rhs_spec[0]]
    if name == "sort":
        return size * max(math.log2(max(size, 1)), 1)
    return 0.0 if name in _FREE else float(size * _OPERATIONS_PER_WORD.get(name, 1))


def is_matrix_product(eqn: Any) -> bool:
    """Return whether an equation multiplies two matrices, as a convolution does, too.

    Batches of matrices in both arguments do not count: they are one small product for each entry of the batch.

    >>> program = jax.make_jaxpr(lambda rows: rows @ jax.numpy.eye(3))
    >>> [is_matrix_product(program(jax.numpy.zeros(shape)).eqns[-1]) for shape in ((5, 3), (3,))]
    [True, False]
    """
    if eqn.primitive.name == "dot_general":
        _, (batch_axes, _) = eqn.params["dimension_numbers"]
        return not batch_axes and len(eqn.outvars[0].aval.shape) > 1
    return bool(eqn.primitive.name == "conv_general_dilated")


_FREE = frozenset({"broadcast_in_dim", "reshape", "convert_element_type", "squeeze", "slice", "random_wrap",
                   "random_unwrap", "stop_gradient", "copy"})  # fmt: skip


def _size(variable: Any) -> int:
    return math.prod(getattr(variable.aval, "shape", ()))


def inner_jaxprs(value: Any) -> list[Jaxpr]:
    """Return the programs inside a parameter of an equation: the body of a loop, the branches of a condition."""
    closed, bare, _ = _kinds()
    if isinstance(value, closed):
        return [value.jaxpr]
    if isinstance(value, bare):
        return [value]
    if isinstance(value, (tuple, list)):
        return functools.reduce(lambda found, part: found + inner_jaxprs(part), value, [])
    return []


@functools.cache
def _kinds() -> tuple[Any, Any, Any]:
    """Return the classes of closed and of bare programs and of literals; this file is imported faster than they are."""
    from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

    return ClosedJaxpr, Jaxpr, Literal
