"""Old Gym under its own names: `from funcenv.adapters import gym` takes the place of `import gym`.

`gym.make` returns environments with the interface of Gym 0.21 to 0.25: `reset` returns the observation, or with
`return_info=True` observation and info; `step` returns four values; `render` takes a mode; and there is `seed`. The
other names are those of `funcenv.adapters`, whose wrappers keep the interface of what is inside.

>>> from funcenv.adapters import gym
>>> env = gym.make("CartPole-v1")
>>> observation, info = env.reset(seed=42, return_info=True)
>>> observation, reward, done, info = env.step(env.action_space.sample())
>>> reward, done
(1.0, False)
"""

from __future__ import annotations

from typing import Any

from funcenv.adapters import registration, spaces, utils, wrappers
from funcenv.adapters.env import Env
from funcenv.adapters.playing import play
from funcenv.adapters.registration import register, registry, spec
from funcenv.adapters.spaces.space import Space
from funcenv.adapters.wrappers import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper
from funcenv.adapters.wrappers.compatibility import StepCompatibility
from funcenv.registry import EnvSpec

__all__ = [
    "ActionWrapper",
    "Env",
    "ObservationWrapper",
    "RewardWrapper",
    "Space",
    "Wrapper",
    "make",
    "play",
    "register",
    "registry",
    "spaces",
    "spec",
    "utils",
    "wrappers",
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
