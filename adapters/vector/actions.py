"""Conversion of a batch of actions to an argument of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.spaces import Dict, Tuple
from funcenv.spaces.space import AnySpace

Encode = Callable[[Any, tuple[int, ...]], Any]


def batch_encoder(space: AnySpace) -> Encode:
    """Return a function `encode(actions, batch_shape)` that checks actions and casts them to the dtype of the space.

    Arrays on the host are checked element by element. JAX arrays and DLPack tensors are not read, because that would
    wait for the device: only their shape and kind are checked, and the environment defines the effect of an action
    outside of the space.

    The function raises `ValueError` for actions of another shape or kind and for an action outside of the space, NaN
    included.

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
        return _tuple_encoder(space)
    if isinstance(space, Dict):
        return _dict_encoder(space)
    if space.bounds is not None:
        return _array_encoder(space, *space.bounds)
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


def _array_encoder(space: AnySpace, low: Any, high: Any) -> Encode:
    assert space.shape is not None and space.dtype is not None  # of an array space
    shape, dtype = space.shape, np.dtype(space.dtype)
    # With a lower bound of 0, one comparison checks both bounds: negative integers are huge as unsigned ones.
    unsigned_high = int(high) if dtype.kind in "iu" and np.ndim(low) == 0 and low == 0 else None
    unsigned = {kind: np.dtype(kind.upper()) for kind in "ilq"}

    def encode(actions: Any, batch_shape: tuple[int, ...]) -> Any:
        if type(actions) is not np.ndarray:
            if isinstance(actions, jax.Array) or hasattr(actions, "__dlpack__"):
                return _from_device(space, actions, batch_shape + shape)
            actions = np.asarray(actions)
        if actions.shape != batch_shape + shape:
            raise _wrong_shape(space, batch_shape + shape, actions)
        kind = actions.dtype.char
        if unsigned_high is not None and kind in unsigned:
            inside = np.maximum.reduce(actions.view(unsigned[kind]), None) <= unsigned_high
        else:
            _require_kind(space, actions.dtype)
            inside = ((actions >= low) & (actions <= high)).all()  # false for NaN
        if not inside:
            index = tuple(np.argwhere(~((actions >= low) & (actions <= high)))[0][: len(batch_shape)].tolist())
            raise ValueError(
                f"action {actions[index]!s} at {list(index)} is not in {space!r}; "
                "sample one with single_action_space.sample()"
            )
        return actions.astype(dtype)

    return encode


def _wrong_shape(space: AnySpace, wanted: tuple[int, ...], actions: Any) -> ValueError:
    return ValueError(f"actions for {space!r} must have shape {wanted}, got {tuple(actions.shape)}")


def _require_kind(space: AnySpace, given: np.dtype[Any]) -> None:
    """Refuse fractions for integers and bools for numbers; float64 is accepted for float32."""
    if given.kind in "iu" or (given.kind != "b" and np.can_cast(given, space.dtype, "same_kind")):  # type: ignore[arg-type]  # of an array space
        return
    raise ValueError(
        f"actions of dtype {given} are not in {space!r}, whose dtype is {space.dtype}; cast them with astype"
    )


def _from_device(space: AnySpace, array: Any, shape: tuple[int, ...]) -> jax.Array:
    dtype: Any = space.dtype
    if array.shape != shape:
        raise _wrong_shape(space, shape, array)
    if not isinstance(array, jax.Array):
        if hasattr(array, "detach"):  # a torch tensor, whose integers have 64 bits by default
            import torch  # type: ignore[import-not-found]  # optional

            if not array.is_floating_point() or dtype.kind == "f":
                array = array.detach().to(getattr(torch, dtype.name)).contiguous()
        array = jax.dlpack.from_dlpack(array, copy=True)  # its owner may write to it while the step is under way
    _require_kind(space, array.dtype)
    return array if array.dtype == dtype else array.astype(dtype)


def _tuple_encoder(space: Tuple) -> Encode:
    parts = [batch_encoder(part) for part in space.spaces]

    def encode(actions: Any, batch_shape: tuple[int, ...]) -> Any:
        if not isinstance(actions, (tuple, list)) or len(actions) != len(parts):
            raise ValueError(f"actions for {space!r} must be a tuple of {len(parts)} batches, got {actions!r}")
        return tuple(encode(action, batch_shape) for encode, action in zip(parts, actions, strict=True))

    return encode


def _dict_encoder(space: Dict) -> Encode:
    parts = {name: batch_encoder(part) for name, part in space.spaces.items()}

    def encode(actions: Any, batch_shape: tuple[int, ...]) -> Any:
        if not isinstance(actions, dict) or set(actions) != set(parts):
            raise ValueError(f"actions for {space!r} must be a dict of batches for {', '.join(parts)}, got {actions!r}")
        return {name: encode(actions[name], batch_shape) for name, encode in parts.items()}

    return encode


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
