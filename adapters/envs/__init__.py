"""The name `gymnasium.envs`, whose module `registration` programs import."""

from funcenv.adapters.envs import registration
from funcenv.adapters.envs.registration import make, register, registry, spec

__all__ = ["make", "register", "registration", "registry", "spec"]
