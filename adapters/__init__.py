"""Stateful faces of the pure environments."""

if __name__ != "funcenv.adapters":
    raise ImportError("import funcenv.adapters")

from funcenv.adapters.env import Env
from funcenv.adapters.errors import ClosedEnvironment, ConcurrentUse, ResetNeeded
from funcenv.adapters.functional import FunctionalEnv, Snapshot
from funcenv.adapters.seeding import seed_to_key

__all__ = [
    "ClosedEnvironment",
    "ConcurrentUse",
    "Env",
    "FunctionalEnv",
    "ResetNeeded",
    "Snapshot",
    "seed_to_key",
]
