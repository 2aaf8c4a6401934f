"""The drawing of Pendulum."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from funcenv.envs.classic_control.arrows import curved_arrow
from funcenv.scene import Camera, Circle, Line, Scene, Shape, palette, rgba, transform


def draw_pendulum(theta: Any, length: Any, push: Any) -> Scene:
    """Return a rod on its hinge, and an arrow in the direction of the torque.

    Args:
        theta: angle of the rod, from upright, counter-clockwise.
        length: length of the rod.
        push: torque as a part of the greatest one, from -1 to 1.

    >>> len(draw_pendulum(0.5, 1.0, jnp.float32(0.2)).shapes)
    4
    """
    theta, length = jnp.float32(theta), jnp.float32(length)
    start = math.pi / 2 + 0.16 * jnp.sign(push)  # at the edge of an upright rod
    arrow = curved_arrow(push, 0.5, start, 0.55 * math.pi, 0.2, palette.BLUE)
    rod = [Line((0.0, 0.0), (0.0, 1.0), 0.16, palette.ORANGE)]
    hinge = [Circle((0.0, 0.0), 0.05, palette.PAPER, outline=palette.INK, outline_width=0.03)]
    return Scene(
        camera=Camera((0.0, 0.0), 2.6 * length, 2.6 * length),
        shapes=transform([*transform(arrow, angle=theta), *transform(rod, angle=theta), *hinge], scale=length),
        backdrop=transform(_dial(), scale=length),
        background=palette.PAPER,
    )


def _dial() -> list[Shape]:
    """Return the circle of the free end, and a mark at the goal."""
    ring = Circle((0.0, 0.0), 1.0, rgba(palette.PAPER, 0.0), outline=palette.MIST, outline_width=0.02)
    return [ring, Line((0.0, 1.13), (0.0, 1.2), 0.05, palette.GREEN)]
