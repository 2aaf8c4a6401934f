"""The name `gym.utils.step_api_compatibility`."""

from funcenv.adapters.utils.step_api_compatibility import *  # noqa: F403  # every public name
from funcenv.adapters.utils.step_api_compatibility import __all__ as __all__
