"""Wrappers that change rewards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_ordered
from funcenv.func_env import Action, Obs, State, reward_bounds
from funcenv.struct import field
from funcenv.wrappers.base import Wrapper


class RewardWrapper(Wrapper[State, Action, Obs]):
    """A wrapper that changes rewards; a subclass defines `outer_reward`, and `reward_range` if the rewards are bounded.

    Wrappers outside that sum rewards (`RepeatAction`, `MaxAndSkipObservation`, `EpisodeStatistics`) sum the changed
    ones.

    >>> import funcenv
    >>> class Doubled(RewardWrapper):
    ...     def outer_reward(self, reward):
    ...         return 2 * reward
    >>> env = Doubled(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 0, funcenv.key(1))[1].reward)
    2.0
    """

    def outer_reward(self, reward: Float[Array, ""]) -> Float[Array, ""]:
        """Return the agent's reward for a reward of the environment inside."""
        raise NotImplementedError(f"{type(self).__name__} must define outer_reward(reward)")

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """Return the changed reward of a transition."""
        return self.outer_reward(jnp.asarray(self.env.reward(self.inner(state), action, self.inner(next_state))))


class TransformReward(RewardWrapper[State, Action, Obs]):
    """Applies a function to every reward.

    It may be anywhere in a stack. The reward 0 of a reset is not a reward of the environment, and stays 0. For a
    function with parameters, write a `RewardWrapper` with the parameters as fields, because the function is static:
    another function recompiles.

    Args:
        env: the environment.
        func: a traceable function from a scalar reward to a scalar reward.

    >>> import funcenv
    >>> env = TransformReward(funcenv.make("CartPole-v1"), lambda reward: 2 * reward + 1)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 0, funcenv.key(1))[1].reward)
    3.0
    """

    func: Callable[[Any], Any] = field(pytree_node=False)

    def outer_reward(self, reward: Float[Array, ""]) -> Float[Array, ""]:
        """Apply the function."""
        return self.func(reward)


class ClipReward(RewardWrapper[State, Action, Obs]):
    """Clips rewards to `[min_reward, max_reward]`.

    It may be anywhere in a stack: inside `RepeatAction` it clips every reward, outside the sum.

    Args:
        env: the environment.
        min_reward: the lower bound, or None for no bound. A parameter.
        max_reward: the upper bound, or None for no bound. A parameter.

    Raises:
        ValueError: Neither bound is given, or `min_reward > max_reward`.

    >>> import funcenv
    >>> env = ClipReward(funcenv.make("CartPole-v1"), 0.0, 0.5)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 0, funcenv.key(1))[1].reward)
    0.5
    """

    min_reward: float | None = None
    max_reward: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_reward is None and self.max_reward is None:
            raise ValueError("ClipReward needs min_reward or max_reward, got neither; leave the wrapper out")
        require_ordered("min_reward", self.min_reward, "max_reward", self.max_reward)

    def outer_reward(self, reward: Float[Array, ""]) -> Float[Array, ""]:
        """Clip the reward to the bounds; an integer reward becomes a float."""
        real = reward if jnp.issubdtype(reward.dtype, jnp.floating) else reward.astype(float)
        bounds = (self.min_reward, self.max_reward)
        return jnp.clip(real, *(None if bound is None else jnp.asarray(bound, real.dtype) for bound in bounds))

    @property
    def reward_range(self) -> tuple[float, float]:
        """The inner range, clipped."""
        return reward_bounds(
            *(np.clip(np.asarray(end), self.min_reward, self.max_reward) for end in self.env.reward_range)
        )
