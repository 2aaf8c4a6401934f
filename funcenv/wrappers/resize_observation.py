"""Resize images."""

from __future__ import annotations

import sys
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from funcenv._compile.materialize import materialize
from funcenv._jax import optimization_barrier
from funcenv.checks import require_size
from funcenv.func_env import Action, State
from funcenv.spaces import Box
from funcenv.struct import NDArray, field
from funcenv.wrappers._spaces import first_env, require_image
from funcenv.wrappers.transform_observation import ObservationWrapper

_ONE = 2048  # fixed-point unit of OpenCV's weights of interpolation


class ResizeObservation(ObservationWrapper[State, Action, UInt8[Array, "..."]]):
    """Resizes images by averaging areas.

    A pixel of a smaller image is the average over its area in the original. If a side grows, both sides are
    interpolated linearly. Images are equal, bit for bit, to those of OpenCV's `INTER_AREA`, which Gymnasium uses.

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
    sides = list(zip(image.shape, shape, strict=False))
    if any(new > old for old, new in sides):
        return _interpolate(image, shape)
    if all(_is_whole_factor(old, new) for old, new in sides):
        return _average_blocks(image, shape)
    pixels = _average(_average(image.astype(jnp.float32), 1, shape[1]), 0, shape[0])
    return jnp.clip(jnp.round(pixels), 0, 255).astype(jnp.uint8)


def _is_whole_factor(old: int, new: int) -> bool:
    """Return whether OpenCV averages blocks of pixels; it takes a few whole factors, such as 49, for fractions.

    >>> _is_whole_factor(98, 49), _is_whole_factor(98, 2), _is_whole_factor(98, 3)
    (True, False, False)
    """
    factor = 1 / (new / old)
    return abs(factor - round(factor)) < sys.float_info.epsilon


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
    The barrier hides the choice from it even if the whole image is known when it compiles.
    """
    total: Any = 0
    bound = optimization_barrier(jnp.float32(1e9))
    for old, weight in zip(*_area_weights(pixels.shape[axis], new), strict=True):
        weight = weight.reshape([-1 if number == axis else 1 for number in range(pixels.ndim)])
        term = jnp.take(pixels, old, axis) * weight
        total = total + jnp.where(term < bound, term, 0.0)
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


def _interpolate(image: UInt8[Array, "..."], shape: tuple[int, int]) -> UInt8[Array, "..."]:
    """Return the image at a size with a longer side, by OpenCV's integer arithmetic with weights in units of 1/2048."""
    rows, row_weights = _linear_taps(image.shape[0], shape[0])
    columns, column_weights = _linear_taps(image.shape[1], shape[1])
    column_weights[:, columns[0] == columns[1]] = np.array([[_ONE], [0]])  # OpenCV does so for columns only
    pixels = image.astype(jnp.int32)
    left, right = (_weigh(pixels, 1, *tap) for tap in zip(columns, column_weights, strict=True))
    pixels = (left + right) >> 4
    above, below = (_weigh(pixels, 0, *tap) >> 16 for tap in zip(rows, row_weights, strict=True))
    return ((above + below + 2) >> 2).astype(jnp.uint8)


def _weigh(pixels: Int[Array, "..."], axis: int, old: NDArray, weights: NDArray) -> Int[Array, "..."]:
    """Return the pixels `old` along an axis, each times its weight."""
    return jnp.take(pixels, old, axis) * weights.reshape([-1 if number == axis else 1 for number in range(pixels.ndim)])


def _linear_taps(old: int, new: int) -> tuple[NDArray, NDArray]:
    """Return the two old pixels between which each new one lies, `[2, new]`, and their weights, in units of 1/2048.

    The factor is the inverse of an inverse in float64 and the share is rounded to float32, as in OpenCV: it takes
    `floor(128 * (1 / (256 / 210)))`, which is 104, for row 128 of 256, not `floor(128 * 210 / 256)`, which is 105.

    >>> [part.tolist() for part in _linear_taps(2, 3)]
    [[[0, 0, 1], [1, 1, 1]], [[2048, 1024, 2048], [0, 1024, 0]]]
    """
    growth = new / old
    number = np.arange(new)
    first = np.floor(number * (1 / growth)).astype(np.int32)
    share = ((number + 1) - (first + 1) * growth).astype(np.float32)
    share = np.where(share <= 0, np.float32(0), share - np.floor(share))
    weights = np.round(np.stack([1 - share, share]) * np.float32(_ONE)).astype(np.int32)
    return np.minimum(np.stack([first, first + 1]), old - 1), weights
