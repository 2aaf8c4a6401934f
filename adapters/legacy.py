"""For code written against old Gym: the one place where its interfaces live.

    until 0.21    env.seed(0); observation = env.reset(); observation, reward, done, info = env.step(action)
                  env.render(mode="rgb_array")
    0.22, 0.23    observation = env.reset(seed=0); observation, info = env.reset(return_info=True)
    0.24, 0.25    the same, and step with two flags on request; render_mode at construction
    from 0.26 on  the interface that Gymnasium has, which needs nothing of this

`info["TimeLimit.truncated"]` is there at an episode's end, as in Gym: true where `done` means that the episode was cut
off, and false where it ended by itself, or both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.rendering.modes import LIST_SUFFIX
from funcenv.adapters.seeding import np_random
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper

_CUT = "TimeLimit.truncated"


class StepCompatibility(Wrapper[ObsType, ActType]):
    """An environment as old Gym had them.

    Args:
        env: an environment whose `step` returns five values; or four, in code of one's own.
        return_two_dones: whether `step` returns `observation, reward, terminated, truncated, info`, as on request in
            Gym 0.24 and 0.25, rather than `observation, reward, done, info`.

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
        """Seed the next `reset`; without a seed, from the system's entropy. Returns a list with the seed.

        Raises:
            TypeError: the seed is not an integer.
            ValueError: the seed is negative.
        """
        _, self._next_seed = np_random(seed)
        return [self._next_seed]

    def reset(
        self, *, seed: int | None = None, return_info: bool = False, options: dict[str, Any] | None = None
    ) -> Any:
        """Start an episode.

        Args:
            seed: as in the present interface; it goes before that of an earlier `seed(...)`.
            return_info: whether `info` is returned as well.
            options: as in the present interface.

        Returns:
            The observation; or observation and info.
        """
        observation, info = self.env.reset(seed=self._next_seed if seed is None else seed, options=options)
        self._next_seed = None
        return (observation, info) if return_info else observation

    def step(self, action: ActType) -> Any:
        """Play one action: observation, reward, one flag or two, info."""
        return step_api_compatibility(self.env.step(action), self._return_two_dones)

    def render(self, mode: str | None = None) -> Any:
        """A picture.

        Args:
            mode: how to draw it, for this call; by default the mode that the environment was made with, or "human".
                Lists of frames are kept only by an environment that was made with such a mode.

        Raises:
            ValueError: the environment cannot draw like that.
        """
        present = self.env.render_mode
        mode = mode or present or "human"
        modes = [known for known in self.env.metadata.get("render_modes", []) if not known.endswith(LIST_SUFFIX)]
        if mode not in [*modes, present]:
            raise ValueError(f"mode must be one of {modes}, which {self.env} can draw, got {mode!r}")
        drawn = self.env.unwrapped
        drawn.render_mode = mode
        try:
            return self.env.render()
        finally:
            drawn.render_mode = present


def step_api_compatibility(
    step_returns: tuple[Any, ...], output_truncation_bool: bool = True, is_vector_env: bool = False
) -> tuple[Any, ...]:
    """What `step` returned, with one flag or with two; nothing that was passed in changes.

    Args:
        step_returns: `(observation, reward, terminated, truncated, info)` or `(observation, reward, done, info)`.
        output_truncation_bool: whether to return the former.
        is_vector_env: whether flags are arrays, and `info` a dict of arrays or a list of dicts.

    Returns:
        The tuple, as it was where it is of the wanted kind. `info["TimeLimit.truncated"]` tells the flags apart: it is
        added to the latter where an episode ended, and removed from the former.

    Raises:
        ValueError: neither four nor five values.

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
        info, cut = _without_cut(info, len(done)) if is_vector_env else _without_cut(info, None)
        truncated = done & cut if is_vector_env else bool(done and cut)
        terminated = done & ~cut if is_vector_env else bool(done and not cut)
        return observation, reward, terminated, truncated, info
    observation, reward, terminated, truncated, info = step_returns
    if not is_vector_env:
        done = bool(terminated or truncated)
        return observation, reward, done, {**info, _CUT: bool(truncated and not terminated)} if done else info
    dones, cuts = np.logical_or(terminated, truncated), np.logical_and(truncated, np.logical_not(terminated))
    return observation, reward, dones, _with_cuts(info, dones, cuts)


def _without_cut(info: Any, num_envs: int | None) -> tuple[Any, Any]:
    """The info without the entry, and its value; False where there is none."""
    if isinstance(info, list):
        parts = [_without_cut(one, None) for one in info]
        return [rest for rest, _ in parts], np.array([cut for _, cut in parts], bool)
    cut = info.get(_CUT, False if num_envs is None else np.zeros(num_envs, bool))
    rest = {name: value for name, value in info.items() if name != _CUT}
    return rest, cut if num_envs is None else np.asarray(cut, bool)


def _with_cuts(info: Any, dones: Any, cuts: Any) -> Any:
    """The info of a vector environment with the entry, where an episode ended."""
    if isinstance(info, list):
        return [{**one, _CUT: bool(cut)} if done else one for one, done, cut in zip(info, dones, cuts, strict=True)]
    return {**info, _CUT: cuts} if dones.any() else info
