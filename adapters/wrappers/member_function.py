"""Compiled functions from members of one space to members of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.adapters.spaces.space import plain_member
from funcenv.spaces import batch_space
from funcenv.spaces.space import AnySpace


class MemberFunction:
    """A compiled function from members of a space to members of another, both in NumPy's types.

    It computes with 64 bits where a space has them, whatever JAX's setting is, as environments with Gymnasium's
    interface do.

    Args:
        function: A traceable function of one member. It is pickled with the object.
        source: Pure space of its argument.
        target: Pure space of its result.
        num_rows: Number of members of a batch, to which the function is applied one by one; None for a single member.

    >>> from funcenv.spaces import Box
    >>> import numpy as np
    >>> halve = MemberFunction(_half, Box(0, 4, (), np.float64), Box(0, 2, (), np.float64))
    >>> halve(3.0), halve.batched(2)(np.array([1.0, 3.0]))
    (np.float64(1.5), array([0.5, 1.5]))
    """

    def __init__(
        self, function: Callable[[Any], Any], source: AnySpace, target: AnySpace, num_rows: int | None = None
    ) -> None:
        self._arguments = function, source, target, num_rows
        if num_rows is not None:
            function, source, target = jax.vmap(function), batch_space(source, num_rows), batch_space(target, num_rows)
        self._source, self._target = source, target
        self._program = jax.jit(lambda member: jax.tree.map(jnp.asarray, function(member)))

    def __call__(self, member: Any) -> Any:
        """Return the result for a member, or for a batch."""
        with jax.enable_x64(True):
            return plain_member(self._target, self._program(self._source.pack(member)))

    def batched(self, num_rows: int) -> MemberFunction:
        """Return the function of a batch."""
        return MemberFunction(*self._arguments[:3], num_rows)

    def __reduce__(self) -> tuple[type[MemberFunction], tuple[Any, ...]]:
        return MemberFunction, self._arguments


def _half(number: Any) -> Any:
    return number / 2
