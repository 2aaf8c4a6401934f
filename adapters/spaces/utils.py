"""The name `gymnasium.spaces.utils` for the functions that flatten members of spaces."""

from funcenv.adapters.spaces.flattening import flatdim, flatten, flatten_space, unflatten

__all__ = ["flatdim", "flatten", "flatten_space", "unflatten"]
