"""The name `gym.envs.registration`."""

from __future__ import annotations

from typing import Any

from funcenv.adapters import registration
from funcenv.adapters.envs.registration import (
    EnvSpec,
    find_highest_version,
    get_env_id,
    parse_env_id,
    register,
    registry,
    spec,
)
from funcenv.adapters.wrappers.compatibility import StepCompatibility

__all__ = [
    "EnvSpec",
    "find_highest_version",
    "get_env_id",
    "make",
    "parse_env_id",
    "register",
    "registry",
    "spec",
]


def make(id: str | EnvSpec, *, return_two_dones: bool = False, **arguments: Any) -> StepCompatibility[Any, Any]:
    """Build a registered environment with old Gym's interface.

    Args:
        id: As for `funcenv.adapters.make`.
        return_two_dones: Whether `step` returns `terminated` and `truncated` in place of `done`.
        **arguments: The other arguments of `funcenv.adapters.make`.

    >>> env = make("MountainCar-v0").unwrapped
    >>> env.seed(0)
    [0]
    >>> observation = env.reset()
    >>> len(env.step(1))
    4
    """
    return StepCompatibility(registration.make(id, **arguments), return_two_dones)
