"""The stateful vector interface."""

from typing import TYPE_CHECKING, NoReturn

import funcenv.hints as _hints
from funcenv.adapters.async_vector_env import AsyncVectorEnv
from funcenv.adapters.sync_vector_env import SyncVectorEnv
from funcenv.adapters.vector import utils
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers.vector.wrapper import (
    VectorActionWrapper,
    VectorObservationWrapper,
    VectorRewardWrapper,
    VectorWrapper,
)
from funcenv.vector import AutoresetMode

__all__ = [
    "AsyncVectorEnv",
    "AutoresetMode",
    "SyncVectorEnv",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
    "utils",
]


if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> NoReturn:
        """Say what takes the place of a name that is missing."""
        raise AttributeError(_hints.missing_name(f"module {__name__!r}", name, _hints.OF_ADAPTERS_VECTOR, __all__))
