"""The name `gym.wrappers`, with the old name of `FrameStackObservation`."""

from __future__ import annotations

from typing import Any

from funcenv.adapters import wrappers
from funcenv.adapters.env import Env
from funcenv.adapters.wrappers import *  # noqa: F403  # every public name
from funcenv.checks import require_flag

__all__ = [*wrappers.__all__, "FrameStack"]


class FrameStack(wrappers.FrameStackObservation[Any, Any, Any]):
    """`FrameStackObservation` under old Gym's name; observations are arrays, not `LazyFrames`.

    Args:
        env: Environment to wrap.
        num_stack: Number of observations, at least 1.
        lz4_compress: Ignored, because the array that is returned is the only copy.

    >>> from funcenv.adapters import gym
    >>> FrameStack(gym.make("CartPole-v1"), 4).reset(seed=0).shape
    (4, 4)
    """

    def __init__(self, env: Env[Any, Any], num_stack: int, lz4_compress: bool = False) -> None:
        require_flag("lz4_compress", lz4_compress)
        super().__init__(env, num_stack)
