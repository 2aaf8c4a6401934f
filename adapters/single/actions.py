"""Between what a user of the stateful interface holds (ints, numpy arrays) and what compiled code takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.spaces import Box, Dict, Discrete, Graph, OneOf, Sequence, Space, Text, Tuple


def action_encoder(space: Space[Any]) -> Callable[[Any], Any]:
    """A function that checks an action and makes it an argument of compiled code.

    It raises `ValueError` for an action outside of the space, NaN included, with the space and the action. Discrete
    actions become device scalars that are made once and kept.
    """
    if isinstance(space, Discrete):
        return _discrete_encoder(space)
    if isinstance(space, Box) and space.concrete:
        return _box_encoder(space)
    return _any_encoder(space)


def observation_decoder(space: Space[Any]) -> Callable[[Any], Any]:
    """A function from numpy leaves to what Gymnasium shows: an int for a discrete observation, else arrays."""
    if isinstance(space, Discrete):
        return int
    if isinstance(space, Tuple):
        parts = [observation_decoder(part) for part in space.spaces]
        return lambda members: tuple(decode(member) for decode, member in zip(parts, members, strict=True))
    if isinstance(space, Dict):
        named = {name: observation_decoder(part) for name, part in space.spaces.items()}
        return lambda members: {name: decode(members[name]) for name, decode in named.items()}
    if isinstance(space, (Graph, OneOf, Sequence, Text)):
        return space.unpack  # from the padded form to Gymnasium's
    return lambda member: member


def decode_info(info: dict[str, Any]) -> dict[str, Any]:
    """Numpy scalars in place of arrays without axes, and plain bools for flags."""
    return jax.tree.map(_scalar, info)


def _scalar(leaf: Any) -> Any:
    if not isinstance(leaf, np.ndarray) or leaf.shape != ():
        return leaf
    return bool(leaf) if leaf.dtype == bool else leaf[()]


def _refuse(space: Space[Any], action: Any) -> ValueError:
    return ValueError(
        f"action {action!r} of type {type(action).__name__} is not in {space!r}; sample one with action_space.sample()"
    )


def _discrete_encoder(space: Discrete) -> Callable[[Any], Any]:
    start, stop, dtype = space.start, space.start + space.n, space.dtype
    ready: dict[int, jax.Array] = {}

    def encode(action: Any) -> jax.Array:
        if type(action) is not int:
            kind = getattr(getattr(action, "dtype", None), "kind", "")
            if isinstance(action, bool) or not (
                isinstance(action, int) or (kind in ("i", "u") and np.shape(action) == ())
            ):
                raise _refuse(space, action)
            action = int(action)
        scalar = ready.get(action)
        if scalar is None:
            if not start <= action < stop:
                raise _refuse(space, action)
            scalar = ready[action] = jnp.asarray(action, dtype)
        return scalar

    return encode


def _box_encoder(space: Box) -> Callable[[Any], Any]:
    low, high, shape, dtype = space.low, space.high, space.shape, space.dtype

    def encode(action: Any) -> np.ndarray[Any, Any]:
        array = np.asarray(action)
        # A float64 that a user computed is as good as the float32 it becomes; a fraction for an integer box is not.
        if array.shape != shape or not (np.can_cast(array.dtype, dtype, "same_kind") or array.dtype.kind in "iu"):
            raise _refuse(space, action)
        array = array.astype(dtype, copy=False)
        if not ((array >= low) & (array <= high)).all():  # false for NaN
            raise _refuse(space, action)
        return array

    return encode


def _any_encoder(space: Space[Any]) -> Callable[[Any], Any]:
    def encode(action: Any) -> Any:
        if not space.contains(action):  # on the host: a member may be a string or a tuple of any length
            raise _refuse(space, action)
        return space.pack(action)

    return encode
