"""The name `gym.spaces`."""

from funcenv.adapters.spaces import *  # noqa: F403  # every public name
from funcenv.adapters.spaces import __all__ as __all__
