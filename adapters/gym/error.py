"""The name `gym.error`."""

from funcenv.adapters.error import *  # noqa: F403  # every public name
from funcenv.adapters.error import __all__ as __all__
