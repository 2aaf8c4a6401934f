"""The stateful vector interface."""

from funcenv.adapters.sync_vector_env import SyncVectorEnv
from funcenv.adapters.vector import utils
from funcenv.adapters.vector_env import VectorEnv
from funcenv.vector import AutoresetMode

__all__ = ["AutoresetMode", "SyncVectorEnv", "VectorEnv", "utils"]
