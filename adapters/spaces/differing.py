"""Batches of members of different spaces, which have one kind and shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple, batch_space
from funcenv.spaces.space import AnySpace


def join_spaces(parts: list[Any]) -> AnySpace:
    """Return the space of a batch with one member of each space.

    Raises:
        ValueError: Shapes or parts differ.
        TypeError: The spaces are of several kinds.

    >>> join_spaces([Discrete(2), Discrete(3, start=1)])
    MultiDiscrete([2 3], start=[0 1])
    """
    first = parts[0]
    if all(part == first for part in parts):
        return batch_space(first, len(parts))
    if any(type(part) is not type(first) for part in parts):
        raise TypeError(f"a batch needs spaces of one kind, got {parts}")
    if isinstance(first, Dict):
        if any(part.spaces.keys() != first.spaces.keys() for part in parts):
            raise ValueError(f"a batch needs spaces with the same keys, got {parts}")
        return Dict({name: join_spaces([part.spaces[name] for part in parts]) for name in first.spaces})
    if isinstance(first, Tuple):
        if any(len(part.spaces) != len(first.spaces) for part in parts):
            raise ValueError(f"a batch needs spaces with as many parts, got {parts}")
        return Tuple([join_spaces(list(column)) for column in zip(*(part.spaces for part in parts), strict=True)])
    if not isinstance(first, (Box, Discrete, MultiDiscrete, MultiBinary)):
        return Tuple(parts)
    if any(part.shape != first.shape for part in parts):
        raise ValueError(f"a batch needs spaces of one shape, got {parts}")
    dtype = np.result_type(*(part.dtype for part in parts))
    if isinstance(first, Box):
        return Box(np.stack([part.low for part in parts]), np.stack([part.high for part in parts]), dtype=dtype)
    if isinstance(first, Discrete):
        return MultiDiscrete([part.n for part in parts], [part.start for part in parts], dtype)
    low = np.stack([part.start for part in parts])
    return Box(low, low + np.stack([part.nvec for part in parts]) - 1, dtype=dtype)
