"""What Gymnasium's specs name: for every id, an attribute of this module that builds the environment.

A spec must be text to be saved, and its `kwargs` belong to the user; so the id stands in the entry point,
`"funcenv.adapters.gymnasium.entry_points:CartPole-v1"`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import funcenv
from funcenv.adapters.gymnasium.env import GymnasiumEnv
from funcenv.adapters.rendering.modes import ALL_MODES, render_modes
from funcenv.func_env import FuncEnv
from funcenv.registry import load_entry_points, registry


@dataclasses.dataclass(frozen=True)
class EnvCreator:
    """Builds one environment by its id.

    >>> EnvCreator("Pendulum-v1")(g=1.6).func_env.g
    1.6
    """

    id: str

    @property
    def metadata(self) -> dict[str, Any]:
        """The render modes, which Gymnasium looks up before it builds anything.

        Those of an environment that a function builds are known only then; until then it may have all of them.
        """
        build: Any = registry[self.id].load()
        is_class = isinstance(build, type) and issubclass(build, FuncEnv)
        return {**GymnasiumEnv.metadata, "render_modes": render_modes(build) if is_class else list(ALL_MODES)}

    def __call__(
        self,
        render_mode: str | None = None,
        *,
        render_height: int | None = None,
        render_width: int | None = None,
        **params: Any,
    ) -> GymnasiumEnv[Any, Any]:
        """The environment without a time limit: that is Gymnasium's to add."""
        func_env = funcenv.make(self.id, max_episode_steps=None, **params)
        return GymnasiumEnv(func_env, render_mode, render_height=render_height, render_width=render_width)


def __getattr__(name: str) -> EnvCreator:
    load_entry_points()
    if name not in registry:
        raise AttributeError(f"no environment is registered as {name!r}; import the module that registers it")
    return EnvCreator(name)
