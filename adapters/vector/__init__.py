"""The stateful vector interface."""

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
