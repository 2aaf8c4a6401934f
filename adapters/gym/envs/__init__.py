"""The name `gym.envs`."""

from funcenv.adapters.gym.envs import registration
from funcenv.adapters.gym.envs.registration import make, register, registry, spec

__all__ = ["make", "register", "registration", "registry", "spec"]
