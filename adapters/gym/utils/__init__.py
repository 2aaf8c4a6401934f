"""The name `gym.utils`."""

from funcenv.adapters.gym.utils import env_checker, ezpickle, play, save_video, seeding, step_api_compatibility
from funcenv.adapters.gym.utils.colorize import colorize
from funcenv.adapters.gym.utils.ezpickle import EzPickle

__all__ = [
    "EzPickle",
    "colorize",
    "env_checker",
    "ezpickle",
    "play",
    "save_video",
    "seeding",
    "step_api_compatibility",
]
