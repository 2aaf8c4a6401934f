"""Drawings of the games of MinAtar: a board of cells, of which those with objects are coloured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool

from funcenv.scene import Camera, Scene, Sprite, rgba

SIZE = 10.0  # side of the board, in cells
_DOTS = 6  # texels along a side of a cell, of which the outermost are a gap


def draw_cells(
    cells: Sequence[Bool[Array, "10 10"]], colors: Sequence[str], background: str, backdrop: tuple[Any, ...] = ()
) -> Scene:
    """Draw the objects of each channel as squares of its colour; earlier channels cover later ones.

    Args:
        cells: where the objects of each channel are; row 0 is at the top.
        colors: of each channel.
        background: the colour around the objects.
        backdrop: shapes behind them.
    """
    image = jnp.zeros((*cells[0].shape, 4), jnp.float32)
    for where, color in reversed(list(zip(cells, colors, strict=True))):
        image = jnp.where(where[..., None], 255.0 * jnp.asarray(rgba(color), jnp.float32)[None, None], image)
    texels = jnp.repeat(jnp.repeat(image, _DOTS, axis=0), _DOTS, axis=1)
    inside = jnp.arange(_DOTS * cells[0].shape[0]) % _DOTS
    solid = (inside > 0) & (inside < _DOTS - 1)
    opacity = jnp.where(solid[:, None] & solid[None], 1.0, 0.25)
    texels = texels.at[..., 3].multiply(opacity).astype(jnp.uint8)
    half = SIZE / 2
    return Scene(
        Camera((half, half), SIZE, SIZE),
        (Sprite((half, half), (SIZE, SIZE), texels),),
        backdrop=backdrop,
        background=rgba(background),
    )
