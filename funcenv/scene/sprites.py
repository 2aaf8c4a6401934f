"""Shapes made of texels: sprites and text.

They stay upright. Every pixel shows the exact mean of the texels under it, so enlarged sprites are sharp and reduced
ones smooth. Rows and columns overlap independently of each other, so a sprite is two matrix products.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checks import require_one_of
from funcenv.scene._fields import Codes, Color, Length, Number, Point, Size, Texels
from funcenv.scene.color import luminance
from funcenv.scene.font import ADVANCE, BLANK, CAPITAL_HEIGHT, GLYPH_HEIGHT, glyphs
from funcenv.scene.shapes import Layer, Pixels, Shape
from funcenv.struct import field

_ANCHORS = {"left": 0.5, "center": 0.0, "right": -0.5}  # offset of the text's middle from the anchor, in its widths


class Sprite(Shape):
    """A small image, each of whose texels is a rectangle.

    >>> Sprite((0.0, 0.0), (1.0, 1.0), np.zeros((8, 8, 4), np.uint8)).image.shape
    (8, 8, 4)
    """

    center: Point
    size: Size  # width, height
    image: Texels  # uint8 [rows, columns, 4], the top row first: red, green, blue, opacity, from 0 to 255
    alpha: Number = 1.0  # opacity of the whole sprite

    def __post_init__(self) -> None:
        shape, dtype = np.shape(self.image), getattr(self.image, "dtype", None)
        if dtype != np.uint8 or len(shape) < 3 or shape[-1] != 4:
            raise ValueError(
                f"image must be uint8 [rows, columns, 4], red, green, blue, opacity; got {dtype}{list(shape)}"
            )

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return one layer, whose colours are weighted by opacity: transparent texels contribute none."""
        image = jnp.asarray(self.image).astype(jnp.float32) / 255.0
        alpha = image[..., 3]
        covered = _mean_texels(alpha, self.center, self.size, pixels)
        weight = jnp.maximum(covered, 1e-6)
        planes = [image[..., channel] for channel in range(3)]
        if pixels.luminance is not None:  # one plane instead of three
            red, green, blue = planes
            planes = [luminance(red, green, blue, pixels.luminance)]
        colors = [_mean_texels(plane * alpha, self.center, self.size, pixels) / weight for plane in planes]
        red, green, blue = colors if len(colors) == 3 else colors * 3
        yield Layer(covered, (red, green, blue), self.alpha)


class Text(Shape):
    """One line of text in the built-in font.

    The codes may depend on the state, but their number may not: pad with spaces.

    >>> from funcenv.scene import letters
    >>> Text((0.0, 0.0), letters("Step"), 0.2, (0.0, 0.0, 0.0, 1.0), anchor="left").codes
    array([ 83, 116, 101, 112], dtype=int32)
    """

    position: Point  # the anchor, at half the height of a capital letter
    codes: Codes  # int32 [characters]: `letters("text")` or `digits(number, count)`
    height: Length  # height of a capital letter
    color: Color
    anchor: str = field(pytree_node=False, default="center")  # "left", "center" or "right" end of the text

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of("anchor", self.anchor, _ANCHORS)

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return one layer with all characters."""
        characters = self.codes.shape[0]
        drawn = jnp.asarray(glyphs())[jnp.clip(self.codes - BLANK, 0, 94)]  # [characters, 9, 5]
        drawn = jnp.pad(drawn, ((0, 0), (0, 0), (0, 1)))
        drawn = drawn.transpose(1, 0, 2).reshape(GLYPH_HEIGHT, characters * ADVANCE)
        texel = self.height / CAPITAL_HEIGHT
        inked = characters * ADVANCE - 1
        x = self.position[0] + (_ANCHORS[self.anchor] * inked + 0.5) * texel
        y = self.position[1] - (GLYPH_HEIGHT - CAPITAL_HEIGHT) / 2 * texel
        size = (characters * ADVANCE * texel, GLYPH_HEIGHT * texel)
        covered = _mean_texels(drawn, (x, y), size, pixels)
        yield Layer(covered, (self.color[0], self.color[1], self.color[2]), self.color[3])


def _mean_texels(texels: jax.Array, center: Any, size: Any, pixels: Pixels) -> jax.Array:
    """Return the mean of the texels `[rows, columns]` under each pixel `[height, width]`, 0 around them."""
    rows, columns = texels.shape
    across = _overlap(pixels.x.reshape(-1), center[0], size[0], columns, pixels.size)
    down = _overlap(-pixels.y.reshape(-1), -center[1], size[1], rows, pixels.size)
    matmul = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    if rows <= columns:  # the order that takes fewer multiplications, since pictures have more pixels than texels
        return matmul(down, matmul(texels, across.T))
    return matmul(matmul(down, texels), across.T)


def _overlap(positions: jax.Array, center: Any, size: Any, count: int, pixel: Any) -> jax.Array:
    """Return the part of each pixel that each of `count` equal intervals covers: `[pixels, count]`."""
    texel = size / count
    edges = center - size / 2 + jnp.arange(count + 1, dtype=jnp.float32) * texel
    positions = positions[:, None]
    first = jnp.maximum(positions - pixel / 2, edges[None, :-1])
    last = jnp.minimum(positions + pixel / 2, edges[None, 1:])
    return jnp.maximum(last - first, 0.0) / pixel
