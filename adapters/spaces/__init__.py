"""Spaces with a generator, under the names of `gymnasium.spaces`."""

from funcenv.adapters.spaces.flattening import flatdim, flatten, flatten_space, unflatten
from funcenv.adapters.spaces.kinds import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Text,
    Tuple,
)
from funcenv.adapters.spaces.space import Space

__all__ = [
    "Box",
    "Dict",
    "Discrete",
    "Graph",
    "MultiBinary",
    "MultiDiscrete",
    "OneOf",
    "Sequence",
    "Space",
    "Text",
    "Tuple",
    "flatdim",
    "flatten",
    "flatten_space",
    "unflatten",
]
