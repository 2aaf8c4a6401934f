"""The name `gym.utils.env_checker`."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.checking import env_checker
from funcenv.adapters.env import Env
from funcenv.adapters.wrappers.compatibility import EnvCompatibility

__all__ = ["check_env"]


def check_env(env: Env[Any, Any], warn: bool = True, skip_render_check: bool = True) -> None:
    """Check a stateful environment with old Gym's interface or with today's; see `funcenv.adapters.check_env`.

    >>> from funcenv.adapters import gym
    >>> check_env(gym.make("CartPole-v1"), warn=False)
    """
    is_env = isinstance(env, Env)  # the checker says what else it was given
    env_checker.check_env(EnvCompatibility(env) if is_env else env, warn, skip_render_check)
