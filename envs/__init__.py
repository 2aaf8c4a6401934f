"""The environments, one file each; every folder is a family and exports its own.

A family is imported when one of its environments is asked for.
"""

if __name__ != "funcenv.envs":
    raise ImportError("import funcenv.envs")

import importlib
from typing import TYPE_CHECKING, Any

import funcenv.hints as _hints
from funcenv.envs.registration import register_envs as register_envs

if TYPE_CHECKING:
    from funcenv.envs.arcade import *  # noqa: F403
    from funcenv.envs.atari import *  # noqa: F403
    from funcenv.envs.box2d import *  # noqa: F403
    from funcenv.envs.classic_control import *  # noqa: F403
    from funcenv.envs.dm_control import *  # noqa: F403
    from funcenv.envs.goals import *  # noqa: F403
    from funcenv.envs.mujoco import *  # noqa: F403
    from funcenv.envs.multi_agent import *  # noqa: F403
    from funcenv.envs.robotics import *  # noqa: F403
    from funcenv.envs.toy_text import *  # noqa: F403
else:
    # The order in which a name is looked for.
    _FAMILIES = (
        "classic_control",
        "toy_text",
        "box2d",
        "mujoco",
        "atari",
        "arcade",
        "multi_agent",
        "goals",
        "dm_control",
        "robotics",
    )

    def __getattr__(name: str) -> Any:
        """Return a family, or what a family exports."""
        if name in _FAMILIES:
            return importlib.import_module(f"{__name__}.{name}")
        if name == "__all__":
            return ["register_envs", *(one for family in _FAMILIES for one in __getattr__(family).__all__)]
        if not name.startswith("_"):
            for family in map(__getattr__, _FAMILIES):
                if name in family.__all__:
                    return getattr(family, name)
        raise AttributeError(
            _hints.missing_name(f"module {__name__!r}", name, _hints.OF_ENVS, () if name[:1] == "_" else __dir__())
        )

    def __dir__() -> list[str]:
        return [*_FAMILIES, *__getattr__("__all__")]
