"""Spaces whose members fit into the same arrays, whatever their bounds."""

from __future__ import annotations

from typing import Any

import jax

from funcenv.adapters.spaces.space import Space
from funcenv.spaces.space import Space as PureSpace


def is_space_dtype_shape_equiv(space_1: Space[Any], space_2: Space[Any]) -> bool:
    """Return whether two spaces are of one kind, and their members have parts of the same shapes and dtypes.

    >>> from funcenv.adapters.spaces import Box
    >>> space = Box(0, 1, (2,))
    >>> is_space_dtype_shape_equiv(space, Box(0, 255, (2,))), is_space_dtype_shape_equiv(space, Box(0, 1, (3,)))
    (True, False)
    """
    one: Any = getattr(space_1, "pure", space_1)
    other: Any = getattr(space_2, "pure", space_2)
    if type(one) is not type(other):
        return False
    if not isinstance(one, PureSpace):  # a kind that the user has written
        return bool((one.shape, one.dtype) == (other.shape, other.dtype))
    structure: Any
    leaves, structure = jax.tree.flatten(one.abstract_member())
    other_leaves, other_structure = jax.tree.flatten(other.abstract_member())
    kinds = [(leaf.shape, leaf.dtype) for leaf in leaves]
    return bool(structure == other_structure and kinds == [(leaf.shape, leaf.dtype) for leaf in other_leaves])
