"""Wrappers that normalize observations or rewards of any stateful environment by their running mean and variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv import wrappers as pure
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.utils import RunningMeanStd
from funcenv.adapters.wrappers.wrapper import ObservationWrapper, Wrapper, WrapperObsType
from funcenv.checks import require_positive, require_probability


class NormalizeObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that shifts and scales observations to mean 0 and variance 1, by the moments of all so far.

    It is Gymnasium's wrapper of this name; `funcenv.wrappers.NormalizeObservation` is the functional one.

    Args:
        env: Environment whose observations are single arrays.
        epsilon: Added to the variance; above 0.

    Attributes:
        obs_rms: Mean and variance.
        update_running_mean: Whether observations are added to them.

    Raises:
        ValueError: `epsilon` is not above 0, or the observations are not single arrays.

    >>> from funcenv import adapters
    >>> env = NormalizeObservation(adapters.make("CartPole-v1"))
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[0].shape, round(env.obs_rms.count)
    ((4,), 2)
    """

    def __init__(self, env: Env[Any, Any], epsilon: float = 1e-8) -> None:
        super().__init__(env)
        space = pure.NormalizeObservation(described(self, env), epsilon).observation_space
        self.observation_space = space
        self.obs_rms, self.epsilon, self.update_running_mean = RunningMeanStd(shape=space.shape), epsilon, True

    def observation(self, observation: Any) -> Any:
        """Add the observation to the moments, and normalize it."""
        if self.update_running_mean:
            self.obs_rms.update([observation])
        return np.float32((observation - self.obs_rms.mean) / np.sqrt(self.obs_rms.var + self.epsilon))


class NormalizeReward(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that scales rewards so that the discounted return has variance 1, by the moments of all so far.

    It is Gymnasium's wrapper of this name; `funcenv.wrappers.NormalizeReward` is the functional one.

    Args:
        env: Environment to wrap.
        gamma: Discount of the return, in [0, 1].
        epsilon: Added to the variance; above 0.

    Attributes:
        return_rms: Mean and variance of the discounted return.
        update_running_mean: Whether returns are added to them.

    Raises:
        ValueError: `gamma` is not in [0, 1], or `epsilon` is not above 0.

    >>> from funcenv import adapters
    >>> env = NormalizeReward(adapters.make("CartPole-v1"))
    >>> _ = env.reset(seed=0)
    >>> [round(env.step(0)[1], 1) for _ in range(3)]
    [70.7, 2.0, 1.2]
    """

    reward_range: Any = Env.reward_range

    def __init__(self, env: Env[Any, Any], gamma: float = 0.99, epsilon: float = 1e-8) -> None:
        super().__init__(env)
        require_probability(gamma=gamma)
        require_positive(epsilon=epsilon)
        self.gamma, self.epsilon, self.update_running_mean = gamma, epsilon, True
        self.return_rms, self.discounted_reward = RunningMeanStd(), 0.0

    def _after_step(self, result: Any) -> Any:
        observation, reward, terminated, *rest = result
        self.discounted_reward = self.discounted_reward * self.gamma * (1 - terminated) + float(reward)
        if self.update_running_mean:
            self.return_rms.update([self.discounted_reward])
        scaled = float(reward / np.sqrt(self.return_rms.var + self.epsilon))
        return (observation, scaled, terminated, *rest)
