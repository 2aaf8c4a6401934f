"""The name `gym.spaces.utils`."""

from funcenv.adapters.spaces.utils import *  # noqa: F403  # every public name
from funcenv.adapters.spaces.utils import __all__ as __all__
