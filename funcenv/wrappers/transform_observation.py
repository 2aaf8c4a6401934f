"""Show the agent something made of the observation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import jax

from funcenv.func_env import Action, Obs, State
from funcenv.struct import field
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.own_space import InheritedSpace
from funcenv.wrappers.single import abstract, require_member, single


class ObservationWrapper(Wrapper[State, Action, Obs]):
    """A wrapper that changes observations: a subclass defines `outer_observation`, and the space if that changes.

    >>> import funcenv
    >>> class Halved(ObservationWrapper):
    ...     def outer_observation(self, observation):
    ...         return observation / 2
    >>> state, timestep = Halved(funcenv.make("CartPole-v1")).reset(funcenv.key(0))
    """

    def outer_observation(self, observation: Any) -> Obs:
        """What the agent sees of an observation of the environment inside."""
        raise NotImplementedError(f"{type(self).__name__} must define outer_observation(observation)")

    def observation(self, state: State, key: jax.Array) -> Obs:
        """What the agent sees of a state."""
        return self.outer_observation(self.env.observation(self.inner(state), key))


class TransformObservation(ObservationWrapper[State, Action, Obs]):
    """Applies a function to every observation.

    It has no state and may stand anywhere in a stack. Where the function has parameters of its own, write an
    `ObservationWrapper` with them as fields: a function is a compile-time choice, and another one compiles anew.

    Args:
        env: the environment.
        func: `func(observation) -> observation`, of one observation, in JAX.
        observation_space: what the function returns; by default the observation space of `env`.

    Raises:
        ValueError: the function returns another structure, shape or dtype than the space has.

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
        alone = single(self)
        returned = jax.eval_shape(self.func, abstract(alone.env.observation_space))
        remedy = "cast or reshape what it returns, or pass the observation_space that it has"
        require_member("TransformObservation", returned, "observation_space", alone.observation_space, remedy)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; a space that was left out is the new environment's."""
        return super().replace(**{"observation_space": vars(self)["observation_space"], **changes})

    def outer_observation(self, observation: Any) -> Obs:
        """The function's value."""
        return self.func(observation)
