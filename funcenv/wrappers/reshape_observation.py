"""Change the shape of observations."""

from __future__ import annotations

import math
import operator

import jax.numpy as jnp
from jaxtyping import Array, Shaped

from funcenv.func_env import Action, State
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers.single import require_box, single
from funcenv.wrappers.transform_observation import ObservationWrapper


class ReshapeObservation(ObservationWrapper[State, Action, Shaped[Array, "*shape"]]):
    """Gives observations another shape, elements in C order.

    It has no state and may stand anywhere; outside `FrameStackObservation` the shape includes the stack.

    Args:
        env: an environment with a `Box` of observations.
        shape: the new shape, with as many elements as the old one: an integer or a tuple of them.

    Raises:
        TypeError: another kind of space, or a shape that is not made of integers.
        ValueError: another number of elements.

    >>> import funcenv
    >>> env = ReshapeObservation(funcenv.make("CartPole-v1"), (2, 2))
    >>> env.reset(funcenv.key(0))[1].observation.shape
    (2, 2)
    """

    shape: int | tuple[int, ...] = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        box = require_box("ReshapeObservation", single(self.env), "observation_space")
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
        """The same elements in the new shape."""
        return jnp.reshape(observation, self.shape)

    @property
    def observation_space(self) -> Box:
        """The same bounds in the new shape."""
        box = require_box("ReshapeObservation", self.env, "observation_space")
        return Box(box.low.reshape(self.shape), box.high.reshape(self.shape), self.shape, box.dtype)
