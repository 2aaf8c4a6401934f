"""The rules for the spaces of a stateful environment, which are those of Gymnasium 1.4.0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcenv.adapters.checking.api_rules import require
from funcenv.adapters.env import Env
from funcenv.adapters.spaces.space import GeneratorSpace, Space
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from funcenv.spaces import Space as PureSpace
from funcenv.spaces.space import AnySpace


def check_spaces(env: Env[Any, Any]) -> Iterator[str]:
    """Check both spaces of an environment, and yield a message for what works but is probably unintended."""
    for name in ("action_space", "observation_space"):
        require(hasattr(env, name), f"{type(env).__name__} has no {name}; set it in __init__")
        space = getattr(env, name)
        if not issubclass(type(space), Space):
            remedy = f"adapters.Space({space!r}) makes one" if isinstance(space, PureSpace) else "see adapters.Space"
            require(False, f"{name} must be a stateful space, got {type(space).__name__}", remedy=remedy)
        if type(space) is GeneratorSpace:
            yield from _check_space(name, space.pure)


def _check_space(name: str, space: AnySpace) -> Iterator[str]:
    if isinstance(space, (Tuple, Dict)):
        require(len(space) > 0, f"{name} has an empty {type(space).__name__}; leave it out")
        for key, part in space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces):
            yield from _check_space(f"{name}[{key!r}]", part)
    elif isinstance(space, Box):
        yield from _check_box(name, space)
    elif isinstance(space, Discrete):
        require(space.n > 0, f"{name} must have at least one member, got n={space.n}")
    elif isinstance(space, MultiDiscrete):
        require((space.nvec > 0).all(), f"{name} must have at least one member, got nvec={space.nvec}")
    elif isinstance(space, MultiBinary):
        require(math.prod(space.shape) > 0, f"{name} must have at least one element, got shape {space.shape}")


def _check_box(name: str, space: Box) -> Iterator[str]:
    for side, shape in (("low", np.shape(space.low)), ("high", np.shape(space.high))):
        require(shape == space.shape, f"{side} of {name} must have shape {space.shape}, got {shape}")
    require((space.low <= space.high).all(), f"{name} needs low <= high, got {space.low} and {space.high}")
    if (space.low == space.high).any():
        yield f"{name} has elements with low == high, which can only have one value: {space!r}"
    for manner in ("below", "above"):
        if not space.is_bounded(manner):
            yield f"{name} has elements that are unbounded {manner}; give a bound where there is one: {space!r}"
    is_centered = (space.low == 0) | (space.low == -space.high.astype(float))
    is_normalized = (is_centered & (space.low >= -1) & (space.high <= 1)).all()
    if name.startswith("action_space") and len(space.shape) == 1 and not is_normalized:
        yield (
            f"{name} is not [-1, 1] or [0, 1], which learning code often assumes: {space!r}; "
            "funcenv.wrappers.RescaleAction rescales it"
        )
    if name.startswith("observation_space") and len(space.shape) == 3 and space.dtype not in (bool, np.uint8):
        yield (
            f"{name} looks like an image, with 3 axes, but has dtype {space.dtype}; images are Box(0, 255, shape, "
            "np.uint8), which learning code scales and saves"
        )
