"""The name `gymnasium.utils.seeding` for `np_random` and the class of its generators."""

import numpy as np

from funcenv.adapters.engine.seeding import np_random

RandomNumberGenerator = RNG = np.random.Generator

__all__ = ["RNG", "RandomNumberGenerator", "np_random"]
