"""What Gymnasium's specs name: for every id, an attribute of this module that builds the environment.

A spec must be text to be saved, and its `kwargs` belong to the user; so the id stands in the entry point,
`"funcenv.adapters.gymnasium.entry_points:CartPole-v1"`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import funcenv
from funcenv.adapters.gymnasium.env import GymnasiumEnv
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
        """The render modes, which Gymnasium looks up before it builds anything."""
        return GymnasiumEnv.metadata

    def __call__(self, render_mode: str | None = None, **params: Any) -> GymnasiumEnv[Any, Any]:
        """The environment without a time limit: that is Gymnasium's to add."""
        return GymnasiumEnv(funcenv.make(self.id, max_episode_steps=None, **params), render_mode)


def __getattr__(name: str) -> EnvCreator:
    load_entry_points()
    if name not in registry:
        raise AttributeError(f"no environment is registered as {name!r}; import the module that registers it")
    return EnvCreator(name)
