"""Pure descriptions of what observations and actions can be."""

from funcenv.spaces.box import Box
from funcenv.spaces.discrete import Discrete
from funcenv.spaces.space import Space

__all__ = ["Box", "Discrete", "Space"]
