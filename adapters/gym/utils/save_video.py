"""The name `gym.utils.save_video`."""

from funcenv.adapters.utils.save_video import *  # noqa: F403  # every public name
from funcenv.adapters.utils.save_video import __all__ as __all__
