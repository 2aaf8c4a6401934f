"""The drawing of Acrobot."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.envs.classic_control.arrows import curved_arrow
from funcenv.scene import Camera, Circle, Line, Rectangle, Scene, Shape, palette, rgba, transform


def draw_acrobot(angle1: Any, angle2: Any, length: Any, push: Any = 0.0) -> Scene:
    """Return both links with equal lengths, so that the goal line is exact for any length.

    Args:
        angle1: direction of link 1, from hanging down, counter-clockwise.
        angle2: direction of link 2, likewise.
        length: length of a link.
        push: torque on link 2 as a part of the greatest one, from -1 to 1, which an arrow shows.

    >>> len(draw_acrobot(0.5, 1.0, 1.0).shapes)
    7
    """
    angle1, angle2, length = map(jnp.float32, (angle1, angle2, length))
    return Scene(
        camera=Camera((0.0, 0.0), 4.6 * length, 4.6 * length),
        shapes=transform(_links(angle1, angle2, push), scale=length),
        backdrop=transform(_goal_and_pivot(), scale=length),
        background=palette.PAPER,
    )


def _links(theta1: jax.Array, theta2: jax.Array, push: Any) -> list[Shape]:
    """Return links of length 1 at angles from hanging down; a dot marks the free end, an arrow the torque."""
    elbow = jnp.sin(theta1), -jnp.cos(theta1)
    tip = elbow[0] + jnp.sin(theta2), elbow[1] - jnp.cos(theta2)
    start = theta2 - math.pi / 2 + 0.2 * jnp.sign(push)  # at the edge of the second link
    arrow = curved_arrow(push, 0.45, start, 1.1, 0.22, palette.RED)
    return [
        Line(elbow, tip, 0.18, palette.ORANGE),
        Line((0.0, 0.0), elbow, 0.18, palette.BLUE),
        *transform(arrow, elbow),
        Circle((0.0, 0.0), 0.06, palette.PAPER, outline=palette.INK, outline_width=0.04),
        Circle(elbow, 0.06, palette.PAPER, outline=palette.INK, outline_width=0.04),
        Circle(tip, 0.045, palette.INK),
    ]


def _goal_and_pivot() -> list[Shape]:
    """Return the area above the goal line, and the pivot."""
    return [
        Rectangle((0.0, 51.0), (200.0, 100.0), rgba(palette.GREEN, 0.12)),
        Line((-100.0, 1.0), (100.0, 1.0), 0.03, palette.GREEN),
        Circle((0.0, 0.0), 0.2, palette.CLOUD),
    ]
