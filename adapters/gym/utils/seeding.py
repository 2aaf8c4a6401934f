"""The name `gym.utils.seeding`."""

from funcenv.adapters.utils.seeding import *  # noqa: F403  # every public name
from funcenv.adapters.utils.seeding import __all__ as __all__
