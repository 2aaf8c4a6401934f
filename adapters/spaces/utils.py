"""The name `gymnasium.spaces.utils` for the functions that flatten members of spaces, and compare spaces."""

from funcenv.adapters.spaces.equivalence import is_space_dtype_shape_equiv
from funcenv.adapters.spaces.flattening import flatdim, flatten, flatten_space, unflatten

__all__ = ["flatdim", "flatten", "flatten_space", "is_space_dtype_shape_equiv", "unflatten"]
