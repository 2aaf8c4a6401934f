"""Functions that Gymnasium's specifications name: attributes of this module, one or two for each registered id.

A specification must be text to be saved, and its `kwargs` belong to the user. Therefore the entry point contains the
id: `"funcenv.adapters.gymnasium.entry_points:CartPole-v1"`, with `VECTOR_PREFIX` before the id for `make_vec`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium

from funcenv.adapters.env import Env
from funcenv.adapters.gymnasium.env import GymnasiumEnv
from funcenv.adapters.gymnasium.handwritten_env import HandwrittenGymnasiumEnv
from funcenv.adapters.gymnasium.vector_env import GymnasiumVectorEnv
from funcenv.adapters.registration import make as make_stateful
from funcenv.adapters.rendering.modes import ALL_MODES, render_modes
from funcenv.func_env import FuncEnv
from funcenv.registry import all_specs, make, spec

VECTOR_PREFIX = "vector "  # no id contains a space

_RENDERING = ("render_mode", "render_height", "render_width")


@dataclasses.dataclass(frozen=True)
class EnvCreator:
    """A function that builds the environment of one id. It adds no time limit, because Gymnasium adds it.

    >>> EnvCreator("Pendulum-v1")(g=1.6).func_env.g
    1.6
    """

    id: str

    @property
    def metadata(self) -> dict[str, Any]:
        """The render modes, which Gymnasium reads before it builds an environment.

        A class that is written by hand lists them itself.

        If a function builds the environment, its modes are not known yet, so all modes are listed.
        """
        build: Any = spec(self.id).load()
        if isinstance(build, type) and issubclass(build, Env):
            return build.metadata
        is_class = isinstance(build, type) and issubclass(build, FuncEnv)
        return {**GymnasiumEnv.metadata, "render_modes": render_modes(build) if is_class else list(ALL_MODES)}

    def __call__(self, **arguments: Any) -> gymnasium.Env[Any, Any]:
        """Build the environment; the arguments are its parameters and the rendering options of `GymnasiumEnv`."""
        options = {name: arguments.pop(name) for name in _RENDERING if name in arguments}
        if is_handwritten(self.id):
            return HandwrittenGymnasiumEnv(make_stateful(self.id, max_episode_steps=None, **options, **arguments))
        return GymnasiumEnv(make(self.id, max_episode_steps=None, **arguments), **options)


@dataclasses.dataclass(frozen=True)
class VectorEnvCreator:
    """A function that builds the vector environment of one id, with the time limit that Gymnasium passes on.

    >>> VectorEnvCreator("Pendulum-v1")(num_envs=2, max_episode_steps=9, g=1.6)
    GymnasiumVectorEnv(num_envs=2)
    """

    id: str

    def __call__(
        self, num_envs: int, *, max_episode_steps: int | None = None, **arguments: Any
    ) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """Build the environment; the arguments are its parameters and the options of `GymnasiumVectorEnv`.

        An environment that is written by hand makes a `SyncVectorEnv` of Gymnasium.
        """
        if is_handwritten(self.id):
            mode = {name: arguments.pop(name) for name in ("autoreset_mode",) if name in arguments}

            def make_one() -> gymnasium.Env[Any, Any]:
                return HandwrittenGymnasiumEnv(make_stateful(self.id, max_episode_steps=max_episode_steps, **arguments))

            return gymnasium.vector.SyncVectorEnv([make_one] * num_envs, **mode)
        names = ("autoreset_mode", "output", *_RENDERING)
        options = {name: arguments.pop(name) for name in names if name in arguments}
        func_env = make(self.id, max_episode_steps=max_episode_steps, **arguments)
        return GymnasiumVectorEnv(func_env, num_envs, **options)


def is_handwritten(id: str) -> bool:
    """Return whether an id was registered for a stateful class rather than a functional environment."""
    build: Any = spec(id).load()
    return isinstance(build, type) and issubclass(build, Env)


def __getattr__(name: str) -> EnvCreator | VectorEnvCreator:
    id = name.removeprefix(VECTOR_PREFIX)
    if id not in all_specs():
        raise AttributeError(f"no environment is registered as {id!r}; import the module that registers it")
    return EnvCreator(id) if id == name else VectorEnvCreator(id)
