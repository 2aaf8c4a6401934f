"""Pictures as observations: which spaces hold them, and the part of a network that looks at them."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from funcenv.spaces import Box, Space


def is_picture(space: Space[Any]) -> bool:
    """Whether members are pictures: uint8, grey `[height, width]` or `[height, width, channels]`, or stacked frames.

    >>> is_picture(Box(0, 255, (84, 84, 3), np.uint8)), is_picture(Box(-1, 1, (84, 84)))
    (True, False)
    """
    return isinstance(space, Box) and space.dtype == np.uint8 and 2 <= len(space.shape) <= 4


def with_channels(picture: UInt8[Array, "..."]) -> UInt8[Array, "height width channels"]:
    """A picture with all its colours and frames as channels.

    Three axes are `[height, width, channels]` where the last is at most 4, and `[frames, height, width]` otherwise.

    >>> shapes = (84, 84), (84, 84, 3), (2, 84, 84), (2, 84, 84, 3)
    >>> [with_channels(jnp.zeros(shape, jnp.uint8)).shape[-1] for shape in shapes]
    [1, 3, 2, 6]
    """
    if picture.ndim == 2:
        return picture[..., None]
    if picture.ndim == 3:
        return picture if picture.shape[-1] <= 4 else jnp.moveaxis(picture, 0, -1)
    return jnp.moveaxis(picture, 0, 2).reshape(*picture.shape[1:3], -1)


class ImageEncoder(nn.Module):
    """Convolutions whose windows do not overlap, with ReLU in between: from a picture to a vector.

    Such a convolution is one matrix product, and stays one for several networks side by side, where XLA's convolutions
    on a CPU become very slow. What is left over at the right and bottom borders is filled up with zeros.

    >>> encoder = ImageEncoder(sizes=(7, 3), channels=(16, 32))
    >>> encoder.init_with_output(jax.random.key(0), jnp.zeros((5, 84, 84, 2), jnp.uint8))[0].shape
    (5, 512)
    """

    sizes: tuple[int, ...]  # of the windows, from the first layer on
    channels: tuple[int, ...]  # of each layer

    @nn.compact
    def __call__(self, picture: Any) -> Float[Array, "*batch n"]:
        """Of pictures `[*batch, height, width, channels]`: uint8, or floats, which are taken as they are."""
        x = picture.astype(float) / 255 if picture.dtype == np.uint8 else picture
        for size, channels in zip(self.sizes, self.channels, strict=True):
            layer = nn.Dense(channels, kernel_init=nn.initializers.orthogonal(np.sqrt(2)))
            x = nn.relu(layer(_windows(x, size)))
        return x.reshape(*x.shape[:-3], -1)


def _windows(x: jax.Array, size: int) -> jax.Array:
    """`[..., height, width, n]` as `[..., height / size, width / size, size * size * n]`."""
    *batch, height, width, channels = x.shape
    rows, columns = -(-height // size), -(-width // size)
    fill = [(0, 0)] * len(batch) + [(0, rows * size - height), (0, columns * size - width), (0, 0)]
    x = jnp.pad(x, fill).reshape(*batch, rows, size, columns, size, channels)
    return jnp.moveaxis(x, -3, -4).reshape(*batch, rows, columns, size * size * channels)
