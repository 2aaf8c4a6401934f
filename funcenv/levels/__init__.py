"""Levels: parameters and keys that tell one task of an environment from another.

A level is a dict of parameters by field name, with a key or without. `LevelSet` holds many, `FiniteLevels` in
`funcenv.wrappers` plays them, `LevelSampler` replays those that an agent can learn most from, and `contact_sheet` draws
them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funcenv.levels.design import HasLevels
    from funcenv.levels.evaluation import LevelScores, evaluate_levels
    from funcenv.levels.level_set import LevelSet, draw_levels
    from funcenv.levels.sampler import LevelSampler
    from funcenv.levels.sheet import contact_sheet

_MODULES = {
    "HasLevels": "design",
    "LevelSampler": "sampler",
    "LevelScores": "evaluation",
    "LevelSet": "level_set",
    "contact_sheet": "sheet",
    "draw_levels": "level_set",
    "evaluate_levels": "evaluation",
}

__all__ = [
    "HasLevels",
    "LevelSampler",
    "LevelScores",
    "LevelSet",
    "contact_sheet",
    "draw_levels",
    "evaluate_levels",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that environments can import `funcenv.levels.design` alone."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
