"""Which inputs of a traced function its outputs depend on."""

from __future__ import annotations

from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal


def inputs_used(closed: ClosedJaxpr) -> list[bool]:
    """For each input, whether any output is computed from it.

    A loop or a branch counts as using everything that it is given; calls of jitted functions are looked into.

    >>> import jax
    >>> inputs_used(jax.make_jaxpr(lambda x, y: (x + 1, 2.0))(0.0, 0.0))
    [True, False]
    """
    return _used(closed.jaxpr, [True] * len(closed.jaxpr.outvars))


def _used(jaxpr: Jaxpr, outputs: list[bool]) -> list[bool]:
    """The same for some outputs only, found from the end of the program to its beginning."""
    live: set[Any] = {var for var, wanted in zip(jaxpr.outvars, outputs, strict=True) if wanted and _is_var(var)}
    for eqn in reversed(jaxpr.eqns):
        wanted = [var in live for var in eqn.outvars]
        if not any(wanted):
            continue
        called = eqn.params.get("jaxpr") if eqn.primitive.name in ("jit", "pjit") else None
        needed = _used(called.jaxpr, wanted) if isinstance(called, ClosedJaxpr) else [True] * len(eqn.invars)
        live.update(var for var, use in zip(eqn.invars, needed, strict=True) if use and _is_var(var))
    return [var in live for var in jaxpr.invars]


def _is_var(var: Any) -> bool:
    return not isinstance(var, Literal)
