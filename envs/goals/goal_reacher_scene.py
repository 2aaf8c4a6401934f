"""The drawing of Goal Reacher."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from funcenv.scene import Camera, Circle, Line, Scene, palette, rgba, transform


def draw_goal_reacher(shoulder: Any, elbow: Any, length: float, goal: Any, threshold: Any, success: Any) -> Scene:
    """Return the arm and the goal, whose disc is filled once the tip is there.

    Args:
        shoulder: angle of the first link.
        elbow: angle of the second link from the first one.
        length: length of a link.
        goal: place of the goal, `[2]`.
        threshold: radius of the disc that counts as the goal.
        success: true if the tip is there.

    >>> len(draw_goal_reacher(0.0, 1.0, 0.5, jnp.zeros(2), 0.05, jnp.array(False)).shapes)
    7
    """
    shoulder, reach = jnp.float32(shoulder), 2 * length
    at_elbow = length * jnp.cos(shoulder), length * jnp.sin(shoulder)
    paint = rgba(palette.GREEN, 0.5 * jnp.asarray(success, jnp.float32))
    tip = Circle((length, 0.0), 0.03, palette.RED)
    return Scene(
        camera=Camera((0.0, 0.0), 2.3 * reach, 2.3 * reach),
        shapes=(
            Circle((goal[0], goal[1]), threshold, paint, outline=palette.GREEN, outline_width=0.02),
            Circle((goal[0], goal[1]), 0.012, palette.GREEN),
            *transform(_link(length, palette.ORANGE), angle=shoulder),
            *transform([*_link(length, palette.BLUE), tip], at=at_elbow, angle=shoulder + jnp.float32(elbow)),
        ),
        backdrop=(Circle((0.0, 0.0), reach, rgba(palette.WHITE, 0.6), outline=palette.CLOUD, outline_width=0.012),),
        background=palette.PAPER,
    )


def _link(length: float, color: Any) -> tuple[Line, Circle]:
    """Return a link along the x axis, with the joint at its beginning."""
    joint = Circle((0.0, 0.0), 0.035, palette.PAPER, outline=palette.INK, outline_width=0.02)
    return Line((0.0, 0.0), (length, 0.0), 0.08, color), joint
