"""The name `gymnasium.vector.vector_env`."""

from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.vector_env import VectorEnv
from funcenv.vector import AutoresetMode

__all__ = ["ActType", "AutoresetMode", "ObsType", "VectorEnv"]
