"""The name `gym.utils.colorize`."""

from funcenv.adapters.utils.colorize import *  # noqa: F403  # every public name
from funcenv.adapters.utils.colorize import __all__ as __all__
