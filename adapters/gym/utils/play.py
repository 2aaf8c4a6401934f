"""The name `gym.utils.play`."""

from funcenv.adapters.utils.play import *  # noqa: F403  # every public name
from funcenv.adapters.utils.play import __all__ as __all__
