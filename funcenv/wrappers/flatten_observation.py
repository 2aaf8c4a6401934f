"""Lay every part of an observation out in one vector."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Shaped

from funcenv.func_env import Action, State
from funcenv.spaces import Space, flatten, flatten_space
from funcenv.wrappers.single import single
from funcenv.wrappers.transform_observation import ObservationWrapper


class FlattenObservation(ObservationWrapper[State, Action, Shaped[Array, "size"]]):
    """Flattens observations as `funcenv.spaces.flatten` does: one-hot integers, dicts and tuples end to end.

    It has no state and may stand anywhere; outside `FrameStackObservation` it flattens the whole stack.

    Args:
        env: the environment.

    >>> import funcenv
    >>> env = FlattenObservation(funcenv.wrappers.FrameStackObservation(funcenv.make("CartPole-v1"), 3))
    >>> env.observation_space.shape, env.reset(funcenv.key(0))[1].observation.shape
    ((12,), (12,))
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        flatten_space(single(self.env).observation_space)  # refuses what has no flat form

    def outer_observation(self, observation: Any) -> Shaped[Array, "size"]:
        """The flat vector."""
        return flatten(self.env.observation_space, observation)

    @property
    def observation_space(self) -> Space[Any]:
        """The space of the flat vectors."""
        return flatten_space(self.env.observation_space)
