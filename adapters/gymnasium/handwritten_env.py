"""A Gymnasium environment over a stateful one that is written by hand."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from funcenv.adapters.compat.results import call_reset, observation_and_info, step_api_compatibility
from funcenv.adapters.env import Env
from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.adapters.spaces.space import GeneratorSpace
from funcenv.adapters.wrappers.wrapper import require_env


class HandwrittenGymnasiumEnv(gymnasium.Env[Any, Any]):
    """A `gymnasium.Env` over a stateful environment that is written by hand, for libraries that ask for one.

    Args:
        env: An `adapters.Env`, with today's interface or that of old Gym. Its attributes can be read through this one.

    Raises:
        TypeError: `env` is not stateful, or a space is not made of those in `funcenv.adapters.spaces`.

    >>> from funcenv import adapters
    >>> class Corridor(adapters.Env):
    ...     observation_space, action_space = adapters.spaces.Discrete(3), adapters.spaces.Discrete(2)
    ...     def reset(self, *, seed=None, options=None):
    ...         super().reset(seed=seed)
    ...         self.cell = 0
    ...         return self.cell, {}
    ...     def step(self, action):
    ...         self.cell += int(action)
    ...         return self.cell, 0.0, self.cell == 2, False, {}
    >>> env = HandwrittenGymnasiumEnv(Corridor())
    >>> isinstance(env, gymnasium.Env), env.action_space, env.reset(seed=0), env.step(1)
    (True, Discrete(2), (0, {}), (1, 0.0, False, False, {}))
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        require_env(type(self).__name__, env)
        self.inner = env
        for name in ("observation_space", "action_space"):
            space = getattr(env, name)
            if type(space) is not GeneratorSpace:
                raise TypeError(f"{name} must be made of those in funcenv.adapters.spaces, got {space!r}")
            setattr(self, name, to_gymnasium(space.pure))
        self.metadata, self.render_mode = env.metadata, env.render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode, and return observation and info."""
        return observation_and_info(call_reset(self.inner, seed, options, return_info=True))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, and return observation, reward, terminated, truncated and info."""
        observation, reward, terminated, truncated, info = step_api_compatibility(self.inner.step(action))
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:
        """Render the environment."""
        return self.inner.render()

    def close(self) -> None:
        """Close the environment."""
        self.inner.close()

    @property
    def np_random(self) -> np.random.Generator:
        """Generator of the environment."""
        return self.inner.np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self.inner.np_random = generator

    @property
    def _np_random(self) -> np.random.Generator | None:  # type: ignore[override]  # which Gymnasium's checker reads
        return self.inner.unwrapped._np_random

    @property
    def np_random_seed(self) -> int:
        """Seed of that generator, or -1 if it was set by the user."""
        return self.inner.np_random_seed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "inner" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.inner.get_wrapper_attr(name)
