"""Compatibility with code written for old Gym.

    until 0.21    env.seed(0); observation = env.reset(); observation, reward, done, info = env.step(action)
                  env.render(mode="rgb_array")
    0.22, 0.23    observation = env.reset(seed=0); observation, info = env.reset(return_info=True)
    0.24, 0.25    the same; step returns two flags on request; render_mode is given at construction
    since 0.26    Gymnasium's interface, which needs no compatibility

At the end of an episode `info["TimeLimit.truncated"]` is true if the episode was truncated without being terminated,
as in Gym.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.rendering.modes import LIST_SUFFIX
from funcenv.adapters.seeding import np_random
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper

_TRUNCATED_KEY = "TimeLimit.truncated"


class StepCompatibility(Wrapper[ObsType, ActType]):
    """A wrapper with the interface of old Gym.

    Args:
        env: Environment whose `step` returns five values, or four.
        return_two_dones: Whether `step` returns `observation, reward, terminated, truncated, info`, as Gym 0.24 and
            0.25 did on request, instead of `observation, reward, done, info`.

    >>> from funcenv import adapters
    >>> env = StepCompatibility(adapters.make("CartPole-v1", max_episode_steps=1))
    >>> env.seed(0)
    [0]
    >>> observation = env.reset()
    >>> observation, reward, done, info = env.step(env.action_space.sample())
    >>> reward, done, info
    (1.0, True, {'TimeLimit.truncated': True})
    """

    def __init__(self, env: Env[Any, Any], return_two_dones: bool = False) -> None:
        super().__init__(env)
        self._return_two_dones = return_two_dones
        self._next_seed: int | None = None

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the next `reset`, by default with entropy of the system, and return a list with the seed.

        Raises:
            TypeError: The seed is not an integer.
            ValueError: The seed is negative.
        """
        _, self._next_seed = np_random(seed)
        return [self._next_seed]

    def reset(
        self, *, seed: int | None = None, return_info: bool = False, options: dict[str, Any] | None = None
    ) -> Any:
        """Start an episode.

        Args:
            seed: As for `Env.reset`; replaces the seed of an earlier `seed(...)`.
            return_info: Whether to return `info` too.
            options: As for `Env.reset`.

        Returns:
            The observation, or a tuple of observation and info.
        """
        observation, info = self.env.reset(seed=self._next_seed if seed is None else seed, options=options)
        self._next_seed = None
        return (observation, info) if return_info else observation

    def step(self, action: ActType) -> Any:
        """Play one action, and return observation, reward, one flag or two, and info."""
        return step_api_compatibility(self.env.step(action), self._return_two_dones)

    def render(self, mode: str | None = None) -> Any:
        """Render the current state.

        Args:
            mode: Render mode of this call; by default the environment's mode, or "human" if it has none. A mode that
                collects frames must be the environment's.

        Raises:
            ValueError: The environment does not have the mode.
        """
        own_mode = self.env.render_mode
        mode = mode or own_mode or "human"
        modes = [known for known in self.env.metadata.get("render_modes", []) if not known.endswith(LIST_SUFFIX)]
        if mode not in [*modes, own_mode]:
            raise ValueError(f"mode must be one of {modes}, the render modes of {self.env}, got {mode!r}")
        innermost = self.env.unwrapped
        innermost.render_mode = mode
        try:
            return self.env.render()
        finally:
            innermost.render_mode = own_mode


def step_api_compatibility(
    step_returns: tuple[Any, ...], output_truncation_bool: bool = True, is_vector_env: bool = False
) -> tuple[Any, ...]:
    """Convert the result of `step` to one flag or two, without changing the arguments.

    Args:
        step_returns: `(observation, reward, terminated, truncated, info)` or `(observation, reward, done, info)`.
        output_truncation_bool: Whether to return two flags.
        is_vector_env: Whether flags are arrays, and `info` is a dict of arrays or a list of dicts.

    Returns:
        The result with the requested flags. The conversion to one flag adds `info["TimeLimit.truncated"]` where an
        episode ended; the conversion to two flags reads and removes it.

    Raises:
        ValueError: There are neither four nor five values.

    >>> step_api_compatibility((3, 1.0, False, True, {}), output_truncation_bool=False)
    (3, 1.0, True, {'TimeLimit.truncated': True})
    >>> step_api_compatibility((3, 1.0, True, {"TimeLimit.truncated": True}))
    (3, 1.0, False, True, {})
    """
    if len(step_returns) not in (4, 5):
        raise ValueError(f"step must return 4 values, or 5 with two flags, got {len(step_returns)}")
    if len(step_returns) == (5 if output_truncation_bool else 4):
        return step_returns
    if output_truncation_bool:
        observation, reward, done, info = step_returns
        info, truncated = _pop_truncated(info, len(done) if is_vector_env else None)
        if not is_vector_env:
            return observation, reward, bool(done and not truncated), bool(done and truncated), info
        return observation, reward, done & ~truncated, done & truncated, info
    observation, reward, terminated, truncated, info = step_returns
    done = np.logical_or(terminated, truncated)
    only_truncated = np.logical_and(truncated, np.logical_not(terminated))
    if not is_vector_env:
        done, only_truncated = bool(done), bool(only_truncated)
    return observation, reward, done, _add_truncated(info, done, only_truncated)


def _pop_truncated(info: Any, num_envs: int | None) -> tuple[Any, Any]:
    """Return the info without the entry, and the entry, which is False if it is missing."""
    if isinstance(info, list):
        pairs = [_pop_truncated(one, None) for one in info]
        return [rest for rest, _ in pairs], np.array([truncated for _, truncated in pairs], bool)
    rest = {name: value for name, value in info.items() if name != _TRUNCATED_KEY}
    truncated = info.get(_TRUNCATED_KEY, False if num_envs is None else np.zeros(num_envs, bool))
    return rest, truncated if num_envs is None else np.asarray(truncated, bool)


def _add_truncated(info: Any, done: Any, truncated: Any) -> Any:
    """Return the info with the entry for the episodes that ended."""
    if isinstance(info, list):
        return [_add_truncated(*row) for row in zip(info, done, truncated.tolist(), strict=True)]
    return {**info, _TRUNCATED_KEY: truncated} if np.any(done) else info
