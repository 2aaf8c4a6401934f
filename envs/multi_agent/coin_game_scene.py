"""The drawing of the Coin Game."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.scene import Camera, Circle, Rectangle, Scene, Shape, palette, rgba

_COLORS = rgba("#d64550"), rgba("#3b6fd4")  # colours of the red and the blue player
_EDGES = rgba("#8f1f2b"), rgba("#1f3f8a")


def draw_coin_game(size: int, places: Int[Array, "2 2"], coin: Int[Array, "2"], coin_is_red: Bool[Array, ""]) -> Scene:
    """Return the grid from above: the players are figures in their colours, the coin has a rim.

    >>> len(draw_coin_game(3, jnp.zeros((2, 2), int), jnp.array([1, 2]), jnp.array(True)).shapes)
    10
    """
    half = size / 2
    cells = [
        Rectangle((column + 0.5, size - row - 0.5), (0.94, 0.94), rgba(palette.WHITE), corner_radius=0.1)
        for row in range(size)
        for column in range(size)
    ]
    players = [
        shape
        for i, side in enumerate((-0.17, 0.17))  # an offset shows both players of one cell
        for shape in _player(_center(size, places[i]), side, i)
    ]
    return Scene(
        Camera((half, half), size + 0.2, size + 0.2),
        (*_coin(_center(size, coin), coin_is_red), *players),
        backdrop=tuple(cells),
        background=rgba("#d9dde3"),
    )


def _center(size: int, place: Int[Array, "2"]) -> tuple[Any, Any]:
    row, column = place.astype(jnp.float32)
    return column + 0.5, size - row - 0.5


def _coin(center: tuple[Any, Any], is_red: Bool[Array, ""]) -> list[Shape]:
    def pick(colors: tuple[Any, Any]) -> Any:
        red, blue = (jnp.asarray(color, jnp.float32) for color in colors)
        return jnp.where(is_red, red, blue)

    return [
        Circle(center, 0.3, pick(_EDGES)),
        Circle(center, 0.25, rgba("#f2c14e")),
        Circle(center, 0.19, pick(_COLORS)),
        Circle((center[0] - 0.06, center[1] + 0.07), 0.05, rgba(palette.WHITE, 0.7)),
    ]


def _player(center: tuple[Any, Any], side: float, i: int) -> list[Shape]:
    x, y = center[0] + side, center[1]
    return [
        Rectangle((x, y - 0.14), (0.34, 0.36), _COLORS[i], corner_radius=0.14, outline=_EDGES[i], outline_width=0.03),
        Circle((x, y + 0.16), 0.15, _COLORS[i], outline=_EDGES[i], outline_width=0.03),
        Circle((x + 0.05, y + 0.18), 0.035, rgba(palette.WHITE)),
    ]
