"""Values that a compiler must store instead of computing them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp

from funcenv._compile.jaxpr import iter_eqns
from funcenv._jax import optimization_barrier

if TYPE_CHECKING:
    from jax.extend.core import Jaxpr

Tree = TypeVar("Tree")


def materialize(tree: Tree) -> Tree:
    """Return the same arrays, computed once before anything that uses them.

    XLA prefers to compute again rather than to store: it would compute a value of a column again in every pixel of
    that column, and paint the backdrop of a batch of images for each image. An optimization barrier stops it on a GPU.
    The CPU backend drops barriers too early, but does not compute across a branch. There, the arrays come out of a
    branch that is always taken, behind a condition that only the barrier knows.

    >>> materialize({"x": jnp.arange(3)})["x"].tolist()
    [0, 1, 2]
    """
    return jax.lax.platform_dependent(tree, cpu=_behind_branch, default=_behind_barrier)


def _behind_barrier(tree: Any) -> Any:
    return optimization_barrier(tree)


def _behind_branch(tree: Any) -> Any:
    taken = _behind_barrier(jnp.ones((), bool))
    return jax.lax.cond(taken, lambda tree: tree, lambda tree: jax.tree.map(jnp.zeros_like, tree), tree)


def materializes(jaxpr: Jaxpr) -> bool:
    """Return whether a program stores values by `materialize`.

    >>> materializes(jax.make_jaxpr(materialize)(1.0).jaxpr), materializes(jax.make_jaxpr(jnp.sin)(1.0).jaxpr)
    (True, False)
    """
    return any(eqn.primitive.name == "optimization_barrier" for eqn in iter_eqns(jaxpr))
