"""Conversion of actions that are arrays, or are made of arrays, for one environment or for a batch.

The law for a `Box` of floats is that of Gymnasium's environments: an action beyond the bounds is passed on unchanged,
and the environment decides what it does. Integers beyond their bounds, NaN, wrong shapes and wrong kinds are refused.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.spaces import Dict, Tuple
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray

ROUNDING_STEPS = 8  # distances between neighbouring floats that a computed bound may be off

Encode = Callable[..., Any]  # takes an action and, for a batch, its leading axes


def array_encoder(space: AnySpace, sampler: str) -> Encode:
    """Return a function `encode(actions, batch_shape=())` that checks arrays and casts them to the dtype of the space.

    Actions beyond the bounds of a `Box` of floats are passed on. The function warns of the first of them, unless it is
    so close to a bound that rounding explains it.

    Args:
        space: a space whose members are single arrays, with `bounds`.
        sampler: what draws a member, which error messages recommend.

    The function raises `ValueError` for actions of another shape or kind, for NaN, and for integers beyond the bounds.

    >>> from funcenv.spaces import Box, Discrete
    >>> encode = array_encoder(Box(-1, 1), "sample()")
    >>> encode(np.array([1.0000001])), encode(np.array([[0.5], [-0.5]]), (2,)).shape
    (array([1.0000001], dtype=float32), (2, 1))
    >>> array_encoder(Discrete(2), "sample()")(np.array(2))
    Traceback (most recent call last):
        ...
    ValueError: action 2 is not in Discrete(2); sample one with sample()
    """
    assert space.shape is not None and space.dtype is not None and space.bounds is not None  # of an array space
    shape, dtype = space.shape, np.dtype(space.dtype)
    low, high = space.bounds
    is_float = dtype.kind == "f"
    if is_float:
        margin = _rounding_error(low, high)
        low, high = low - margin, high + margin
    # With a lower bound of 0, one comparison checks both bounds: negative integers are huge as unsigned ones.
    unsigned_high = int(high) if dtype.kind in "iu" and np.ndim(low) == 0 and low == 0 else None
    unsigned = {kind: np.dtype(kind.upper()) for kind in "ilq"}
    has_warned = False

    def encode(actions: NDArray, batch_shape: tuple[int, ...] = ()) -> NDArray:
        if actions.shape != batch_shape + shape:
            raise wrong_shape(space, batch_shape + shape, actions)
        kind = actions.dtype.char
        if unsigned_high is not None and kind in unsigned:
            inside = np.maximum.reduce(actions.view(unsigned[kind]), None) <= unsigned_high
        else:
            require_kind(space, actions.dtype)
            # False for NaN; the search takes half the time of `all`.
            inside = 0 not in ((actions >= low) & (actions <= high)).tobytes()
        if not inside:
            look_at(actions, ~((actions >= low) & (actions <= high)), len(batch_shape))
        return actions.astype(dtype)

    def look_at(actions: NDArray, beyond: NDArray, batch_axes: int) -> None:
        """Refuse what lies beyond the bounds, or warn of it if the environment may take it."""
        nonlocal has_warned
        refused = np.isnan(actions) if is_float else beyond
        chosen = refused if refused.any() else beyond
        index = tuple(np.argwhere(chosen)[0][:batch_axes].tolist())
        where = f"action {actions[index]!s}" + (f" at {list(index)}" if index else "")
        if chosen is refused:
            raise ValueError(f"{where} is not in {space!r}; sample one with {sampler}")
        if not has_warned:
            has_warned = True
            warnings.warn(
                f"{where} lies beyond the bounds of {space!r}; it is passed on, and the environment decides what it "
                "does. This is said once",
                UserWarning,
                stacklevel=5,
            )

    return encode


def tuple_encoder(space: Tuple, parts: list[Encode]) -> Encode:
    """Return a function that converts a tuple of actions, entry by entry; further arguments are passed on."""

    def encode(actions: Any, *batch_shape: tuple[int, ...]) -> Any:
        if not isinstance(actions, (tuple, list)) or len(actions) != len(parts):
            raise ValueError(f"actions for {space!r} must be a tuple of {len(parts)} entries, got {actions!r}")
        return tuple(encode(action, *batch_shape) for encode, action in zip(parts, actions, strict=True))

    return encode


def dict_encoder(space: Dict, parts: dict[str, Encode]) -> Encode:
    """Return a function that converts a dict of actions, entry by entry; further arguments are passed on."""

    def encode(actions: Any, *batch_shape: tuple[int, ...]) -> Any:
        if not isinstance(actions, dict) or set(actions) != set(parts):
            raise ValueError(f"actions for {space!r} must be a dict with {', '.join(parts)}, got {actions!r}")
        return {name: encode(actions[name], *batch_shape) for name, encode in parts.items()}

    return encode


def as_array(space: AnySpace, actions: Any) -> NDArray:
    """Convert actions to an array of whatever dtype.

    Raises:
        ValueError: They are lists of different lengths.
    """
    try:
        return np.asarray(actions)
    except (ValueError, TypeError):
        refuse_traced("step", actions)
        raise ValueError(f"actions for {space!r} must form one array, got {actions!r}") from None


def refuse_traced(call: str, value: Any) -> None:
    """Raise `TypeError` if what a call takes is traced, as it is inside `jax.jit`."""
    if isinstance(value, jax.core.Tracer):
        raise TypeError(
            f"{call} of a stateful environment cannot be called inside jax.jit, vmap or scan, got a traced array; use "
            "the functional environment there, env.get_wrapper_attr('func_env') or funcenv.make(id)"
        )


def wrong_shape(space: AnySpace, wanted: tuple[int, ...], actions: Any) -> ValueError:
    """Return the error that actions do not have the shape that they must have."""
    given = tuple(actions.shape)
    remedy = "one for each environment" if wanted != space.shape else "sample one with action_space.sample()"
    if math.prod(given) == math.prod(wanted):
        remedy = f"write np.reshape(action, {wanted})"
    elif given[1:] == wanted:
        remedy = "it is a batch; pass one row, action[0]"
    return ValueError(f"actions for {space!r} must have shape {wanted}, got {given}; {remedy}")


def require_kind(space: AnySpace, given: np.dtype[Any]) -> None:
    """Refuse fractions for integers and bools for numbers; float64 is accepted for float32."""
    dtype: Any = space.dtype
    if given.kind in "iu" or given == dtype or (given.kind != "b" and np.can_cast(given, dtype, "same_kind")):
        return
    raise ValueError(f"actions of dtype {given} are not in {space!r}, whose dtype is {dtype}; cast them with astype")


def _rounding_error(low: NDArray, high: NDArray) -> NDArray:
    """Return how far rounding may carry an action across its bounds.

    The error of an affine map, such as `RescaleAction`, is relative to the larger of both bounds.
    """
    finite = [np.where(np.isfinite(bound), np.abs(bound), 0) for bound in (low, high)]
    return ROUNDING_STEPS * np.spacing(np.maximum(*finite))
