"""Tools under the names of `gymnasium.utils`, so that import lines of its pages need another package only."""

from funcenv.adapters.utils import (
    env_checker,
    ezpickle,
    performance,
    play,
    record_constructor,
    save_video,
    seeding,
    step_api_compatibility,
)
from funcenv.adapters.utils.colorize import colorize
from funcenv.adapters.utils.ezpickle import EzPickle
from funcenv.adapters.utils.record_constructor import RecordConstructorArgs

__all__ = [
    "EzPickle",
    "RecordConstructorArgs",
    "colorize",
    "env_checker",
    "ezpickle",
    "performance",
    "play",
    "record_constructor",
    "save_video",
    "seeding",
    "step_api_compatibility",
]
