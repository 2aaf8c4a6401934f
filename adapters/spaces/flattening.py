"""Conversion of members of spaces with a generator to vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv import spaces as pure_spaces
from funcenv.adapters.spaces.space import GeneratorSpace, Space, plain_member
from funcenv.spaces.space import AnySpace


def flatdim(space: Space[Any]) -> int:
    """Return the length of the vectors of `flatten`.

    >>> from funcenv.adapters.spaces import Box, Dict, Discrete
    >>> flatdim(Dict(a=Discrete(2), b=Box(0, 1, (3,))))
    5
    """
    return pure_spaces.flatdim(_pure(space))


def flatten_space(space: Space[Any]) -> Space[Any]:
    """Return the space of the vectors of `flatten`.

    >>> from funcenv.adapters.spaces import Discrete
    >>> flatten_space(Discrete(3))
    Box(0, 1, (3,), int32)
    """
    flat: Space[Any] = Space(pure_spaces.flatten_space(_pure(space)))
    return flat


def flatten(space: Space[Any], x: Any) -> Any:
    """Convert a member to a vector: integers become one-hot, and the parts of a container are joined.

    >>> from funcenv.adapters.spaces import Discrete, Tuple
    >>> flatten(Tuple((Discrete(2), Discrete(3))), (1, 0))
    array([0, 1, 1, 0, 0], dtype=int32)
    """
    pure = _pure(space)
    return plain_member(pure_spaces.flatten_space(pure), pure_spaces.flatten(pure, pure.pack(x)))


def unflatten(space: Space[Any], x: Any) -> Any:
    """Return the member that `flatten` converted.

    >>> import numpy as np
    >>> from funcenv.adapters.spaces import Discrete, Tuple
    >>> unflatten(Tuple((Discrete(2), Discrete(3))), np.array([0, 1, 1, 0, 0]))
    (np.int32(1), np.int32(0))

    Raises:
        ValueError: No entry of a discrete choice is 1.
    """
    pure = _pure(space)
    member = pure_spaces.unflatten(pure, x)
    if pure.is_np_flattenable and np.any((np.asarray(pure_spaces.flatten(pure, member)) != 0) & (np.asarray(x) == 0)):
        raise ValueError(f"a flattened member of {space!r} must have a 1 for every choice, got {x!r}")
    return plain_member(pure, member)


def _pure(space: Space[Any]) -> AnySpace:
    if not isinstance(space, GeneratorSpace):
        raise TypeError(f"only a space made of those in funcenv.adapters.spaces can be flattened, got {space!r}")
    return space.pure
