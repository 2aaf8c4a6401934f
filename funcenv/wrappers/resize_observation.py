"""Resize images."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from funcenv.checks import require_size
from funcenv.func_env import Action, State
from funcenv.scene._materialize import materialize
from funcenv.spaces import Box
from funcenv.struct import NDArray, field
from funcenv.wrappers._spaces import first_env, require_image
from funcenv.wrappers.transform_observation import ObservationWrapper


class ResizeObservation(ObservationWrapper[State, Action, UInt8[Array, "..."]]):
    """Resizes images by averaging areas.

    A pixel of a smaller image is the average over its area in the original. If a side grows, pixels are interpolated
    linearly. Both are what OpenCV's `INTER_AREA` does, which Gymnasium uses. Smaller images are equal to those of
    OpenCV, and in larger ones rounding may differ by one grey level.

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
        """Resize the image."""
        return resize(materialize(observation), self.shape)  # each pixel is read several times, and drawn once

    @property
    def observation_space(self) -> Box:
        """Images of the new size, with the channels of the original."""
        box = require_image(self, self.env.observation_space)
        return Box(0, 255, (*self.shape, *box.shape[2:]), np.uint8)


def resize(image: UInt8[Array, "..."], shape: tuple[int, int]) -> UInt8[Array, "..."]:
    """Return an image `[height, width, ...]` at another height and width, as `cv2.resize` does by `INTER_AREA`.

    >>> resize(jnp.array([[0, 10, 20, 30]], jnp.uint8), (1, 2)).tolist()
    [[5, 25]]
    """
    old = image.shape[:2]
    if any(after > before for before, after in zip(old, shape, strict=True)):
        rows, columns = (_linear_weights(before, after) for before, after in zip(old, shape, strict=True))
        pixels = jnp.tensordot(jnp.asarray(rows), image.astype(jnp.float32), 1)
        pixels = jnp.moveaxis(jnp.tensordot(jnp.asarray(columns), pixels, ((1,), (1,))), 0, 1)
    elif old[0] % shape[0] == old[1] % shape[1] == 0:
        return _average_blocks(image, shape)
    else:
        pixels = _average(_average(image.astype(jnp.float32), 1, shape[1]), 0, shape[0])
    return jnp.clip(jnp.round(pixels), 0, 255).astype(jnp.uint8)


def _average_blocks(image: UInt8[Array, "..."], shape: tuple[int, int]) -> UInt8[Array, "..."]:
    """Return the averages over blocks of pixels."""
    height, width = image.shape[0] // shape[0], image.shape[1] // shape[1]
    blocks = image.astype(jnp.int32).reshape(shape[0], height, shape[1], width, *image.shape[2:])
    total = blocks.sum((1, 3))
    if height == width == 2:  # the one case in which OpenCV rounds halves up rather than to the even level
        return ((total + 2) // 4).astype(jnp.uint8)
    return jnp.round(total.astype(jnp.float32) * np.float32(1 / (height * width))).astype(jnp.uint8)


def _average(pixels: Float[Array, "..."], axis: int, new: int) -> Float[Array, "..."]:
    """Return the averages along an axis over the areas of the new pixels.

    The terms are added in OpenCV's order, each with a rounding of its own, so that sums halfway between two levels are
    rounded as by OpenCV. XLA would contract a product and a sum into one operation, but does not see through a choice.
    """
    total: Any = 0
    for old, weight in zip(*_area_weights(pixels.shape[axis], new), strict=True):
        weight = weight.reshape([-1 if number == axis else 1 for number in range(pixels.ndim)])
        term = jnp.take(pixels, old, axis) * weight
        total = total + jnp.where(term < 1e9, term, 0.0)
    return total


def _area_weights(old: int, new: int) -> tuple[NDArray, NDArray]:
    """Return the old pixels that a new one covers, `[terms, new]`, and their shares in it, float32; some are 0.

    >>> _area_weights(3, 2)[0].tolist()
    [[0, 1], [1, 2]]
    >>> (3 * _area_weights(3, 2)[1]).round().tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    scale = old / new
    low = np.arange(new) * scale
    high = np.minimum(low + scale, old)
    first = np.floor(low + 1e-3).astype(int)  # an edge this close to that of a pixel counts as the same
    pixels = first + np.arange(int(np.ceil(scale)) + 1)[:, None]
    overlap = np.minimum(high, pixels + 1.0) - np.maximum(low, pixels)
    shares = np.where(overlap > 1e-3, overlap, 0.0) / np.minimum(scale, old - low)
    used = (shares > 0).any(1)
    return np.minimum(pixels, old - 1)[used], shares[used].astype(np.float32)


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
