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

import dataclasses
from typing import Any

from funcenv.adapters.compat.results import call_reset, observation_and_info, step_api_compatibility
from funcenv.adapters.engine.seeding import np_random
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_flag


class StepCompatibility(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper with the interface of old Gym, around an environment with today's interface or one of old Gym's.

    Attributes of the inner environment can be read and set through it. Wrappers of `funcenv.adapters` around it keep
    this interface. `unwrapped` has it too.

    Args:
        env: Environment whose `step` returns five values, or four. Its `reset` may return the observation alone and
            take no arguments, it may have a method `seed`, and its `render` may take `mode`.
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
        self._return_two_dones = require_flag("return_two_dones", return_two_dones)
        self._next_seed: int | None = None
        self._inside: StepCompatibility[Any, Any] | None = None  # the environment that is `unwrapped`

    @property
    def _max_episode_steps(self) -> int | None:
        """The time limit, by the name that programs for old Gym read and set."""
        limit: int | None = getattr(self.env, "_max_episode_steps")  # noqa: B009  # not an attribute of every Env
        return limit

    @_max_episode_steps.setter
    def _max_episode_steps(self, limit: int | None) -> None:
        setattr(self.env, "_max_episode_steps", limit)  # noqa: B010

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the next `reset`, by default with entropy of the system, and return a list with the seed.

        Raises:
            TypeError: The seed is not an integer.
            ValueError: The seed is negative.
        """
        _, self._next_seed = np_random(seed)
        return [self._next_seed]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None, return_info: bool | None = None
    ) -> Any:
        """Start an episode.

        Args:
            seed: As for `Env.reset`; replaces the seed of an earlier `seed(...)`.
            options: As for `Env.reset`.
            return_info: Whether to return `info` too; by default not.

        Returns:
            The observation, or a tuple of observation and info.
        """
        seed = self._next_seed if seed is None else seed
        observation, info = observation_and_info(call_reset(self.env, seed, options, return_info=True))
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
        return super().render(mode or self.env.render_mode or "human")

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment inside all wrappers, with this interface."""
        inner = self.env.unwrapped
        if inner is self.env:
            return self
        if self._inside is None or self._inside.env is not inner:
            self._inside = StepCompatibility(inner, self._return_two_dones)
        return self._inside

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "env" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name.startswith("_") or name == "env" or (hasattr(type(self), name) and name != "reward_range")
        super().__setattr__(name, value) if is_own else setattr(self.env, name, value)


class EnvCompatibility(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper with today's interface, Gymnasium's, around an environment that was written for old Gym.

    `make(id, apply_api_compatibility=True)` puts it around a registered one.

    Args:
        old_env: Environment whose `step` returns four values, or five. Its `reset` may return the observation alone and
            take no arguments, it may have a method `seed`, and its `render` may take `mode`.
        render_mode: Mode in which `render` calls the environment's `render`; in the mode "human" every `reset` and
            `step` does.

    >>> from funcenv import adapters
    >>> old = StepCompatibility(adapters.make("CartPole-v1", max_episode_steps=1))
    >>> env = EnvCompatibility(old)
    >>> observation, info = env.reset(seed=0)
    >>> env.step(env.action_space.sample())[1:]
    (1.0, False, True, {})
    """

    render_mode: str | None = None

    def __init__(self, old_env: Env[Any, Any], render_mode: str | None = None) -> None:
        super().__init__(old_env)
        self.render_mode = old_env.render_mode if render_mode is None else render_mode
        metadata = dict(old_env.metadata)
        for name, old_name in ("render_modes", "render.modes"), ("render_fps", "video.frames_per_second"):
            if old_name in metadata:
                metadata[name] = metadata.pop(old_name)
        self.metadata = {"render_modes": [], **metadata}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None, return_info: bool | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode, and return observation and info, whatever `return_info` is."""
        del return_info
        result = observation_and_info(call_reset(self.env, seed, options, return_info=True))
        self._show()
        return result

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action, and return observation, reward, terminated, truncated and info."""
        observation, reward, terminated, truncated, info = step_api_compatibility(self.env.step(action))
        self._show()
        return observation, reward, terminated, truncated, info

    def render(self, mode: str | None = None) -> Any:
        """Render the current state, by default in `render_mode`."""
        return super().render(mode or self.render_mode)

    def _specified(self, spec: Any) -> Any:
        return dataclasses.replace(spec, apply_api_compatibility=True)

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment inside all wrappers, with this interface."""
        inner = self.env.unwrapped
        return self if inner is self.env else EnvCompatibility(inner, self.render_mode)

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()


class StepAPICompatibility(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper whose `step` returns five values, or four, and which changes nothing else.

    Args:
        env: Environment whose `step` returns five values, or four.
        output_truncation_bool: Whether to return two flags.

    >>> from funcenv import adapters
    >>> env = StepAPICompatibility(adapters.make("CartPole-v1"), output_truncation_bool=False)
    >>> observation, info = env.reset(seed=0)
    >>> env.step(0)[1:]
    (1.0, False, {})
    """

    def __init__(self, env: Env[Any, Any], output_truncation_bool: bool = True) -> None:
        super().__init__(env)
        self.output_truncation_bool = require_flag("output_truncation_bool", output_truncation_bool)

    def step(self, action: ActType) -> Any:
        """Play one action, and return observation, reward, one flag or two, and info."""
        return step_api_compatibility(self.env.step(action), self.output_truncation_bool)
