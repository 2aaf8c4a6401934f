"""Programs with one call to the host, divided at it.

A callback from a compiled program costs a tenth of a millisecond, most of it in waking threads. Code that steps a
single environment can do without: it runs the part of the program before the call, calls the function of
`funcenv.host` itself, and runs the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from funcenv._compile.jaxpr import inner_jaxprs, iter_eqns
from funcenv.host import is_host_function

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr"}  # and the parameter that is called


class SplitProgram(NamedTuple):
    """A program that returns one array, before and after its call to the host."""

    before: Callable[..., jax.Array]  # from the arguments to what the host is sent
    function: Callable[[Any], Any]
    after: Callable[..., jax.Array]  # from the answer and the arguments to the result

    def __call__(self, *args: Any) -> jax.Array:
        """Run the program."""
        return self.after(self.function(np.asarray(self.before(*args))), *args)


def split_host_call(function: Callable[..., Any], *args: Any) -> SplitProgram | None:
    """Compile a function that returns one array as a program that is divided at its only call to the host.

    Args:
        function: a pure function.
        *args: arguments with the shapes to compile for.

    Returns:
        The program; None if there is no such call, or more than one, or one inside a loop or a branch.

    >>> from funcenv.host import host_call
    >>> shape = jax.ShapeDtypeStruct((), np.float32)
    >>> program = split_host_call(lambda x: 1 + host_call(np.sqrt, shape, x * x), np.float32(1))
    >>> float(program(np.float32(3)))
    4.0
    """
    closed = jax.make_jaxpr(function)(*args)
    names = [eqn.primitive.name for eqn in iter_eqns(closed.jaxpr)]
    if sum("callback" in name for name in names) != 1:
        return None
    flat = _flattened(closed)
    if flat is None:
        return None
    call = flat.eqns[flat.place]
    answer = call.params["callback"].callback_func
    if not is_host_function(answer):
        return None
    (sent,), (received,), inputs = call.invars, call.outvars, closed.jaxpr.invars
    leading, following = flat.eqns[: flat.place], flat.eqns[flat.place + 1 :]
    first = flat.program(closed, inputs, leading, [sent])
    second = flat.program(closed, [received, *inputs], [*leading, *following], flat.outvars)

    def before(*args: Any) -> Any:
        return first(*jax.tree.leaves(args))[0]

    def after(answer: Any, *args: Any) -> Any:
        return second(answer, *jax.tree.leaves(args))[0]

    return SplitProgram(jax.jit(before), answer, jax.jit(after))


class _Flat(NamedTuple):
    """A program whose call to the host is one of its own equations."""

    eqns: list[Any]
    place: int  # index of that equation
    outvars: list[Any]
    constants: dict[Any, Any]  # by variable

    def program(self, closed: ClosedJaxpr, inputs: list[Any], eqns: list[Any], outvars: list[Any]) -> Any:
        """Return a function from some variables to others; the compiler removes what it does not need."""
        parts: dict[str, Any] = {"constvars": list(self.constants), "invars": inputs, "eqns": eqns, "outvars": outvars}
        return jaxpr_as_fun(ClosedJaxpr(closed.jaxpr.replace(**parts), list(self.constants.values())))


def _flattened(closed: ClosedJaxpr) -> _Flat | None:
    """Return a program with the functions inlined that lead to its call to the host; None if a loop or branch does."""
    eqns, outvars = list(closed.jaxpr.eqns), list(closed.jaxpr.outvars)
    constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    while True:
        (place,) = (place for place, eqn in enumerate(eqns) if _calls_host(eqn))
        eqn = eqns[place]
        if "callback" in eqn.primitive.name:
            return _Flat(eqns, place, outvars, constants)
        if eqn.primitive.name not in _CALLS:
            return None
        called = eqn.params[_CALLS[eqn.primitive.name]]
        inner = called.jaxpr
        constants |= dict(zip(inner.constvars, called.consts, strict=True))
        names: dict[Any, Any] = dict(zip(inner.invars, eqn.invars, strict=True))
        results = dict(zip(eqn.outvars, (_renamed(atom, names) for atom in inner.outvars), strict=True))
        eqns = [
            *eqns[:place],
            *(_with_inputs(each, names) for each in inner.eqns),
            *(_with_inputs(each, results) for each in eqns[place + 1 :]),
        ]
        outvars = [_renamed(atom, results) for atom in outvars]


def _with_inputs(eqn: Any, names: dict[Any, Any]) -> Any:
    return eqn.replace(invars=[_renamed(atom, names) for atom in eqn.invars])


def _calls_host(eqn: Any) -> bool:
    """Return whether an equation is a callback or contains one."""
    if "callback" in eqn.primitive.name:
        return True
    inner = inner_jaxprs(list(eqn.params.values()))
    return any("callback" in each.primitive.name for program in inner for each in iter_eqns(program))


def _renamed(atom: Any, names: dict[Any, Any]) -> Any:
    return atom if isinstance(atom, Literal) else names.get(atom, atom)
