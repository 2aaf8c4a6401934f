"""The name `gym.logger`."""

from funcenv.adapters.logger import *  # noqa: F403  # every public name
from funcenv.adapters.logger import __all__ as __all__
