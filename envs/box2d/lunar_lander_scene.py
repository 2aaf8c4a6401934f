"""The drawing of LunarLander."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import (
    Camera,
    Circle,
    Line,
    Polygon,
    Rectangle,
    Repeat,
    Scene,
    Shape,
    Terrain,
    palette,
    rgba,
    transform,
)

_WIDTH, _HEIGHT, _PAD = 20.0, 400 / 30, 10 / 3  # size of the view, and height of the pad [m]
_NIGHT, _MOON, _EDGE = rgba("#10131f"), rgba("#c9ccd4"), rgba("#f2f3f6")
_HULL, _HULL_EDGE, _WINDOW = rgba("#8066e6"), rgba("#4d4d80"), rgba("#cfe8ff")
_FLAME, _CORE = rgba("#ff8a3c"), rgba("#ffe9a8")
_BODY = ((-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17))


def draw_lunar_lander(terrain: Any, poses: Sequence[Any], main_power: Any, side_power: Any) -> Scene:
    """Return the moon at night, the pad between two flags, and the lander with the plumes of its engines.

    Args:
        terrain: heights of the moon, `[11]` [m].
        poses: position and angle of the hull, of its left leg and of its right leg.
        main_power: of the main engine, from 0 to 1.
        side_power: of the side engines, from -1 for the left one to 1 for the right one.

    >>> pose = ((10.0, 5.0), 0.0)
    >>> draw_lunar_lander(np.zeros(11), [pose, pose, pose], 1.0, 0.0).camera.width
    20.0
    """
    terrain = jnp.asarray(terrain, jnp.float32)
    moon = Terrain(terrain, 0.0, _WIDTH, _MOON, _EDGE, 0.08)
    hull, *legs = poses
    shapes: list[Shape] = [moon, *transform(_plumes(jnp.float32(main_power), jnp.float32(side_power)), *hull)]
    for (position, angle), side in zip(legs, (1.0, -1.0), strict=True):
        knee = _moved(hull, (0.42 * side, -0.22))
        shapes.append(Line(knee, position, 0.07, _HULL_EDGE))
        leg = Rectangle((0.0, 0.0), (4 / 30, 16 / 30), _HULL, outline=_HULL_EDGE, outline_width=0.04)
        shapes += transform((leg,), position, angle)
    return Scene(
        camera=Camera((_WIDTH / 2, _HEIGHT / 2), _WIDTH, _HEIGHT),
        shapes=(*shapes, *transform(_hull(), *hull)),
        backdrop=(_stars(), *_flag(8.0), *_flag(12.0)),
        background=_NIGHT,
    )


def _moved(pose: Any, point: tuple[float, float]) -> tuple[Any, Any]:
    """Return a point of a body in world coordinates."""
    (x, y), angle = pose
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    return x + cosine * point[0] - sine * point[1], y + sine * point[0] + cosine * point[1]


def _hull() -> list[Shape]:
    points = np.array(_BODY, np.float32) / 30
    return [
        Polygon(points, _HULL, _HULL_EDGE, 0.06),
        Circle((0.0, 0.2), 0.17, _WINDOW, outline=_HULL_EDGE, outline_width=0.05),
        Line((-0.5, -0.18), (0.5, -0.18), 0.05, _HULL_EDGE),
    ]


def _plumes(main: jax.Array, side: jax.Array) -> list[Shape]:
    """Return a flame below the hull and one beside it, as long as the engines are strong; without power hidden."""
    direction, power = jnp.where(side < 0, -1.0, 1.0), jnp.abs(side)
    shapes: list[Shape] = []
    for color, width, length in ((_FLAME, 0.2, 1.3), (_CORE, 0.11, 0.75)):
        shapes.append(_flame((0.0, -0.36), (0.0, -1.0), width, length * main, color, main))
    for color, width, length in ((_FLAME, 0.1, 0.6), (_CORE, 0.055, 0.35)):
        shapes.append(_flame((0.55 * direction, 0.42), (direction, 0.0), width, length * power, color, power))
    return shapes


def _flame(start: Any, along: Any, width: float, length: Any, color: Any, power: Any) -> Shape:
    outline = ((0.0, 1.0), (0.35, 1.15), (1.0, 0.0), (0.35, -1.15), (0.0, -1.0))
    points = [
        jnp.stack(
            [
                start[0] + along[0] * length * far - along[1] * width * wide,
                start[1] + along[1] * length * far + along[0] * width * wide,
            ]
        )
        for far, wide in outline
    ]
    alpha = jnp.where(power > 0, color[3], 0.0)
    return Polygon(jnp.stack(points), (color[0], color[1], color[2], alpha))


def _flag(x: float) -> list[Shape]:
    top = _PAD + 50 / 30
    cloth = np.array([[x, top], [x, top - 0.36], [x + 0.85, top - 0.18]], np.float32)
    return [Line((x, _PAD), (x, top), 0.06, palette.WHITE), Polygon(cloth, palette.YELLOW)]


def _stars() -> Repeat:
    """Return faint dots at fixed places of the sky."""
    places = np.random.default_rng(3).uniform((0.2, 4.0), (_WIDTH - 0.2, _HEIGHT - 0.2), (40, 2)).astype(np.float32)
    sizes = np.random.default_rng(5).uniform(0.02, 0.05, 40).astype(np.float32)
    return Repeat(Circle(places, sizes, np.tile(np.array(rgba("#dfe6ff", 0.8), np.float32), (40, 1))))
