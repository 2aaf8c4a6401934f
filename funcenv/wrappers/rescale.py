"""Rescale actions or observations from one `Box` to another."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_ordered
from funcenv.func_env import Action, Obs, State
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env, require_box
from funcenv.wrappers.transform_action import ActionWrapper
from funcenv.wrappers.transform_observation import ObservationWrapper


class RescaleAction(ActionWrapper[State, Float[Array, "*shape"], Obs]):
    """Maps actions from `[min_action, max_action]` to the bounds of the environment's `Box`.

    Actions outside the bounds are mapped by the same formula; put `ClipAction` outside to clip them. `ClipAction`
    inside is refused, because its space is unbounded. The bounds of the environment may depend on its parameters, which
    may be batched; put `RandomizeParameters` outside to follow drawn bounds.

    Args:
        env: an environment with a bounded `Box` of real-valued actions.
        min_action: the action that maps to the lower bound: a number, or an array of the shape of an action. The field
            holds a flat array with one number for each element.
        max_action: the action that maps to the upper bound, greater than `min_action`.

    Raises:
        TypeError: The actions are not a `Box` of floats.
        ValueError: The bounds have another shape, or not `min_action < max_action`, or a finite bound maps to an
            infinite one.

    >>> import funcenv, jax.numpy as jnp
    >>> env = RescaleAction(funcenv.make("Pendulum-v1"), min_action=0.0, max_action=1.0)
    >>> env.action_space
    Box(0.0, 1.0, (1,), float32)
    >>> env.inner_action(jnp.array([0.75]))
    Array([1.], dtype=float32)
    """

    min_action: Any = field(ndim=1)
    max_action: Any = field(ndim=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _set_bounds(self, "action_space", "min_action", "max_action")
        low, high = self.min_action, self.max_action
        if isinstance(low, np.ndarray) and isinstance(high, np.ndarray) and (low == high).any():
            raise ValueError(f"min_action must be below max_action, got {low} and {high}: one point has no inverse")

    def inner_action(self, action: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Map the action to the inner bounds."""
        own, inside = self.action_space, require_box(self, "action_space")
        return rescale(jnp.asarray(action, own.dtype), own, inside)

    @property
    def action_space(self) -> Box:
        """The inner space with the given bounds."""
        return _with_bounds(require_box(self, "action_space"), self.min_action, self.max_action)


class RescaleObservation(ObservationWrapper[State, Action, Float[Array, "*shape"]]):
    """Maps observations from the bounds of the environment's `Box` to `[min_obs, max_obs]`.

    Elements that are unbounded on both sides are unchanged, and those unbounded on one side are shifted. Put
    `DtypeObservation(env, "float32")` inside if observations are integers.

    Args:
        env: an environment with a `Box` of real-valued observations.
        min_obs: the value that the lower bound maps to: a number, or an array of the shape of an observation, infinite
            where the lower bound is. The field holds a flat array with one number for each element.
        max_obs: the value that the upper bound maps to.

    Raises:
        TypeError: The observations are not a `Box` of floats.
        ValueError: The bounds have another shape, or `min_obs > max_obs`, or a finite bound maps to an infinite one.

    >>> import funcenv
    >>> env = RescaleObservation(funcenv.make("Pendulum-v1"), 0.0, 1.0)
    >>> env.observation_space
    Box(0.0, 1.0, (3,), float32)
    """

    min_obs: Any = field(ndim=1)
    max_obs: Any = field(ndim=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _set_bounds(self, "observation_space", "min_obs", "max_obs")

    def outer_observation(self, observation: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Map the observation to the given bounds."""
        inside = require_box(self, "observation_space")
        return rescale(jnp.asarray(observation, inside.dtype), inside, self.observation_space)

    @property
    def observation_space(self) -> Box:
        """The inner space with the given bounds."""
        return _with_bounds(require_box(self, "observation_space"), self.min_obs, self.max_obs)


def rescale(x: Float[Array, "*shape"], source: Box, target: Box) -> Float[Array, "*shape"]:
    """Apply the affine map that takes the bounds of one box to those of another, element by element.

    Bounds map to bounds exactly, and values between them stay between them despite rounding. The map is a shift for
    elements with one open side, and the identity for elements with two.

    >>> rescale(jnp.array([-1.2, 0.6]), Box([-1.2, -1.2], [0.6, 0.6]), Box(-1, 1, (2,)))
    Array([-1.,  1.], dtype=float32)
    """
    below, above = jnp.asarray(source.bounded_below), jnp.asarray(source.bounded_above)
    low, high = _finite(source.low, below), _finite(source.high, above)
    target_low, target_high = _finite(target.low, below), _finite(target.high, above)

    width = high / 2 - low / 2  # the halves cannot overflow
    part = (x / 2 - low / 2) / jnp.where(below & above & (width > 0), width, 1)
    scaled = target_low * (1 - part) + target_high * part
    scaled = jnp.where((low <= x) & (x <= high), jnp.clip(scaled, target_low, target_high), scaled)
    shifted = x + jnp.where(below, target_low - low, target_high - high)
    return jnp.where(below & above, scaled, shifted)


def _finite(bound: Any, known: jax.Array) -> jax.Array:
    """Replace missing bounds by 0, so that no infinities are subtracted."""
    bound = jnp.asarray(bound)
    return jnp.where(known, bound, jnp.zeros_like(bound))


def _with_bounds(box: Box, low: Any, high: Any) -> Box:
    return Box(low.reshape(box.shape), high.reshape(box.shape), box.shape, box.dtype)


def _set_bounds(wrapper: Any, space: str, low_name: str, high_name: str) -> None:
    """Check the new bounds, and set the fields to flat arrays with one number for each element, or batches of those."""
    name = type(wrapper).__name__
    box = require_box(wrapper, space, first_env(wrapper.env))
    if box.dtype.kind != "f":
        raise TypeError(f'{name} needs a {space} of floats, got {box!r}; put DtypeObservation(env, "float32") inside')
    for key in (low_name, high_name):
        object.__setattr__(wrapper, key, _flat(f"{name}'s {key}", getattr(wrapper, key), box))
    low, high = getattr(wrapper, low_name), getattr(wrapper, high_name)
    require_ordered(low_name, low, high_name, high)
    for key, new, old in ((low_name, low, box.low), (high_name, high, box.high)):
        if isinstance(new, np.ndarray) and isinstance(old, np.ndarray) and new.ndim == 1:
            old = old.reshape(-1)
            if ((np.isinf(new) | np.isinf(old)) & (new != old)).any():
                raise ValueError(
                    f"{key} must be infinite where the {space} inside is, and only there, got {new} for {old}; "
                    f"bound the {space} first (ClipAction goes outside {name})"
                )


def _flat(name: str, value: Any, box: Box) -> Any:
    size = int(np.prod(box.shape))
    array = value if isinstance(value, jax.Array) else np.asarray(value, float)
    if isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer):
        array = np.asarray(array)
    if array.shape == (size,) or (array.ndim == 2 and array.shape[1] == size and array.shape != box.shape):
        return array
    if array.shape in ((), box.shape):
        xp: Any = jnp if isinstance(array, jax.Array) else np
        return xp.broadcast_to(array, box.shape).reshape(-1)
    raise ValueError(f"{name} must be a number or have the shape {box.shape}, got shape {array.shape}")
