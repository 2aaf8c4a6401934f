"""The drawing of CartPole."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import Arc, Camera, Circle, Line, Rectangle, Scene, Shape, Terrain, palette, transform

_AXLE_HEIGHT = 0.3  # height of the foot of the pole above the track
_SCALE_GAP = 0.2  # distance from the tip of the pole to the scale


def draw_cartpole(x: Any, theta: Any, pole_length: Any, x_threshold: Any, theta_threshold: Any) -> Scene:
    """Return a cart and a scale over its pole. Red are the places where an episode ends: on the track and on the scale.

    Args:
        x: position of the cart.
        theta: angle of the pole, from upright, clockwise.
        pole_length: length of the pole.
        x_threshold: position at which the episode ends, on either side.
        theta_threshold: angle at which the episode ends, on either side.

    >>> len(draw_cartpole(0.0, 0.1, 1.0, 2.4, 0.2).shapes)
    8
    """
    x, theta, pole, edge, lean = map(jnp.float32, (x, theta, pole_length, x_threshold, theta_threshold))
    cart = transform(_cart(pole, lean), (x, 0.0))
    rod = transform([Line((0.0, 0.0), (0.0, pole), 0.11, palette.ORANGE)], (x, _AXLE_HEIGHT), -theta)
    axle = Circle((x, _AXLE_HEIGHT), 0.05, palette.PAPER, outline=palette.INK, outline_width=0.03)
    return Scene(
        camera=Camera((0.0, (_AXLE_HEIGHT + pole) / 2), 2.4 * edge, pole + _AXLE_HEIGHT + 1.2),
        shapes=(*cart, *rod, axle),
        backdrop=_track(edge),
        background=palette.PAPER,
    )


def _cart(pole: jax.Array, lean: jax.Array) -> list[Shape]:
    """Return the scale of the pole's angle, wheels and body of a cart at x = 0."""
    radius = pole + _SCALE_GAP
    end = [Line((0.0, radius - 0.09), (0.0, radius + 0.09), 0.05, palette.RED)]
    return [
        Arc((0.0, _AXLE_HEIGHT), radius, math.pi / 2 - lean, 2 * lean, 0.03, palette.STONE),
        *transform(end, (0.0, _AXLE_HEIGHT), -lean),
        *transform(end, (0.0, _AXLE_HEIGHT), lean),
        Circle((-0.16, 0.08), 0.08, palette.STONE),
        Circle((0.16, 0.08), 0.08, palette.STONE),
        Rectangle((0.0, 0.21), (0.56, 0.2), palette.INK, corner_radius=0.05),
    ]


def _track(edge: jax.Array) -> tuple[Shape, ...]:
    ends = (
        shape
        for end, far in ((-edge, -100 * edge), (edge, 100 * edge))
        for shape in (
            Line((end, 0.0), (far, 0.0), 0.035, palette.RED),
            Line((end, -0.14), (end, 0.14), 0.05, palette.RED),
        )
    )
    rail = Line((-edge, 0.0), (edge, 0.0), 0.035, palette.STONE, cap="butt")
    return Terrain(np.zeros(2), -1.0, 1.0, palette.MIST), rail, *ends
