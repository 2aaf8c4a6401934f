"""Pay the agent something made of the reward."""

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
    """A wrapper that changes rewards: a subclass defines `outer_reward`, and `reward_range` where it is bounded.

    Wrappers outside of it that add rewards up (`RepeatAction`, `MaxAndSkipObservation`, `EpisodeStatistics`) add the
    changed ones.

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
        """What the agent is paid for a reward of the environment inside."""
        raise NotImplementedError(f"{type(self).__name__} must define outer_reward(reward)")

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """The reward of a transition."""
        return self.outer_reward(jnp.asarray(self.env.reward(self.inner(state), action, self.inner(next_state))))


class TransformReward(RewardWrapper[State, Action, Obs]):
    """Applies a function to every reward.

    It has no state and may stand anywhere; wrappers outside that add rewards up add the function's values. The 0 of a
    reset is no reward and stays 0. Where the function has parameters of its own, write a `RewardWrapper`
    with them as fields: a function is a compile-time choice, and another one compiles anew.

    Args:
        env: the environment.
        func: `func(reward) -> reward`, of scalars, in JAX.

    >>> import funcenv
    >>> env = TransformReward(funcenv.make("CartPole-v1"), lambda reward: 2 * reward + 1)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 0, funcenv.key(1))[1].reward)
    3.0
    """

    func: Callable[[Any], Any] = field(pytree_node=False)

    def outer_reward(self, reward: Float[Array, ""]) -> Float[Array, ""]:
        """The function's value."""
        return self.func(reward)


class ClipReward(RewardWrapper[State, Action, Obs]):
    """Clips rewards to `[min_reward, max_reward]`.

    It has no state and may stand anywhere: inside `RepeatAction` it clips every reward of a series, outside the sum.

    Args:
        env: the environment.
        min_reward: the least reward, or None for no such bound. A parameter.
        max_reward: the greatest reward, or None. A parameter.

    Raises:
        ValueError: neither bound is given, or `min_reward > max_reward`.

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
        """The nearest reward within the bounds; an integer reward becomes a float."""
        real = reward if jnp.issubdtype(reward.dtype, jnp.floating) else reward.astype(float)
        bounds = [None if bound is None else jnp.asarray(bound, real.dtype) for bound in self._bounds]
        return jnp.clip(real, *bounds)

    @property
    def reward_range(self) -> tuple[float, float]:
        """That of the environment inside, clipped."""
        ends = [np.asarray(end) for end in self.env.reward_range]
        lowest, highest = (np.clip(end, *self._bounds) for end in ends)
        return reward_bounds(lowest, highest)

    @property
    def _bounds(self) -> tuple[float | None, float | None]:
        return self.min_reward, self.max_reward
