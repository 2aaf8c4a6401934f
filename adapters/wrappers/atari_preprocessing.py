"""The usual preprocessing of Atari games, around any stateful environment."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcenv import wrappers as pure
from funcenv.adapters.compat.results import call_reset, observation_and_info, step_api_compatibility
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.member_function import MemberFunction
from funcenv.adapters.wrappers.repeat_action import RepeatWrapper
from funcenv.adapters.wrappers.wrapper import WrapperObsType
from funcenv.checks import require_flag, require_size
from funcenv.spaces import Tuple
from funcenv.struct import NDArray


class AtariPreprocessing(RepeatWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that prepares Atari games, or other games on a screen, for an agent.

    It is `funcenv.wrappers.AtariPreprocessing` for stateful environments, which says what it does. Waiting times are
    drawn by the environment's generator, and a reset that waits begins again where the episode ends.

    Args:
        env: Environment whose observations are images, uint8 `[height, width, 3]`, or `[height, width]` for grey
            observations, and which skips no frames itself.
        noop_max: At a reset, action 0 is played for 1 to so many frames; 0 for none. It must be called "NOOP" by
            `get_action_meanings()` or `action_names`.
        frame_skip: Number of frames of a step.
        screen_size: Width and height of observations, or a pair (width, height).
        terminal_on_life_loss: Whether the loss of a life ends an episode. The number of lives is `info["lives"]`.
        grayscale_obs: Whether observations are grey.
        grayscale_newaxis: Whether grey observations have an axis of length 1 for the channel.
        scale_obs: Whether observations are float32 from 0 to 1 rather than uint8 from 0 to 255.

    Attributes:
        screen_size: Width and height of observations.
        lives: Number of lives; 0 without `terminal_on_life_loss`.
        game_over: Whether the last step ended the episode.

    Raises:
        TypeError: An argument is not an integer or flag, or observations are not a `Box`.
        ValueError: The environment skips frames itself, shows no images or has no "lives" or no action "NOOP", or a
            number is too small.

    >>> from funcenv import adapters
    >>> env = AtariPreprocessing(adapters.make("ALE/Pong-v5", frameskip=1))
    >>> env.reset(seed=0)[0].shape
    (84, 84)
    """

    def __init__(
        self,
        env: Env[Any, Any],
        noop_max: int = 30,
        frame_skip: int = 4,
        screen_size: int | tuple[int, int] = 84,
        terminal_on_life_loss: bool = False,
        grayscale_obs: bool = True,
        grayscale_newaxis: bool = False,
        scale_obs: bool = False,
    ) -> None:
        inside = described(self, env)
        pictured: pure.AtariPreprocessing[Any] = pure.AtariPreprocessing(
            inside,
            noop_max=0,  # checked below, where the names of actions are known
            frame_skip=frame_skip,
            screen_size=screen_size,
            grayscale_obs=require_flag("grayscale_obs", grayscale_obs),
            grayscale_newaxis=require_flag("grayscale_newaxis", grayscale_newaxis),
            scale_obs=require_flag("scale_obs", scale_obs),
        )
        super().__init__(env, pictured.frame_skip)
        self.noop_max, self.frame_skip = require_size("noop_max", noop_max, minimum=0), pictured.frame_skip
        self.terminal_on_life_loss = require_flag("terminal_on_life_loss", terminal_on_life_loss)
        self.screen_size = screen_size if isinstance(screen_size, tuple) else (screen_size, screen_size)
        self._require_single_frames(env)
        if self.noop_max > 0:
            self._require_noop(env)
        self.observation_space = pictured.observation_space
        screens, frames = inside.observation_space, pictured.frame_space
        self._to_frame = MemberFunction(pictured.frame, screens, frames)
        picture = functools.partial(_picture, pictured)
        self._to_picture = MemberFunction(picture, Tuple((frames, frames)), pictured.observation_space)
        self._newest = self._previous = np.zeros(frames.shape, np.uint8)
        self.lives, self.game_over = 0, False

    def _require_single_frames(self, env: Env[Any, Any]) -> None:
        names = [name for name in ("frameskip", "_frameskip") if env.has_wrapper_attr(name)]
        skip = env.get_wrapper_attr(names[0]) if names else 1
        if self.frame_skip > 1 and skip != 1:
            raise ValueError(
                f"the environment skips frames itself, frameskip={skip!r}; make it with frameskip=1, or "
                "pass frame_skip=1 to the wrapper"
            )

    def _require_noop(self, env: Env[Any, Any]) -> None:
        names: list[str] = []
        if env.has_wrapper_attr("get_action_meanings"):
            names = list(env.get_wrapper_attr("get_action_meanings")())
        elif env.has_wrapper_attr("action_names"):
            names = list(env.get_wrapper_attr("action_names"))
        if not names or names[0].upper() != "NOOP":
            raise ValueError(
                f"with noop_max={self.noop_max}, action 0 must do nothing, and be called 'NOOP' by "
                f"get_action_meanings() or action_names, got {names}; pass noop_max=0 for other environments"
            )

    def _see(self, number: int, result: Any) -> Any:
        """Look at the last two frames, unless the episode ends there, and count the lives."""
        screen, reward, terminated, truncated, info = result
        if self.terminal_on_life_loss:
            lives = _lives(info)
            terminated, self.lives = bool(terminated or lives < self.lives), lives
        self.game_over = terminated
        if not (terminated or truncated):
            if number == self.frame_skip - 2:
                self._previous = self._to_frame(screen)
            elif number == self.frame_skip - 1:
                self._newest = self._to_frame(screen)
        return screen, reward, terminated, truncated, info

    def _after_step(self, result: Any) -> Any:
        return self._observe(), *result[1:]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None, return_info: bool | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Start an episode, and play action 0 for some frames."""
        self._options = seed, options
        return super().reset(seed=seed, options=options, return_info=return_info)

    def _after_reset(self, result: Any) -> Any:
        screen, info = result
        noops = int(self.np_random.integers(1, self.noop_max + 1)) if self.noop_max > 0 else 0
        for _ in range(noops):
            played: Any = self.env.step(0)  # type: ignore[arg-type]  # "NOOP" is action 0
            screen, _, terminated, truncated, step_info = step_api_compatibility(played)
            info = {**info, **step_info}
            if terminated or truncated:
                screen, info = observation_and_info(call_reset(self.env, *self._options, return_info=True))
        self.lives = _lives(info) if self.terminal_on_life_loss else 0
        self._newest, self.game_over = self._to_frame(screen), False
        self._previous = np.zeros_like(self._newest)
        return self._observe(), info

    def _observe(self) -> NDArray:
        """Return the picture of the last two frames, and keep their maximum as Gymnasium does."""
        picture: NDArray = self._to_picture((self._newest, self._previous))
        if self.frame_skip > 1:
            self._newest = np.maximum(self._newest, self._previous)
        return picture


def _lives(info: dict[str, Any]) -> int:
    if "lives" not in info:
        raise ValueError(f"terminal_on_life_loss needs an entry 'lives' in info, got {sorted(info)}; leave it out")
    return int(info["lives"])


def _picture(pictured: pure.AtariPreprocessing[Any], frames: tuple[Any, Any]) -> Any:
    return pictured.picture(*frames)
