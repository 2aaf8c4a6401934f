"""Reshape observations."""

from __future__ import annotations

import math
import operator

import jax.numpy as jnp
from jaxtyping import Array, Shaped

from funcenv.func_env import Action, State
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env, require_box
from funcenv.wrappers.transform_observation import ObservationWrapper


class ReshapeObservation(ObservationWrapper[State, Action, Shaped[Array, "*shape"]]):
    """Reshapes observations, with elements in C order.

    It may be anywhere in a stack; outside `FrameStackObservation` the shape includes the axis of frames.

    Args:
        env: an environment with a `Box` of observations.
        shape: the new shape, an integer or a tuple of integers, with as many elements as the old one.

    Raises:
        TypeError: The observations are not a `Box`, or the shape is not made of integers.
        ValueError: The shape has another number of elements.

    >>> import funcenv
    >>> env = ReshapeObservation(funcenv.make("CartPole-v1"), (2, 2))
    >>> env.reset(funcenv.key(0))[1].observation.shape
    (2, 2)
    """

    shape: int | tuple[int, ...] = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        box = require_box(self, "observation_space", first_env(self.env))
        sizes = self.shape if isinstance(self.shape, (tuple, list)) else (self.shape,)
        try:
            shape = tuple(operator.index(size) for size in sizes)
        except TypeError:
            raise TypeError(f"shape must be an integer or a tuple of integers, got {self.shape!r}") from None
        if min(shape, default=0) < 0 or math.prod(shape) != math.prod(box.shape):
            raise ValueError(
                f"shape must have {math.prod(box.shape)} elements, as observations of shape {box.shape} do, got {shape}"
            )
        object.__setattr__(self, "shape", shape)

    def outer_observation(self, observation: Shaped[Array, "..."]) -> Shaped[Array, "*shape"]:
        """Reshape the observation."""
        return jnp.reshape(observation, self.shape)

    @property
    def observation_space(self) -> Box:
        """The inner bounds in the new shape."""
        box = require_box(self, "observation_space")
        return Box(box.low.reshape(self.shape), box.high.reshape(self.shape), self.shape, box.dtype)
