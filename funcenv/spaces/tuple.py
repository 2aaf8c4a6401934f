"""The product of a sequence of spaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv.spaces._composite import ProductSpace, contains_all
from funcenv.spaces._dtypes import dtype_of
from funcenv.spaces.space import AnySpace


class Tuple(ProductSpace[tuple[Any, ...]]):
    """Tuples with one member of each space.

    Args:
        spaces: the spaces, in order.

    Raises:
        TypeError: An entry is not a space.

    >>> import funcenv
    >>> from funcenv.spaces import Box, Discrete
    >>> space = Tuple([Discrete(2), Box(-1, 1, (3,))])
    >>> space
    Tuple(Discrete(2), Box(-1.0, 1.0, (3,), float32))
    >>> bool(space.contains(space.sample(funcenv.key(0))))
    True
    """

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` is a tuple (or a list or array, read entry by entry) of members of the spaces."""
        if not isinstance(x, (tuple, list, np.ndarray, jax.Array)):
            return jnp.zeros((), bool)
        entries = x if isinstance(x, (tuple, list)) else tuple(x) if np.ndim(x) else ()
        return contains_all(self.spaces, entries) if len(entries) == len(self.spaces) else jnp.zeros((), bool)

    def count(self, space: AnySpace) -> int:
        """Return how many parts equal a space."""
        return self.spaces.count(space)

    def index(self, space: AnySpace, start: int = 0, stop: int | None = None) -> int:
        """Return the position of the first part that equals a space, among those from `start` to before `stop`.

        Raises:
            ValueError: no part does.

        >>> from funcenv.spaces import Discrete
        >>> space = Tuple([Discrete(2), Discrete(3), Discrete(2)])
        >>> space.index(Discrete(2), 1), space.count(Discrete(2))
        (2, 2)
        """
        return self.spaces.index(space, start, len(self.spaces) if stop is None else stop)

    def _entries(self, x: Any) -> list[Any]:
        return list(x)

    def _require_entries(self, x: Any) -> None:
        if np.ndim(x) == 0 if dtype_of(x) else not isinstance(x, (tuple, list)):
            raise TypeError(f"a member of Tuple must be a tuple, got {x!r}")
        if len(x) != len(self.spaces):
            raise ValueError(f"a member of Tuple must have {len(self.spaces)} entries, got {len(x)}")

    def _member(self, entries: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(entries)
