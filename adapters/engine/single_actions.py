"""Conversion of actions of the stateful interface to arguments of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.adapters.engine.actions import array_encoder, as_array, dict_encoder, refuse_traced, tuple_encoder
from funcenv.spaces import Box, Dict, Discrete, Tuple
from funcenv.spaces.space import AnySpace


def action_encoder(space: AnySpace) -> Callable[[Any], Any]:
    """Return a function that checks an action and converts it to an argument of compiled code.

    The function raises `ValueError` for an action outside of the space. An action beyond the bounds of a `Box` of
    floats is passed on, with one warning, unless it is NaN. Actions of a `Discrete` space become device scalars, which
    are made once and kept.

    >>> from funcenv.spaces import Box
    >>> action_encoder(Box(-1, 1))([0.5])
    array([0.5], dtype=float32)
    """
    if isinstance(space, Tuple):
        return tuple_encoder(space, [action_encoder(part) for part in space.spaces])
    if isinstance(space, Dict):
        return dict_encoder(space, {name: action_encoder(part) for name, part in space.spaces.items()})
    if isinstance(space, Box) and space.concrete:
        return _box_encoder(space)
    return _discrete_encoder(space) if isinstance(space, Discrete) else space.encode_action


_MADE_BY_USERS = int, np.int64  # literals, and what `sample` and `argmax` return; both are fast to look up


def _box_encoder(space: Box) -> Callable[[Any], Any]:
    encode = array_encoder(space, "action_space.sample()")
    return lambda action: encode(as_array(space, action))


def _discrete_encoder(space: Discrete) -> Callable[[Any], Any]:
    scalars: dict[int, jax.Array] = {}

    def encode(action: Any) -> jax.Array:
        known = scalars.get(action) if type(action) in _MADE_BY_USERS else None
        if known is not None:
            return known
        refuse_traced("step", action)
        member = int(space.encode_action(action))
        if member not in scalars:
            scalars[member] = jax.device_put(np.asarray(member, space.dtype))  # Only this compiles nothing.
        return scalars[member]

    return encode
