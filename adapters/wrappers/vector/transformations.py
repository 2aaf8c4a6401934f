"""Wrappers that change the observations, actions and rewards of any vector environment.

`VectorizeTransform...` applies a wrapper of `funcenv.adapters.wrappers` to each environment of a batch; those that
follow a pure wrapper change the whole batch in one compiled call.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.adapters.engine.batching import member_rows, stack_members
from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.spaces.space import Space
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers import transformations as single
from funcenv.adapters.wrappers.observations import PureObservation
from funcenv.adapters.wrappers.vector.wrapper import (
    OneOfMany,
    VectorActionWrapper,
    VectorObservationWrapper,
    VectorRewardWrapper,
)
from funcenv.adapters.wrappers.wrapper import ActionWrapper, ObservationWrapper, RewardWrapper
from funcenv.spaces import batch_space


class TransformObservation(VectorObservationWrapper[ObsType, ActType]):
    """A wrapper that applies a function to every batch of observations.

    Args:
        env: Vector environment to wrap.
        func: Function from a batch of observations to the new batch; it need not be traceable.
        observation_space: Space of the new batches; by default that of `env`, or of a batch of
            `single_observation_space`.
        single_observation_space: Space of one new observation; by default that of `env`.

    >>> from funcenv import adapters
    >>> envs = TransformObservation(adapters.make_vec("CartPole-v1", 2), abs)
    >>> bool((envs.reset(seed=0)[0] >= 0).all())
    True
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any],
        func: Callable[[Any], Any],
        observation_space: Any = None,
        single_observation_space: Any = None,
    ) -> None:
        super().__init__(env)
        self.func = func
        if single_observation_space is not None:
            self.single_observation_space = single_observation_space
            self.observation_space = _batched(self.single_observation_space, self.num_envs)
        if observation_space is not None:
            self.observation_space = observation_space
        _warn_of_other_batches("observation_space", self.observation_space, self.single_observation_space, self)

    def observations(self, observations: Any) -> Any:
        """Apply the function."""
        return self.func(observations)


class TransformAction(VectorActionWrapper[ObsType, ActType]):
    """A wrapper that applies a function to every batch of actions.

    Args:
        env: Vector environment to wrap.
        func: Function from a batch of the agents' actions to one of `env`; it need not be traceable.
        action_space: Space of the agents' batches; by default that of `env`, or of a batch of `single_action_space`.
        single_action_space: Space of one action of an agent; by default that of `env`.

    >>> from funcenv import adapters
    >>> envs = TransformAction(adapters.make_vec("CartPole-v1", 2), lambda actions: 1 - actions)
    >>> _ = envs.reset(seed=0)
    >>> (envs.step(np.array([0, 1]))[0][:, 1] > 0).tolist()
    [True, False]
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any],
        func: Callable[[Any], Any],
        action_space: Any = None,
        single_action_space: Any = None,
    ) -> None:
        super().__init__(env)
        self.func = func
        if single_action_space is not None:
            self.single_action_space = single_action_space
            self.action_space = _batched(self.single_action_space, self.num_envs)
        if action_space is not None:
            self.action_space = action_space
        _warn_of_other_batches("action_space", self.action_space, self.single_action_space, self)

    def actions(self, actions: Any) -> Any:
        """Apply the function."""
        return self.func(actions)


class TransformReward(VectorRewardWrapper[ObsType, ActType]):
    """A wrapper that applies a function to the rewards of every step.

    Args:
        env: Vector environment to wrap.
        func: Function from the rewards `[num_envs]` to the new rewards; it need not be traceable.

    >>> from funcenv import adapters
    >>> envs = TransformReward(adapters.make_vec("CartPole-v1", 2), lambda rewards: 2 * rewards)
    >>> _ = envs.reset(seed=0)
    >>> envs.step(np.array([0, 1]))[1].tolist()
    [2.0, 2.0]
    """

    def __init__(self, env: VectorEnv[Any, Any], func: Callable[[Any], Any]) -> None:
        super().__init__(env)
        self.func = func

    def rewards(self, rewards: Any) -> Any:
        """Apply the function."""
        return self.func(rewards)


class VectorizeTransformObservation(VectorObservationWrapper[ObsType, ActType]):
    """A wrapper that changes the observation of each environment as a wrapper of a single environment does.

    Args:
        env: Vector environment to wrap.
        wrapper: Class of `funcenv.adapters.wrappers` that changes each observation by itself, such as
            `FlattenObservation` or `TransformObservation`.
        **kwargs: Its other arguments.

    Raises:
        TypeError: `wrapper` is not such a class, or the vector has spaces of its own kind.

    >>> from funcenv import adapters
    >>> envs = VectorizeTransformObservation(
    ...     adapters.make_vec("CartPole-v1", 2), adapters.wrappers.ReshapeObservation, shape=(2, 2))
    >>> envs.observation_space.shape, envs.reset(seed=0)[0].shape
    ((2, 2, 2), (2, 2, 2))
    """

    def __init__(self, env: VectorEnv[Any, Any], wrapper: type[Any], **kwargs: Any) -> None:
        super().__init__(env)
        self.wrapper = _made(wrapper, ObservationWrapper, env, kwargs)
        self.single_observation_space = self.wrapper.observation_space
        self.observation_space = _batched(self.single_observation_space, self.num_envs)
        self._compiled = _compiled_batch(self.wrapper, self.num_envs)

    def observations(self, observations: Any) -> Any:
        """Change each observation."""
        if self._compiled is not None:
            return self._compiled(observations)
        rows = member_rows(self.env.observation_space, observations, self.num_envs)
        return stack_members(self.single_observation_space.pure, [self.wrapper.observation(row) for row in rows])


class VectorizeTransformAction(VectorActionWrapper[ObsType, ActType]):
    """A wrapper that changes the action of each environment as a wrapper of a single environment does.

    Args:
        env: Vector environment to wrap.
        wrapper: Class of `funcenv.adapters.wrappers` that changes each action by itself, such as `ClipAction` or
            `TransformAction`.
        **kwargs: Its other arguments.

    Raises:
        TypeError: `wrapper` is not such a class, or the vector has spaces of its own kind.

    >>> from funcenv import adapters
    >>> envs = VectorizeTransformAction(
    ...     adapters.make_vec("Pendulum-v1", 2), adapters.wrappers.DiscretizeAction, bins=4)
    >>> envs.action_space, envs.actions(np.array([0, 3])).tolist()
    (MultiDiscrete([4 4]), [[-1.5], [1.5]])
    """

    def __init__(self, env: VectorEnv[Any, Any], wrapper: type[Any], **kwargs: Any) -> None:
        super().__init__(env)
        self.wrapper = _made(wrapper, ActionWrapper, env, kwargs)
        self.single_action_space = self.wrapper.action_space
        self.action_space = _batched(self.single_action_space, self.num_envs)
        self._compiled = _compiled_batch(self.wrapper, self.num_envs)

    def actions(self, actions: Any) -> Any:
        """Change each action."""
        if self._compiled is not None:
            return self._compiled(actions)
        rows = member_rows(self.action_space, actions, self.num_envs)
        return stack_members(self.env.single_action_space.pure, [self.wrapper.action(row) for row in rows])


class VectorizeTransformReward(VectorRewardWrapper[ObsType, ActType]):
    """A wrapper that changes the reward of each environment as a wrapper of a single environment does.

    Args:
        env: Vector environment to wrap.
        wrapper: Class of `funcenv.adapters.wrappers` that changes each reward by itself, such as `ClipReward`.
        **kwargs: Its other arguments.

    Raises:
        TypeError: `wrapper` is not such a class, or the vector has spaces of its own kind.

    >>> from funcenv import adapters
    >>> envs = VectorizeTransformReward(
    ...     adapters.make_vec("CartPole-v1", 2), adapters.wrappers.TransformReward, func=lambda reward: reward / 2)
    >>> _ = envs.reset(seed=0)
    >>> envs.step(np.array([0, 1]))[1].tolist()
    [0.5, 0.5]
    """

    def __init__(self, env: VectorEnv[Any, Any], wrapper: type[Any], **kwargs: Any) -> None:
        super().__init__(env)
        self.wrapper = _made(wrapper, RewardWrapper, env, kwargs)

    def rewards(self, rewards: Any) -> Any:
        """Change each reward."""
        return np.array([self.wrapper.reward(reward) for reward in rewards], np.asarray(rewards).dtype)


class ClipAction(VectorizeTransformAction[ObsType, ActType]):
    """A wrapper that accepts any real vectors as actions, and clips them to the bounds of the environments' `Box`.

    Args:
        env: Vector environment with a `Box` of actions.

    Raises:
        TypeError: The actions are not a `Box`.

    >>> from funcenv import adapters
    >>> envs = ClipAction(adapters.make_vec("Pendulum-v1", 2))
    >>> envs.actions(np.array([[5.0], [1.0]])).tolist()
    [[2.0], [1.0]]
    """

    def __init__(self, env: VectorEnv[Any, Any]) -> None:
        super().__init__(env, single.ClipAction)


class RescaleAction(VectorizeTransformAction[ObsType, ActType]):
    """A wrapper that maps actions from `[min_action, max_action]` to the bounds of the environments' `Box`.

    Args:
        env: Vector environment with a bounded `Box` of real-valued actions.
        min_action: Action that maps to the lower bound: a number, or an array of the shape of one action.
        max_action: Action that maps to the upper bound.

    Raises:
        TypeError: The actions are not a `Box` of floats.
        ValueError: The bounds have another shape, or not `min_action < max_action`, or a finite bound maps to an
            infinite one.

    >>> from funcenv import adapters
    >>> envs = RescaleAction(adapters.make_vec("Pendulum-v1", 2), 0, 1)
    >>> envs.actions(np.float32([[0.75], [0]])).tolist()
    [[1.0], [-2.0]]
    """

    def __init__(self, env: VectorEnv[Any, Any], min_action: Any, max_action: Any) -> None:
        super().__init__(env, single.RescaleAction, min_action=min_action, max_action=max_action)


class ClipReward(VectorizeTransformReward[ObsType, ActType]):
    """A wrapper that clips rewards to `[min_reward, max_reward]`.

    Args:
        env: Vector environment to wrap.
        min_reward: Lower bound, or None for no bound.
        max_reward: Upper bound, or None for no bound.

    Raises:
        ValueError: Neither bound is given, or `min_reward > max_reward`.

    >>> from funcenv import adapters
    >>> envs = ClipReward(adapters.make_vec("CartPole-v1", 2), 0.0, 0.5)
    >>> _ = envs.reset(seed=0)
    >>> envs.step(np.array([0, 1]))[1].tolist()
    [0.5, 0.5]
    """

    def __init__(
        self, env: VectorEnv[Any, Any], min_reward: float | None = None, max_reward: float | None = None
    ) -> None:
        super().__init__(env, single.ClipReward, min_reward=min_reward, max_reward=max_reward)


def _made(wrapper: Any, kind: type[Any], envs: VectorEnv[Any, Any], arguments: dict[str, Any]) -> Any:
    """Return a wrapper around one of the environments, to change its members alone."""
    if not (isinstance(wrapper, type) and issubclass(wrapper, kind)):
        raise TypeError(f"wrapper must be a subclass of funcenv.adapters.wrappers.{kind.__name__}, got {wrapper!r}")
    return wrapper(OneOfMany(envs), **arguments)


def _compiled_batch(wrapper: Any, num_envs: int) -> Callable[[Any], Any] | None:
    """Return the compiled function of a batch, if the wrapper has one of a single member."""
    if isinstance(wrapper, (PureObservation, single.PureAction)):
        return wrapper.compiled.batched(num_envs)
    return None


def _batched(space: Any, num_envs: int) -> Any:
    return Space(batch_space(space.pure, num_envs))


def _warn_of_other_batches(name: str, batches: Any, single_space: Any, envs: VectorEnv[Any, Any]) -> None:
    """Warn if the space of a batch is not that of `num_envs` members of the space of one."""
    if batches != _batched(single_space, envs.num_envs):
        warnings.warn(
            f"{name} of {type(envs).__name__} is {batches!r}, which is not a batch of {envs.num_envs} members of "
            f"{single_space!r}; pass single_{name} too",
            UserWarning,
            stacklevel=3,
        )
