"""Wrappers that change the observations, actions and rewards of any stateful environment.

They follow the pure wrappers of the same names in `funcenv.wrappers`, with which they share the rules and the spaces. A
pure wrapper goes inside of `FunctionalEnv` and is compiled with the environment, so it is faster; these go around
environments that are written by hand, and around those of `make`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import numpy as np

from funcenv import wrappers as pure
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.member_function import MemberFunction
from funcenv.adapters.wrappers.wrapper import (
    ActionWrapper,
    ObservationWrapper,
    RewardWrapper,
    WrapperActType,
    WrapperObsType,
)
from funcenv.struct import NDArray


class TransformObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that applies a function to every observation.

    Args:
        env: Environment to wrap.
        func: Function from an observation to the new observation; it need not be traceable.
        observation_space: Space of the new observations; by default that of `env`.

    >>> from funcenv import adapters
    >>> env = TransformObservation(adapters.make("CartPole-v1"), lambda observation: abs(observation))
    >>> bool((env.reset(seed=0)[0] >= 0).all())
    True
    """

    def __init__(self, env: Env[Any, Any], func: Callable[[Any], Any], observation_space: Any = None) -> None:
        super().__init__(env)
        self.func = func
        if observation_space is not None:
            self.observation_space = observation_space

    def observation(self, observation: Any) -> Any:
        """Apply the function."""
        return self.func(observation)


class TransformAction(ActionWrapper[ObsType, WrapperActType, ActType]):
    """A wrapper that applies a function to every action.

    Args:
        env: Environment to wrap.
        func: Function from an action of the agent to an action of `env`; it need not be traceable.
        action_space: Space of the agent's actions; by default that of `env`.

    >>> from funcenv import adapters
    >>> env = TransformAction(adapters.make("CartPole-v1"), lambda action: 1 - action)
    >>> _ = env.reset(seed=0)
    >>> bool(env.step(0)[0][1] > 0)
    True
    """

    def __init__(self, env: Env[Any, Any], func: Callable[[Any], Any], action_space: Any = None) -> None:
        super().__init__(env)
        self.func = func
        if action_space is not None:
            self.action_space = action_space

    def action(self, action: Any) -> Any:
        """Apply the function."""
        return self.func(action)


class ClipAction(ActionWrapper[ObsType, WrapperActType, ActType]):
    """A wrapper that accepts any real vector as an action, and clips it to the bounds of the environment's `Box`.

    Args:
        env: Environment with a `Box` of actions.

    Raises:
        TypeError: The actions are not a `Box`.

    >>> from funcenv import adapters
    >>> env = ClipAction(adapters.make("Pendulum-v1"))
    >>> env.action_space, env.action(np.array([5.0]))
    (Box(-inf, inf, (1,), float32), array([2.], dtype=float32))
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = pure.ClipAction(described(self, env)).action_space

    def action(self, action: Any) -> Any:
        """Clip the action to the bounds, in the dtype of the space."""
        inside = self.env.action_space
        return np.clip(np.asarray(action, inside.dtype), inside.low, inside.high)


class PureAction(ActionWrapper[ObsType, WrapperActType, ActType]):
    """A wrapper that changes actions as a pure wrapper does; a subclass says which one.

    Args:
        env: Environment to wrap, with spaces of `funcenv.adapters.spaces`.
        **arguments: Those of the pure wrapper.

    Attributes:
        compiled: The function from an action of the agent to one of `env`.
    """

    pure_class: ClassVar[Any]

    def __init__(self, env: Env[Any, Any], **arguments: Any) -> None:
        super().__init__(env)
        with jax.enable_x64(True):
            wrapped = self.pure_class(described(self, env), **arguments)
            inside, outside = wrapped.env.action_space, wrapped.action_space
        self._pure, self.action_space = wrapped, outside
        self.compiled = MemberFunction(wrapped.inner_action, outside, inside)

    def action(self, action: Any) -> Any:
        """Return the action of the environment."""
        return self.compiled(action)


class RescaleAction(PureAction[ObsType, WrapperActType, ActType]):
    """A wrapper that maps actions from `[min_action, max_action]` to the bounds of the environment's `Box`.

    It is `funcenv.wrappers.RescaleAction` for stateful environments.

    Args:
        env: Environment with a bounded `Box` of real-valued actions.
        min_action: Action that maps to the lower bound: a number, or an array of the shape of an action.
        max_action: Action that maps to the upper bound.

    Raises:
        TypeError: The actions are not a `Box` of floats.
        ValueError: The bounds have another shape, or not `min_action < max_action`, or a finite bound maps to an
            infinite one.

    >>> from funcenv import adapters
    >>> env = RescaleAction(adapters.make("Pendulum-v1"), min_action=0, max_action=1)
    >>> env.action_space, env.action(np.array([0.75]))
    (Box(0.0, 1.0, (1,), float32), array([1.], dtype=float32))
    """

    pure_class: ClassVar[Any] = pure.RescaleAction

    def __init__(self, env: Env[Any, Any], min_action: Any, max_action: Any) -> None:
        super().__init__(env, min_action=min_action, max_action=max_action)


class DiscretizeAction(PureAction[ObsType, WrapperActType, ActType]):
    """A wrapper that lets the agent choose a bin of each element of a bounded `Box` of actions.

    It is `funcenv.wrappers.DiscretizeAction` for stateful environments: the action is the middle of the bin.

    Args:
        env: Environment with a bounded `Box` of actions.
        bins: Number of bins of every element, or a tuple with one number for each, in C order.
        multidiscrete: Whether actions are a `MultiDiscrete` with one number for each element, instead of a single
            `Discrete`.

    Raises:
        TypeError: The actions are not a `Box`, or a number of bins is not an integer.
        ValueError: The box has an open side, a number of bins is below 1, `bins` has a wrong length, or there are more
            combinations than 32 bits can count.

    >>> from funcenv import adapters
    >>> env = DiscretizeAction(adapters.make("Pendulum-v1"), bins=4)
    >>> env.action_space, env.action(3), env.revert_action(np.array([1.2]))
    (Discrete(4), array([1.5], dtype=float32), array(3, dtype=int32))
    """

    pure_class: ClassVar[Any] = pure.DiscretizeAction

    def __init__(self, env: Env[Any, Any], bins: int | tuple[int, ...], multidiscrete: bool = False) -> None:
        super().__init__(env, bins=bins, multidiscrete=multidiscrete)
        self.bins, self.multidiscrete = bins, multidiscrete

    def revert_action(self, action: Any) -> NDArray:
        """Return the bins that contain an action of the environment."""
        with jax.enable_x64(True):
            return np.asarray(self._pure.revert_action(np.asarray(action, self.env.action_space.dtype)))


class TransformReward(RewardWrapper[ObsType, ActType]):
    """A wrapper that applies a function to every reward.

    Args:
        env: Environment to wrap.
        func: Function from a reward to the new reward; it need not be traceable.

    >>> from funcenv import adapters
    >>> env = TransformReward(adapters.make("CartPole-v1"), lambda reward: 2 * reward + 1)
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1]
    3.0
    """

    def __init__(self, env: Env[Any, Any], func: Callable[[Any], Any]) -> None:
        super().__init__(env)
        self.func = func

    def reward(self, reward: float) -> float:
        """Apply the function."""
        changed: float = self.func(reward)
        return changed


class ClipReward(RewardWrapper[ObsType, ActType]):
    """A wrapper that clips rewards to `[min_reward, max_reward]`.

    Args:
        env: Environment to wrap.
        min_reward: Lower bound, or None for no bound.
        max_reward: Upper bound, or None for no bound.

    Raises:
        ValueError: Neither bound is given, or `min_reward > max_reward`.

    >>> from funcenv import adapters
    >>> env = ClipReward(adapters.make("CartPole-v1"), 0.0, 0.5)
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1], env.reward_range
    (0.5, (0.5, 0.5))
    """

    def __init__(self, env: Env[Any, Any], min_reward: float | None = None, max_reward: float | None = None) -> None:
        super().__init__(env)
        self.reward_range = pure.ClipReward(described(self, env), min_reward, max_reward).reward_range
        self.min_reward, self.max_reward = min_reward, max_reward

    def reward(self, reward: float) -> float:
        """Clip the reward."""
        return float(np.clip(reward, self.min_reward, self.max_reward))
