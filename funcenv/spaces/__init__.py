"""Pure descriptions of what observations and actions can be."""

from typing import TYPE_CHECKING, NoReturn

import funcenv.hints as _hints
from funcenv.spaces.batch import Batched, batch_space
from funcenv.spaces.box import Box
from funcenv.spaces.dict import Dict
from funcenv.spaces.discrete import Discrete
from funcenv.spaces.flatten import flatdim, flatten, flatten_space, unflatten
from funcenv.spaces.graph import Graph, GraphInstance, PlainGraph
from funcenv.spaces.multi_binary import MultiBinary
from funcenv.spaces.multi_discrete import MultiDiscrete
from funcenv.spaces.one_of import OneOf, OneOfInstance
from funcenv.spaces.sequence import Sequence, SequenceInstance
from funcenv.spaces.space import Space
from funcenv.spaces.text import Text, TextInstance
from funcenv.spaces.tuple import Tuple

__all__ = [
    "Batched",
    "Box",
    "Dict",
    "Discrete",
    "Graph",
    "GraphInstance",
    "MultiBinary",
    "MultiDiscrete",
    "OneOf",
    "OneOfInstance",
    "PlainGraph",
    "Sequence",
    "SequenceInstance",
    "Space",
    "Text",
    "TextInstance",
    "Tuple",
    "batch_space",
    "flatdim",
    "flatten",
    "flatten_space",
    "unflatten",
]


if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> NoReturn:
        """Name a similar space."""
        raise AttributeError(_hints.missing_name(f"module {__name__!r}", name, {}, __all__))


def __dir__() -> list[str]:
    return __all__
