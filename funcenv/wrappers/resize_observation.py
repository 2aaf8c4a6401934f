"""Resize images."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8

from funcenv.checks import require_size
from funcenv.func_env import Action, State
from funcenv.spaces import Box
from funcenv.struct import NDArray, field
from funcenv.wrappers._spaces import first_env, require_image
from funcenv.wrappers.transform_observation import ObservationWrapper


class ResizeObservation(ObservationWrapper[State, Action, UInt8[Array, "..."]]):
    """Resizes images by averaging areas.

    A pixel of a smaller image is the average over its area in the original. If a side grows, pixels are interpolated
    linearly. Both are what OpenCV's `INTER_AREA` does, which Gymnasium uses; rounding may differ by one grey level.

    Put it outside the wrapper that makes images. `PixelObservation(height, width)` draws at the final size, which is
    faster and sharper.

    Args:
        env: an environment whose observations are images, uint8 `[height, width]` or `[height, width, channels]`.
        shape: the new height and width.

    Raises:
        TypeError: The observations are not a `Box`, or `shape` is not a tuple of integers.
        ValueError: The `Box` does not hold images, or `shape` does not hold two sizes of at least 1.

    >>> import funcenv
    >>> env = ResizeObservation(funcenv.wrappers.PixelObservation(funcenv.make("CartPole-v1"), 64, 96), (16, 24))
    >>> env.observation_space
    Box(0, 255, (16, 24, 3), uint8)
    """

    shape: tuple[int, int] = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_image(self, first_env(self.env).observation_space)
        if not isinstance(self.shape, tuple):
            raise TypeError(f"shape must be a tuple (height, width), got {self.shape!r}")
        if len(self.shape) != 2:
            raise ValueError(f"shape must be a tuple (height, width), got {self.shape!r}")
        object.__setattr__(self, "shape", tuple(require_size("a side of shape", side) for side in self.shape))

    def outer_observation(self, observation: UInt8[Array, "..."]) -> UInt8[Array, "..."]:
        """Average over the rows and the columns, and round to the nearest level."""
        rows, columns = resize_weights(observation.shape[:2], self.shape)
        pixels = observation.astype(jnp.float32)
        pixels = jnp.tensordot(jnp.asarray(rows), pixels, 1)
        pixels = jnp.moveaxis(jnp.tensordot(jnp.asarray(columns), pixels, ((1,), (1,))), 0, 1)
        return jnp.clip(jnp.round(pixels), 0, 255).astype(jnp.uint8)

    @property
    def observation_space(self) -> Box:
        """Images of the new size, with the channels of the original."""
        box = require_image(self, self.env.observation_space)
        return Box(0, 255, (*self.shape, *box.shape[2:]), np.uint8)


def resize_weights(old: tuple[int, ...], new: tuple[int, int]) -> tuple[NDArray, NDArray]:
    """Return the weights of old rows and columns in new ones, float32 `[new size, old size]`; each row sums to 1.

    >>> resize_weights((4, 3), (2, 2))[0].tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    """
    grows = any(after > before for before, after in zip(old, new, strict=True))
    weights = _linear_weights if grows else _area_weights
    rows, columns = (weights(before, after) for before, after in zip(old, new, strict=True))
    return rows, columns


def _area_weights(old: int, new: int) -> NDArray:
    """Return the share of each old pixel in the area of each new one."""
    edges = np.arange(new + 1) * old / new
    low, high = edges[:-1, None], edges[1:, None]
    pixels = np.arange(old)[None]
    overlap = np.clip(np.minimum(high, pixels + 1) - np.maximum(low, pixels), 0, None)
    return (overlap / overlap.sum(1, keepdims=True)).astype(np.float32)


def _linear_weights(old: int, new: int) -> NDArray:
    """Return the weights with which OpenCV interpolates an image that grows by `INTER_AREA`."""
    number = np.arange(new)
    first = number * old // new
    second_share = (number + 1) - (first + 1) * (new / old)
    second_share = np.where(second_share <= 0, 0.0, second_share - np.floor(second_share))
    weights = np.zeros((new, old))
    weights[number, first] += 1 - second_share
    weights[number, np.minimum(first + 1, old - 1)] += second_share
    return weights.astype(np.float32)
