"""The stateful vector interface."""

from funcenv.adapters.vector.sync_vector_env import SyncVectorEnv
from funcenv.adapters.vector.vector_env import VectorEnv
from funcenv.vector import AutoresetMode

__all__ = ["AutoresetMode", "SyncVectorEnv", "VectorEnv"]
