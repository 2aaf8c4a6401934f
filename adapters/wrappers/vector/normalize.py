"""Wrappers that normalize a vector's observations or rewards by their running mean and variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv import wrappers as pure
from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.spaces.space import Space
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.utils import RunningMeanStd
from funcenv.adapters.wrappers.vector.wrapper import OneOfMany, VectorObservationWrapper, VectorWrapper
from funcenv.checks import require_positive, require_probability
from funcenv.spaces import batch_space
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode


class NormalizeObservation(VectorObservationWrapper[ObsType, ActType]):
    """A wrapper that shifts and scales observations to mean 0 and variance 1, by the moments of all so far.

    It is Gymnasium's wrapper of this name; all environments share the moments. It works in every autoreset mode, where
    Gymnasium's refuses the same-step mode: last observations of episodes are normalized and not added to the moments.

    Args:
        env: Vector environment whose observations are single arrays.
        epsilon: Added to the variance; above 0.

    Attributes:
        obs_rms: Mean and variance.
        update_running_mean: Whether observations are added to them.

    Raises:
        ValueError: `epsilon` is not above 0, or the observations are not single arrays.

    >>> from funcenv import adapters
    >>> envs = NormalizeObservation(adapters.make_vec("CartPole-v1", 3))
    >>> envs.reset(seed=0)[0].shape, round(envs.obs_rms.count)
    ((3, 4), 3)
    """

    def __init__(self, env: VectorEnv[Any, Any], epsilon: float = 1e-8) -> None:
        super().__init__(env)
        space = pure.NormalizeObservation(described(self, OneOfMany(env)), epsilon).observation_space
        self.single_observation_space, self.observation_space = space, Space(batch_space(space, self.num_envs))
        self.obs_rms, self.epsilon, self.update_running_mean = RunningMeanStd(shape=space.shape), epsilon, True

    def observations(self, observations: Any) -> NDArray:
        """Add the observations to the moments, and normalize them."""
        self._update(observations)
        return self.final_observations(observations)

    def final_observations(self, observations: Any) -> NDArray:
        """Normalize the observations."""
        normalized = (observations - self.obs_rms.mean) / np.sqrt(self.obs_rms.var + self.epsilon)
        return np.asarray(normalized, np.float32)

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        observations, infos = result
        self._update(observations[is_new])
        return self.final_observations(observations), infos

    def _update(self, observations: NDArray) -> None:
        if self.update_running_mean and len(observations) > 0:
            self.obs_rms.update(observations)


class NormalizeReward(VectorWrapper[ObsType, ActType]):
    """A wrapper that scales rewards so that the discounted return has variance 1, by the moments of all so far.

    It is Gymnasium's wrapper of this name; all environments share the moments.

    Args:
        env: Vector environment to wrap.
        gamma: Discount of the return, in [0, 1].
        epsilon: Added to the variance; above 0.

    Attributes:
        return_rms: Mean and variance of the discounted return.
        accumulated_reward: Discounted return of each environment so far, `[num_envs]`.
        update_running_mean: Whether returns are added to the moments.

    Raises:
        ValueError: `gamma` is not in [0, 1], or `epsilon` is not above 0.

    >>> from funcenv import adapters
    >>> envs = NormalizeReward(adapters.make_vec("CartPole-v1", 2))
    >>> _ = envs.reset(seed=0)
    >>> [envs.step(np.array([0, 1]))[1].round(1).tolist() for _ in range(3)]
    [[100.0, 100.0], [2.0, 2.0], [1.2, 1.2]]
    """

    def __init__(self, env: VectorEnv[Any, Any], gamma: float = 0.99, epsilon: float = 1e-8) -> None:
        super().__init__(env)
        require_probability(gamma=gamma)
        require_positive(epsilon=epsilon)
        self.gamma, self.epsilon, self.update_running_mean = gamma, epsilon, True
        self.return_rms, self.accumulated_reward = RunningMeanStd(), np.zeros(self.num_envs, np.float32)
        self._resets_next = np.zeros(self.num_envs, bool)

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        self.accumulated_reward[is_new], self._resets_next[is_new] = 0, False
        return result

    def _after_step(self, result: Any) -> Any:
        observations, rewards, terminations, truncations, infos = result
        plays = ~self._resets_next
        earlier = self.gamma * self.accumulated_reward * ~terminations
        self.accumulated_reward = np.where(plays, earlier + rewards, self.accumulated_reward).astype(np.float32)
        if self.update_running_mean and plays.any():
            self.return_rms.update(self.accumulated_reward[plays])
        ended = terminations | truncations
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self.accumulated_reward[ended] = 0
        else:
            self._resets_next = ended
        scaled = rewards / np.sqrt(self.return_rms.var + self.epsilon)
        return observations, scaled, terminations, truncations, infos
