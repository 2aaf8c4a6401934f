"""Wrappers that change observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from funcenv.func_env import Action, Obs, State
from funcenv.struct import field
from funcenv.wrappers._spaces import InheritedSpace, first_env, require_member
from funcenv.wrappers.base import Wrapper


class ObservationWrapper(Wrapper[State, Action, Obs]):
    """A wrapper that changes observations; a subclass defines `outer_observation`, and the space if it changes.

    >>> import funcenv
    >>> class Halved(ObservationWrapper):
    ...     def outer_observation(self, observation):
    ...         return observation / 2
    >>> state, timestep = Halved(funcenv.make("CartPole-v1")).reset(funcenv.key(0))
    """

    def outer_observation(self, observation: Any) -> Obs:
        """Return what the agent observes for an observation of the environment inside."""
        raise NotImplementedError(f"{type(self).__name__} must define outer_observation(observation)")

    def observation(self, state: State, key: jax.Array) -> Obs:
        """Return what the agent observes in a state."""
        return self.outer_observation(self.env.observation(self.inner(state), key))


class TransformObservation(ObservationWrapper[State, Action, Obs]):
    """Applies a function to every observation.

    It may be anywhere in a stack. For a function with parameters, write an `ObservationWrapper` with the parameters as
    fields, because the function is static: another function recompiles.

    Args:
        env: the environment.
        func: a traceable function of one observation, which returns the new observation.
        observation_space: the space of the new observations; by default the observation space of `env`.

    Raises:
        ValueError: The function returns another structure, shape or dtype than the space has.

    >>> import funcenv
    >>> position = funcenv.spaces.Box(-4.8, 4.8, (1,))
    >>> env = TransformObservation(funcenv.make("CartPole-v1"), lambda observation: observation[:1], position)
    >>> env.reset(funcenv.key(0))[1].observation.shape
    (1,)
    """

    func: Callable[[Any], Any] = field(pytree_node=False)
    observation_space: Any = field(pytree_node=False, default=InheritedSpace())

    def __post_init__(self) -> None:
        super().__post_init__()
        first = first_env(self)
        returned = jax.eval_shape(self.func, first.env.observation_space.abstract_member())
        remedy = "cast or reshape what it returns, or pass the observation_space that it has"
        require_member("TransformObservation", returned, "observation_space", first.observation_space, remedy)

    def outer_observation(self, observation: Any) -> Obs:
        """Apply the function."""
        return self.func(observation)
