"""The name `gymnasium.utils.seeding` for `np_random`."""

from funcenv.adapters.engine.seeding import np_random

__all__ = ["np_random"]
