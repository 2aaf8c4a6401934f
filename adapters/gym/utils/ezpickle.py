"""The name `gym.utils.ezpickle`."""

from funcenv.adapters.utils.ezpickle import *  # noqa: F403  # every public name
from funcenv.adapters.utils.ezpickle import __all__ as __all__
