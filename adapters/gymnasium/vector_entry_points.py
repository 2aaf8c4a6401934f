"""As `entry_points`, for `gymnasium.make_vec`: for every id, an attribute that builds the vector environment."""

from __future__ import annotations

import dataclasses
from typing import Any

import funcenv
from funcenv.adapters.gymnasium.vector_env import GymnasiumVectorEnv
from funcenv.registry import load_entry_points, registry
from funcenv.vector import AutoresetMode


@dataclasses.dataclass(frozen=True)
class VectorEnvCreator:
    """Builds many of one environment by its id.

    >>> VectorEnvCreator("Pendulum-v1")(num_envs=2, max_episode_steps=9, g=1.6)
    GymnasiumVectorEnv(num_envs=2)
    """

    id: str

    def __call__(
        self,
        num_envs: int,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
        output: str = "numpy",
        render_mode: str | None = None,
        render_height: int | None = None,
        render_width: int | None = None,
        **params: Any,
    ) -> GymnasiumVectorEnv[Any, Any]:
        """The vector environment; the time limit, which Gymnasium passes on here, is ours."""
        func_env = funcenv.make(self.id, max_episode_steps=max_episode_steps, **params)
        return GymnasiumVectorEnv(
            func_env,
            num_envs,
            autoreset_mode=autoreset_mode,
            output=output,
            render_mode=render_mode,
            render_height=render_height,
            render_width=render_width,
        )


def __getattr__(name: str) -> VectorEnvCreator:
    load_entry_points()
    if name not in registry:
        raise AttributeError(f"no environment is registered as {name!r}; import the module that registers it")
    return VectorEnvCreator(name)
