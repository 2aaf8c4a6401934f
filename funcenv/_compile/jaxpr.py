"""How much work a traced function is, roughly: enough to tell a cheap reset from a costly one.

XLA's own `cost_analysis` counts the body of a loop once, however often it runs, and a level generator is nothing but
loops. So this counts the operations of a jaxpr, a loop's as often as it runs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr

_UNKNOWN_TURNS = 16  # of a loop whose length depends on data
_WORDS = {"threefry2x32": 100, "random_bits": 100, "random_fold_in": 100, "random_split": 100}  # operations a word


def operations(function: Callable[..., Any], *args: Any) -> float:
    """About how many scalar operations a call performs.

    Args:
        function: anything that JAX can trace.
        args: its arguments, or their shapes (`jax.ShapeDtypeStruct`).

    >>> import jax.numpy as jnp
    >>> operations(lambda x: jnp.sin(x) + x, jnp.zeros(10))
    20.0
    >>> operations(lambda x: jax.lax.scan(lambda x, _: (x * x, None), x, length=50), jnp.zeros(10))
    500.0
    """
    return _of_jaxpr(jax.make_jaxpr(function)(*args).jaxpr)


def equations(jaxpr: Jaxpr) -> Iterator[Any]:
    """A program's operations, those inside of loops, branches and calls included; a call itself is none.

    >>> program = jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, lambda: x + 1, lambda: -x))(1)
    >>> sorted(equation.primitive.name for equation in equations(program.jaxpr))
    ['add', 'cond', 'convert_element_type', 'gt', 'neg']
    """
    for equation in jaxpr.eqns:
        inside = _inside(equation)
        if not inside or equation.primitive.name not in ("jit", "pjit"):
            yield equation
        for part in inside:
            yield from equations(part)


def _inside(equation: Any) -> list[Jaxpr]:
    """The programs that an equation of a jaxpr runs: the body of a loop, the branches of a condition."""
    return _jaxprs(list(equation.params.values()))


def _of_jaxpr(jaxpr: Jaxpr) -> float:
    return math.fsum(_of_equation(equation) for equation in jaxpr.eqns)


def _of_equation(equation: Any) -> float:
    inner = [_of_jaxpr(jaxpr) for jaxpr in _inside(equation)]
    name = equation.primitive.name
    if inner:
        turns = {"scan": equation.params.get("length", 1), "while": _UNKNOWN_TURNS}.get(name, 1)
        return turns * (max(inner) if name == "cond" else sum(inner))
    size = max((_size(variable) for variable in (*equation.outvars, *equation.invars)), default=0)
    if name == "dot_general":
        return 2.0 * _size(equation.outvars[0]) * _contracted(equation)
    if name == "sort":
        return size * max(math.log2(max(size, 1)), 1)
    if name in _MOVES:
        return 0.0
    return float(size * _WORDS.get(name, 1))


_MOVES = frozenset({"broadcast_in_dim", "reshape", "convert_element_type", "squeeze", "slice", "random_wrap",
                    "random_unwrap", "stop_gradient", "copy"})  # fmt: skip


def _contracted(equation: Any) -> int:
    (axes, _), _ = equation.params["dimension_numbers"]
    return math.prod(equation.invars[0].aval.shape[axis] for axis in axes)


def _size(variable: Any) -> int:
    return math.prod(getattr(variable.aval, "shape", ()))


def _jaxprs(value: Any) -> list[Jaxpr]:
    """The programs inside of a parameter of an equation."""
    if isinstance(value, ClosedJaxpr):
        return [value.jaxpr]
    if isinstance(value, Jaxpr):
        return [value]
    if isinstance(value, (tuple, list)):
        return functools.reduce(lambda found, part: found + _jaxprs(part), value, [])
    return []
