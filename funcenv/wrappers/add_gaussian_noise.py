"""Add noise to observations, as those of real sensors have."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checks import require_at_least, require_finite
from funcenv.func_env import Action, State
from funcenv.spaces import Box
from funcenv.struct import NEVER_BATCHED, field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import Wrapper


class AddGaussianNoise(Wrapper[State, Action, Any]):
    """Adds normal noise to float observations, and clips the sum to the observation space.

    Every observation has noise of its own, which follows from its key. The states are those of the environment inside.
    `AddWhiteNoise` is for images. Put it inside `NormalizeObservation`, and inside `DelayObservation` and
    `FrameStackObservation`, which then keep an observation with its noise.

    Args:
        env: an environment whose observations are a `Box` of floats.
        standard_deviation: a number, or one for each element of an observation; at least 0.

    Raises:
        TypeError: The observations are no `Box` of floats.
        ValueError: A standard deviation that is negative or not finite, or of another shape.

    >>> import funcenv
    >>> env = AddGaussianNoise(funcenv.make("CartPole-v1"), 0.1)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> bool((timestep.observation != funcenv.make("CartPole-v1").reset(funcenv.key(0))[1].observation).all())
    True
    """

    standard_deviation: Any = field(ndim=NEVER_BATCHED)

    def __post_init__(self) -> None:
        super().__post_init__()
        space = first_env(self.env).observation_space
        if not isinstance(space, Box) or space.dtype.kind != "f":
            raise TypeError(f"AddGaussianNoise needs observations that are a Box of floats, got {space!r}")
        require_finite(standard_deviation=self.standard_deviation)
        require_at_least(0, "standard_deviation", self.standard_deviation, remedy="0 adds no noise")
        shape = np.shape(self.standard_deviation)
        if shape not in ((), space.shape):
            raise ValueError(f"standard_deviation must be a number or have the shape {space.shape}, got {shape}")

    def observation(self, state: State, key: jax.Array) -> Any:
        """Return the inner observation with noise."""
        observation = super().observation(state, key)
        noise = jax.random.normal(self.extra_key(key), observation.shape, observation.dtype)
        scale = jnp.broadcast_to(jnp.asarray(self.standard_deviation, observation.dtype), observation.shape)
        space: Any = self.env.observation_space
        return jnp.clip(observation + scale * noise, space.low, space.high)
