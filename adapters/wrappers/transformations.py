"""Wrappers that change the observations, actions and rewards of any stateful environment.

They follow the pure wrappers of the same names in `funcenv.wrappers`, with which they share the rules and the spaces. A
pure wrapper goes inside of `FunctionalEnv` and is compiled with the environment, so it is faster; these go around
environments that are written by hand, and around those of `make`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv import wrappers as pure
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.spaces.space import plain_member
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.wrapper import (
    ActionWrapper,
    ObservationWrapper,
    RewardWrapper,
    WrapperActType,
    WrapperObsType,
)
from funcenv.spaces.space import AnySpace


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


class FlattenObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that flattens observations to vectors, as `funcenv.wrappers.FlattenObservation` does.

    Args:
        env: Environment to wrap.

    >>> from funcenv import adapters
    >>> env = FlattenObservation(adapters.make("Blackjack-v1"))
    >>> env.observation_space.shape, int(env.reset(seed=0)[0].sum())
    ((45,), 3)
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        flat: pure.FlattenObservation[Any, Any] = pure.FlattenObservation(described(self, env))
        self.observation_space = flat.observation_space
        self._flatten = _compiled(flat.outer_observation, flat.env.observation_space, flat.observation_space)

    def observation(self, observation: Any) -> Any:
        """Flatten the observation."""
        return self._flatten(observation)


class TimeAwareObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that adds the number of steps since the episode began to the observation.

    It is `funcenv.wrappers.TimeAwareObservation` for stateful environments.

    Args:
        env: Environment with a time limit.
        flatten: Whether observations are flat vectors.
        normalize_time: Whether the time is in [0, 1] instead of a number of steps.
        dict_time_key: Key of the time in observations that are dicts.

    Attributes:
        timesteps: Number of steps since the episode began.
        max_timesteps: Time limit.

    Raises:
        ValueError: There is no time limit, or the observations have the key `dict_time_key` already.

    >>> from funcenv import adapters
    >>> env = TimeAwareObservation(adapters.make("CartPole-v1"))
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[0].shape, env.step(0)[0][4]
    ((5,), np.float32(2.0))
    """

    def __init__(
        self,
        env: Env[Any, Any],
        flatten: bool = True,
        normalize_time: bool = False,
        *,
        dict_time_key: str = "time",
    ) -> None:
        super().__init__(env)
        limit = env.get_wrapper_attr("max_episode_steps") if env.has_wrapper_attr("max_episode_steps") else None
        if limit is None and env.spec is not None:
            limit = env.spec.max_episode_steps
        if limit is None:
            raise ValueError("TimeAwareObservation needs a TimeLimit inside: TimeAwareObservation(TimeLimit(env, 500))")
        limited: pure.TimeLimit[Any, Any] = pure.TimeLimit(described(self, env), max_episode_steps=limit)
        aware: pure.TimeAwareObservation[Any] = pure.TimeAwareObservation(
            limited, flatten, normalize_time, dict_time_key=dict_time_key
        )
        self.observation_space = aware.observation_space
        self.max_timesteps, self.timesteps = limit, 0

        @jax.jit
        def observe(observation: Any, elapsed: Any) -> Any:
            inside = pure.StepCounterState(env_state=observation, elapsed_steps=elapsed)
            key = jax.random.key(0)  # not used: the observation draws nothing
            return aware.observation(pure.StepCounterState(env_state=inside, elapsed_steps=elapsed), key)

        space = limited.observation_space
        self._observe: Callable[[Any, Any], Any] = lambda observation, elapsed: plain_member(
            aware.observation_space, observe(space.pack(observation), elapsed)
        )

    def observation(self, observation: Any) -> Any:
        """Add the time."""
        return self._observe(observation, np.int32(self.timesteps))

    def _after_reset(self, result: Any) -> Any:
        self.timesteps = 0
        return super()._after_reset(result)

    def _after_step(self, result: Any) -> Any:
        self.timesteps += 1
        return super()._after_step(result)


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


class RescaleAction(ActionWrapper[ObsType, WrapperActType, ActType]):
    """A wrapper that maps actions from `[min_action, max_action]` to the bounds of the environment's `Box`.

    It is `funcenv.wrappers.RescaleAction` for stateful environments; it computes with 32 bits.

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

    def __init__(self, env: Env[Any, Any], min_action: Any, max_action: Any) -> None:
        super().__init__(env)
        inside = described(self, env)
        rescaled: Any = pure.RescaleAction(inside, min_action=min_action, max_action=max_action)
        self.action_space = rescaled.action_space
        self._rescale = _compiled(rescaled.inner_action, rescaled.action_space, rescaled.env.action_space)

    def action(self, action: Any) -> Any:
        """Map the action to the inner bounds."""
        return self._rescale(action)


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


def _compiled(function: Callable[[Any], Any], source: AnySpace, target: AnySpace) -> Callable[[Any], Any]:
    """Return a compiled function from members of one space to members of another, both in NumPy's types."""
    program = jax.jit(lambda member: jax.tree.map(jnp.asarray, function(member)))
    return lambda member: plain_member(target, program(source.pack(member)))
