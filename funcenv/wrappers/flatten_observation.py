"""Flatten observations to vectors."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Shaped

from funcenv.func_env import Action, State
from funcenv.spaces import flatten, flatten_space
from funcenv.spaces.space import AnySpace
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.transform_observation import ObservationWrapper


class FlattenObservation(ObservationWrapper[State, Action, Shaped[Array, "size"]]):
    """Flattens observations as `funcenv.spaces.flatten` does: integers become one-hot, and entries are joined.

    It may be anywhere in a stack; outside `FrameStackObservation` it flattens all frames to one vector.

    Args:
        env: the environment.

    >>> import funcenv
    >>> env = FlattenObservation(funcenv.wrappers.FrameStackObservation(funcenv.make("CartPole-v1"), 3))
    >>> env.observation_space.shape, env.reset(funcenv.key(0))[1].observation.shape
    ((12,), (12,))
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        flatten_space(first_env(self.env).observation_space)  # raises an error for a space without a flat form

    def outer_observation(self, observation: Any) -> Shaped[Array, "size"]:
        """Flatten the observation."""
        return flatten(self.env.observation_space, observation)

    @property
    def observation_space(self) -> AnySpace:
        """The space of the flat observations."""
        return flatten_space(self.env.observation_space)
