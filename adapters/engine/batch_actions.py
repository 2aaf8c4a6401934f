"""Conversion of a batch of actions to an argument of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.adapters.engine.actions import (
    array_encoder,
    as_array,
    dict_encoder,
    require_kind,
    tuple_encoder,
    wrong_shape,
)
from funcenv.spaces import Dict, Tuple
from funcenv.spaces.space import AnySpace

Encode = Callable[[Any, tuple[int, ...]], Any]


def batch_encoder(space: AnySpace) -> Encode:
    """Return a function `encode(actions, batch_shape)` that checks actions and casts them to the dtype of the space.

    Arrays on the host are checked element by element, as `adapters.engine.actions.array_encoder` does. JAX arrays and
    DLPack tensors are not read, because that would wait for the device: only their shape and kind are checked, and the
    environment defines the effect of an action outside of the space.

    The function raises `ValueError` for actions of another shape or kind and for an action outside of the space. An
    action beyond the bounds of a `Box` of floats is passed on, with one warning, unless it is NaN.

    >>> from funcenv.spaces import Discrete
    >>> encode = batch_encoder(Discrete(2))
    >>> encode([0, 1, 1], (3,))
    array([0, 1, 1], dtype=int32)
    >>> encode(np.array([0, 2, 1]), (3,))
    Traceback (most recent call last):
        ...
    ValueError: action 2 at [1] is not in Discrete(2); sample one with single_action_space.sample()
    """
    if isinstance(space, Tuple):
        return tuple_encoder(space, [batch_encoder(part) for part in space.spaces])
    if isinstance(space, Dict):
        return dict_encoder(space, {name: batch_encoder(part) for name, part in space.spaces.items()})
    if space.bounds is not None:
        return _array_encoder(space)
    return _any_encoder(space)


def block_length(actions: Any) -> int:
    """Return the number of steps of a block of actions: the size of its first axis.

    Raises:
        ValueError: there is no such axis, or its size is 0.
    """
    leaves = jax.tree.leaves(actions, is_leaf=lambda node: isinstance(node, list))
    shape = tuple(leaves[0].shape) if hasattr(leaves[0], "shape") else np.shape(leaves[0])
    if not shape or not shape[0]:
        raise ValueError(f"a block of actions needs leading axes [num_steps, num_envs], got shape {shape}")
    return int(shape[0])


def _array_encoder(space: AnySpace) -> Encode:
    shape, encode_array = space.shape, array_encoder(space, "single_action_space.sample()")
    assert shape is not None  # of an array space

    def encode(actions: Any, batch_shape: tuple[int, ...]) -> Any:
        if type(actions) is not np.ndarray:
            if isinstance(actions, jax.Array) or hasattr(actions, "__dlpack__"):
                return _from_device(space, actions, batch_shape + shape)
            actions = as_array(space, actions)
        return encode_array(actions, batch_shape)

    return encode


def _from_device(space: AnySpace, array: Any, shape: tuple[int, ...]) -> jax.Array:
    dtype: Any = space.dtype
    if array.shape != shape:
        raise wrong_shape(space, shape, array)
    if not isinstance(array, jax.Array):
        if hasattr(array, "detach"):  # a torch tensor, whose integers have 64 bits by default
            import torch  # type: ignore[import-not-found]  # optional

            if not array.is_floating_point() or dtype.kind == "f":
                array = array.detach().to(getattr(torch, dtype.name)).contiguous()
        array = jax.dlpack.from_dlpack(array, copy=True)  # its owner may write to it while the step is under way
    require_kind(space, array.dtype)
    return array if array.dtype == dtype else array.astype(dtype)


def _any_encoder(space: AnySpace) -> Encode:
    once = jax.jit(jax.vmap(space.contains))
    twice = jax.jit(jax.vmap(jax.vmap(space.contains)))

    def encode(actions: Any, batch_shape: tuple[int, ...]) -> Any:
        given = [np.shape(leaf)[: len(batch_shape)] for leaf in jax.tree.leaves(actions)]
        if any(axes != batch_shape for axes in given):
            raise ValueError(f"actions for {space!r} must have leading axes {batch_shape}, got {given}")
        if not np.all(once(actions) if len(batch_shape) == 1 else twice(actions)):
            raise ValueError(
                f"actions {actions!r} are not all in {space!r}; sample one with single_action_space.sample()"
            )
        return actions

    return encode
