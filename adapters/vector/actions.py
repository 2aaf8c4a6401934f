"""From a batch of actions that a user holds to an argument of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.spaces import Dict, Space, Tuple

Encode = Callable[[Any, tuple[int, ...]], Any]


def batch_encoder(space: Space[Any]) -> Encode:
    """A function `encode(actions, leading)` that checks a batch of actions and gives it the dtype of their space.

    `leading` is the shape of the batch, which stands before that of the space. Arrays on the host are checked member
    by member. JAX arrays and DLPack tensors are not read, because that would wait for the device: their shape and
    kind are checked, and what an action outside of the space does is what the environment says.

    Raises (when called):
        ValueError: actions of another shape or kind, or one outside of the space, NaN included.

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
    """How many steps a block of actions holds: its first axis.

    Raises:
        ValueError: there is no such axis, or nothing along it.
    """
    leaves = jax.tree.leaves(actions, is_leaf=lambda node: isinstance(node, list))
    shape = tuple(leaves[0].shape) if hasattr(leaves[0], "shape") else np.shape(leaves[0])
    if not shape or not shape[0]:
        raise ValueError(f"a block of actions needs leading axes [num_steps, num_envs], got shape {shape}")
    return int(shape[0])


def _array_encoder(space: Space[Any], low: Any, high: Any) -> Encode:
    assert space.shape is not None and space.dtype is not None  # of an array space
    shape, dtype = space.shape, np.dtype(space.dtype)
    # From 0 on, one comparison looks at both ends: without their signs, negative numbers are huge.
    most = int(high) if dtype.kind in "iu" and np.ndim(low) == 0 and low == 0 else None
    unsigned = {kind: np.dtype(kind.upper()) for kind in "ilq"}

    def encode(actions: Any, leading: tuple[int, ...]) -> Any:
        if type(actions) is not np.ndarray:
            if isinstance(actions, jax.Array) or hasattr(actions, "__dlpack__"):
                return _from_device(space, actions, leading + shape)
            actions = np.asarray(actions)
        if actions.shape != leading + shape:
            raise _wrong_shape(space, leading + shape, actions)
        kind = actions.dtype.char
        if most is not None and kind in unsigned:
            inside = np.maximum.reduce(actions.view(unsigned[kind]), None) <= most
        else:
            _require_kind(space, actions.dtype)
            inside = ((actions >= low) & (actions <= high)).all()  # false for NaN
        if not inside:
            index = tuple(np.argwhere(~((actions >= low) & (actions <= high)))[0][: len(leading)].tolist())
            raise ValueError(
                f"action {actions[index]!s} at {list(index)} is not in {space!r}; "
                "sample one with single_action_space.sample()"
            )
        return actions.astype(dtype)

    return encode


def _wrong_shape(space: Space[Any], wanted: tuple[int, ...], actions: Any) -> ValueError:
    return ValueError(f"actions for {space!r} must have shape {wanted}, got {tuple(actions.shape)}")


def _require_kind(space: Space[Any], given: np.dtype[Any]) -> None:
    """A float64 that a user computed is as good as the float32 it becomes; a fraction for an integer is not."""
    if given.kind in "iu" or (given.kind != "b" and np.can_cast(given, space.dtype, "same_kind")):  # type: ignore[arg-type]  # of an array space
        return
    raise ValueError(
        f"actions of dtype {given} are not in {space!r}, whose dtype is {space.dtype}; cast them with astype"
    )


def _from_device(space: Space[Any], array: Any, shape: tuple[int, ...]) -> jax.Array:
    dtype: Any = space.dtype
    if array.shape != shape:
        raise _wrong_shape(space, shape, array)
    if not isinstance(array, jax.Array):
        if hasattr(array, "detach"):  # of torch, whose integers are of 64 bits
            import torch  # type: ignore[import-not-found]  # optional

            if not array.is_floating_point() or dtype.kind == "f":
                array = array.detach().to(getattr(torch, dtype.name)).contiguous()
        array = jax.dlpack.from_dlpack(array, copy=True)  # its owner may write to it while the step is under way
    _require_kind(space, array.dtype)
    return array if array.dtype == dtype else array.astype(dtype)


def _tuple_encoder(space: Tuple) -> Encode:
    parts = [batch_encoder(part) for part in space.spaces]

    def encode(actions: Any, leading: tuple[int, ...]) -> Any:
        if not isinstance(actions, (tuple, list)) or len(actions) != len(parts):
            raise ValueError(f"actions for {space!r} must be a tuple of {len(parts)} batches, got {actions!r}")
        return tuple(encode(action, leading) for encode, action in zip(parts, actions, strict=True))

    return encode


def _dict_encoder(space: Dict) -> Encode:
    parts = {name: batch_encoder(part) for name, part in space.spaces.items()}

    def encode(actions: Any, leading: tuple[int, ...]) -> Any:
        if not isinstance(actions, dict) or set(actions) != set(parts):
            raise ValueError(f"actions for {space!r} must be a dict of batches for {', '.join(parts)}, got {actions!r}")
        return {name: encode(actions[name], leading) for name, encode in parts.items()}

    return encode


def _any_encoder(space: Space[Any]) -> Encode:
    once = jax.jit(jax.vmap(space.contains))
    twice = jax.jit(jax.vmap(jax.vmap(space.contains)))

    def encode(actions: Any, leading: tuple[int, ...]) -> Any:
        given = [np.shape(leaf)[: len(leading)] for leaf in jax.tree.leaves(actions)]
        if any(axes != leading for axes in given):
            raise ValueError(f"actions for {space!r} must have leading axes {leading}, got {given}")
        if not np.all(once(actions) if len(leading) == 1 else twice(actions)):
            raise ValueError(
                f"actions {actions!r} are not all in {space!r}; sample one with single_action_space.sample()"
            )
        return actions

    return encode
