"""The drawing of Pendulum."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.scene import Arc, Camera, Circle, Line, Polygon, Scene, Shape, palette, rgba, transform


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
    rod = [Line((0.0, 0.0), (0.0, 1.0), 0.16, palette.ORANGE)]
    hinge = [Circle((0.0, 0.0), 0.05, palette.PAPER, outline=palette.INK, outline_width=0.03)]
    return Scene(
        camera=Camera((0.0, 0.0), 2.6 * length, 2.6 * length),
        shapes=transform([*transform(_arrow(push), angle=theta), *transform(rod, angle=theta), *hinge], scale=length),
        backdrop=transform(_dial(), scale=length),
        background=palette.PAPER,
    )


def _arrow(push: jax.Array) -> list[Shape]:
    """Return an arrow around the hinge that starts at an upright rod of length 1; it grows with the push."""
    radius, sweep = 0.5, 0.55 * math.pi * push
    long = jnp.sign(push) * (0.1 + 0.1 * jnp.abs(push))
    color = rgba(palette.BLUE, push != 0)
    corners = [
        jnp.stack([jnp.float32(radius + across), jnp.float32(along)])
        for across, along in ((-0.09, 0.0), (0.09, 0.0), (0.0, long))
    ]
    head = Polygon(jnp.stack(corners), color)
    start = math.pi / 2 + 0.16 * jnp.sign(push)  # edge of the rod
    return [Arc((0.0, 0.0), radius, start, sweep, 0.05, color), *transform([head], angle=start + sweep)]


def _dial() -> list[Shape]:
    """Return the circle of the free end, and a mark at the goal."""
    ring = Circle((0.0, 0.0), 1.0, rgba(palette.PAPER, 0.0), outline=palette.MIST, outline_width=0.02)
    return [ring, Line((0.0, 1.13), (0.0, 1.2), 0.05, palette.GREEN)]
