"""The rehearsal of a game: what it calls is compiled, and random play tells how fast and how large it should be."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from funcenv.adapters.env import Env
from funcenv.adapters.registration import make
from funcenv.func_env import AnyEnv

MIN_SECONDS = 1.5
"""The time that a random episode should last at the first speed; a game that ends sooner begins slowly."""
SLOWEST = 1 / 8

STEPS_PER_FRAME = 2
"""The steps that drawing a frame may take; an image that takes longer is made smaller."""
MIN_HEIGHT = 150
"""The rows below which no image is made smaller."""


class Rehearsal(NamedTuple):
    """What random play has shown."""

    num_steps: float
    """mean length of an episode"""
    render_height: int | None
    """rows of an image that is drawn in time; None for the usual size"""


def rehearse(watched: str | AnyEnv, mode: str, params: dict[str, Any], fps: float | None = None) -> Rehearsal:
    """Compile all that a game calls, and play a few random episodes.

    Episodes are counted for a second at most, and those that are not over count with their steps so far.

    Args:
        watched: The environment, or its id.
        mode: The render mode of the game.
        params: Parameters of the environment.
        fps: Steps a second of the game; None for the frame rate of the environment.
    """
    with make(watched, render_mode=mode, **params) as env:  # the game shares its programs, not its random numbers
        env.reset(seed=0)
        env.action_space.seed(0)
        env.step(env.action_space.sample())
        frame = env.render()
        env.reset()
        num_steps = _steps_of_random_play(env)
        height: int | None = None
        if mode == "rgb_array" and env.get_wrapper_attr("func_env").image_size is None:
            seconds = min(_seconds(env.render) for _ in range(3))
            height = height_in_time(frame.shape[0], seconds, STEPS_PER_FRAME / (fps or env.metadata["render_fps"]))
            height = None if height == frame.shape[0] else height
    if height is not None:
        with make(watched, render_mode=mode, render_height=height, **params) as env:
            env.reset(seed=0)
            env.render()
    return Rehearsal(num_steps, height)


def height_in_time(height: int, seconds: float, limit: float) -> int:
    """Return the rows of an image, halved until it is drawn within a limit, given the seconds that it takes now.

    >>> height_in_time(400, 0.03, 0.04), height_in_time(400, 0.11, 0.04), height_in_time(400, 9.0, 0.04)
    (400, 200, 200)
    """
    while seconds > limit and height // 2 >= MIN_HEIGHT:
        height, seconds = height // 2, seconds / 4
    return height


def first_speed(seconds: float) -> float:
    """Return the speed at which a game begins: the largest power of two at which `seconds` become long enough.

    >>> first_speed(5.0), first_speed(0.44), first_speed(0.01)
    (1.0, 0.25, 0.125)
    """
    speed = 1.0
    while speed > SLOWEST and seconds / speed < MIN_SECONDS:
        speed /= 2
    return speed


def _steps_of_random_play(env: Env[Any, Any]) -> float:
    """Return the mean length of a few random episodes."""
    episodes, steps, until = 0, 0, time.monotonic() + 1.0
    while episodes < 5 and steps < 1000 and time.monotonic() < until:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        steps += 1
        if terminated or truncated:
            episodes += 1
            env.reset()
    return steps / max(episodes, 1)


def _seconds(call: Callable[[], Any]) -> float:
    start = time.monotonic()
    call()
    return time.monotonic() - start
