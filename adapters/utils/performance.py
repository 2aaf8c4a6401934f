"""Steps, resets and frames a second, under the names of `gymnasium.utils.performance`.

They take wall time, of an interface that Python calls; `funcenv bench` measures compiled loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.vector import AutoresetMode

__all__ = ["benchmark_init", "benchmark_render", "benchmark_step", "benchmark_vector_step"]


def benchmark_step(env: Any, target_duration: float = 5, seed: int | None = None) -> float:
    """Return how many steps an environment does a second, with random actions and the resets between episodes.

    Args:
        env: The environment.
        target_duration: Seconds after which no further step begins.
        seed: Seed of the first episode.

    >>> from funcenv import adapters
    >>> benchmark_step(adapters.make("CartPole-v1"), target_duration=0.01) > 0
    True
    """
    env.reset(seed=seed)
    env.action_space.sample()  # compiles what draws actions

    def step() -> int:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
        return 1

    return _rate(step, target_duration)


def benchmark_vector_step(env: Any, target_duration: float = 5, seed: int | None = None) -> float:
    """Return how many steps the environments of a vector environment do a second, taken together.

    A call that only resets an environment, as in the autoreset mode NEXT_STEP, is no step of that environment.

    Args:
        env: The vector environment.
        target_duration: Seconds after which no further step begins.
        seed: Seed of the environments and of the actions.

    >>> from funcenv import adapters
    >>> benchmark_vector_step(adapters.make_vec("CartPole-v1", num_envs=2), target_duration=0.01) > 0
    True
    """
    env.action_space.seed(seed)
    env.reset(seed=seed)
    env.step(env.action_space.sample())  # compiles the step
    env.reset(seed=seed)
    mode = AutoresetMode.of(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
    has_ended = np.zeros(env.num_envs, bool)

    def step() -> int:
        nonlocal has_ended
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        num_resets = int(has_ended.sum()) if mode is AutoresetMode.NEXT_STEP else 0
        has_ended = np.asarray(terminated) | np.asarray(truncated)
        if mode is AutoresetMode.DISABLED and has_ended.any():
            env.reset(options={"reset_mask": has_ended})
        return int(env.num_envs) - num_resets

    return _rate(step, target_duration)


def benchmark_init(env_lambda: Callable[[], Any], target_duration: float = 5, seed: int | None = None) -> float:
    """Return how many environments are made and reset a second.

    Args:
        env_lambda: Function that makes an environment.
        target_duration: Seconds after which no further environment is made.
        seed: Seed of the first episode of each.
    """

    def make() -> int:
        env_lambda().reset(seed=seed)
        return 1

    return _rate(make, target_duration)


def benchmark_render(env: Any, target_duration: float = 5) -> float:
    """Return how many frames an environment renders a second.

    Args:
        env: An environment that was reset, with a render mode other than "human".
        target_duration: Seconds after which no further frame begins.
    """

    def render() -> int:
        env.render()
        return 1

    return _rate(render, target_duration)


def _rate(call: Callable[[], int], target_duration: float) -> float:
    """Repeat a call until some seconds have passed, and return the sum of its results for a second."""
    total, seconds, start = 0, 0.0, time.time()
    while not seconds > target_duration:
        total += call()
        seconds = time.time() - start
    return total / seconds
