"""The drawing of BipedalWalker. The view moves with the hull, so everything else is shifted by as much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.envs.box2d.walker_terrain import COLUMNS, GROUND, PITCH, SCALE, X
from funcenv.scene import Camera, Circle, Line, Polygon, Rectangle, Repeat, Scene, Shape, Terrain, rgba, transform

_WIDTH, _HEIGHT = 600 / SCALE, 400 / SCALE  # size of the view [m]
_AHEAD = 0.8  # part of the view that lies ahead of the hull
_SEEN = 46  # columns of the ground that the view shows, and a few more
_SEEN_BOXES = 12
_GOAL = (COLUMNS - 10) * PITCH  # [m]
_SKY, _SUN, _HILL, _CLOUD = rgba("#d7e3ff"), rgba("#fff3c4"), rgba("#b9cfe0"), rgba("#ffffff")
_EARTH, _GRASS, _YOUNG_GRASS, _STONE, _JOINT = (
    rgba("#66994c"),
    rgba("#4cb04c"),
    rgba("#7fe07f"),
    rgba("#e9e7e2"),
    rgba("#8d8a85"),
)
_HULL, _HULL_EDGE, _VISOR = rgba("#7f33e5"), rgba("#4c4c7f"), rgba("#e6dcff")
_FAR_LEG, _FAR_EDGE, _NEAR_LEG, _NEAR_EDGE = rgba("#b2659a"), rgba("#7f4c65"), rgba("#803366"), rgba("#4d1a33")
_RED, _GREEN, _POLE, _RAY = rgba("#e63300"), rgba("#2f9e44"), rgba("#1d1d24"), rgba("#ff3333", 0.35)
_BODY = np.array(((-30, 9), (6, 9), (34, 1), (34, -8), (-30, -8)), np.float32) / np.float32(SCALE)
_LEG = 34 / SCALE  # length of a segment [m]
_WIDTHS = (8 / SCALE, 6.4 / SCALE)  # widths of an upper and a lower segment [m]
_FLAG_COLUMN, _FLAG_HEIGHT = 3, 50 / SCALE


def draw_bipedal_walker(terrain: Any, boxes: Any, poses: Sequence[Any], lidar: Any, lidar_range: Any) -> Scene:
    """Return the ground, the obstacles, flags at start and goal, the rays, and the walker.

    Args:
        terrain: heights of the ground, `[200]` [m].
        boxes: left, bottom, right and top of the obstacles, `[boxes, 4]` [m].
        poses: position and angle of the hull, and of the segments of both legs, from hip to foot.
        lidar: parts of the rays up to the ground, `[10]`.
        lidar_range: length of the rays [m].

    >>> pose = ((4.0, 5.0), 0.0)
    >>> draw_bipedal_walker(np.zeros(200), np.zeros((0, 4)), [pose] * 5, np.ones(10), 5.0).camera.width
    20.0
    """
    terrain, boxes = jnp.asarray(terrain, jnp.float32), jnp.asarray(boxes, jnp.float32)
    poses = [((jnp.float32(x), jnp.float32(y)), jnp.float32(angle)) for (x, y), angle in poses]
    left = poses[0][0][0] - (1 - _AHEAD) * _WIDTH  # left end of the view
    poses = [((x - left, y), angle) for (x, y), angle in poses]
    hull, *segments = poses
    shapes: list[Shape] = [_hills(left), _clouds(left), *_ground(terrain, left), *_flags(terrain, left)]
    if boxes.shape[0]:
        shapes.append(_obstacles(boxes, left))
    shapes += [_rays(hull[0], jnp.asarray(lidar, jnp.float32), lidar_range), _legs(segments)]
    body = (Polygon(_BODY, _HULL, _HULL_EDGE, 0.06), Line((0.32, 0.0), (0.86, -0.11), 0.13, _VISOR))
    return Scene(
        camera=Camera((_WIDTH / 2, _HEIGHT / 2), _WIDTH, _HEIGHT),
        shapes=(*shapes, *transform(body, *hull)),
        backdrop=(Circle((15.5, 11.2), 0.9, _SUN),),
        background=_SKY,
    )


def _hills(left: jax.Array) -> Terrain:
    """Return hills far away, which pass a quarter as fast as the ground."""
    x = np.linspace(0, _WIDTH, 48, dtype=np.float32) + left / 4
    heights = 5.0 + 0.9 * jnp.sin(0.45 * x) + 0.5 * jnp.sin(1.03 * x + 2.0)
    return Terrain(heights, 0.0, _WIDTH, _HILL)


def _clouds(left: jax.Array) -> Repeat:
    """Return four clouds of three puffs, which pass half as fast as the ground, again and again."""
    rng = np.random.default_rng(4)
    period = _WIDTH + 8
    x = np.arange(4) * (period / 4) + rng.uniform(-1.5, 1.5, 4)
    y = rng.uniform(9.2, 12.3, 4)
    puffs = np.array([[-0.95, -0.1, 0.55], [0.0, 0.15, 0.85], [1.0, -0.12, 0.6]])
    size = rng.uniform(0.8, 1.3, 4)
    offsets = (puffs[None] * size[:, None, None]).reshape(-1, 3).astype(np.float32)
    place = jnp.mod(np.float32(x) - left / 2, np.float32(period)) - 4
    centers = jnp.stack([jnp.repeat(place, 3) + offsets[:, 0], np.repeat(np.float32(y), 3) + offsets[:, 1]], -1)
    return Repeat(Circle(centers, offsets[:, 2], np.tile(np.float32(_CLOUD), (12, 1))))


def _ground(terrain: jax.Array, left: jax.Array) -> list[Shape]:
    """Return the ground that the view shows; the edges have two greens in turns."""
    first = jnp.clip(jnp.floor(left / PITCH).astype(jnp.int32) - 1, 0, COLUMNS - _SEEN)
    first = first - first % 2
    heights = jax.lax.dynamic_slice(terrain, (first,), (_SEEN,))
    start = jnp.float32(PITCH) * first.astype(jnp.float32) - left
    x = start + np.arange(_SEEN, dtype=np.float32) * np.float32(PITCH)
    points = jnp.stack([x, heights], -1)
    colors = np.resize(np.array([_YOUNG_GRASS, _GRASS], np.float32), (_SEEN - 1, 4))
    is_wall = jnp.abs(heights[1:] - heights[:-1]) > PITCH  # walls of a pit are of stone
    alpha = jnp.where(is_wall, 0.0, colors[:, 3])
    grass = Line(points[:-1], points[1:], 0.13, jnp.concatenate([colors[:, :3], alpha[:, None]], 1))
    return [Terrain(heights, start, start + np.float32((_SEEN - 1) * PITCH), _EARTH), Repeat(grass)]


def _flags(terrain: jax.Array, left: jax.Array) -> list[Shape]:
    """Return a red flag at the start and a green one at the goal."""
    x = jnp.stack([jnp.float32(X[_FLAG_COLUMN]) - left, jnp.float32(_GOAL) - left])
    y = jnp.stack([jnp.float32(GROUND), terrain[COLUMNS - 10]])
    top = y + np.float32(_FLAG_HEIGHT)
    cloth = jnp.stack(
        [jnp.stack([x, top], -1), jnp.stack([x, top - 0.42], -1), jnp.stack([x + 0.9, top - 0.21], -1)], 1
    )
    return [
        Repeat(Line(jnp.stack([x, y], -1), jnp.stack([x, top], -1), 0.06, np.tile(np.float32(_POLE), (2, 1)))),
        Repeat(Polygon(cloth, np.array([_RED, _GREEN], np.float32))),
    ]


def _obstacles(boxes: jax.Array, left: jax.Array) -> Repeat:
    first = (boxes[:, 2] < left).sum(dtype=jnp.int32)
    seen = jax.lax.dynamic_slice(boxes, (first, jnp.int32(0)), (_SEEN_BOXES, 4))
    center = jnp.stack([(seen[:, 0] + seen[:, 2]) / 2 - left, (seen[:, 1] + seen[:, 3]) / 2], -1)
    size = jnp.stack([seen[:, 2] - seen[:, 0], seen[:, 3] - seen[:, 1]], -1)
    stone, joint = (np.tile(np.float32(color), (_SEEN_BOXES, 1)) for color in (_STONE, _JOINT))
    return Repeat(Rectangle(center, size, stone, outline=joint, outline_width=0.06))


def _rays(start: tuple[jax.Array, jax.Array], lidar: jax.Array, lidar_range: Any) -> Repeat:
    count = len(lidar)
    angles = [1.5 * i / count for i in range(count)]
    reach = lidar * jnp.asarray(lidar_range, jnp.float32)
    x = start[0] + reach * np.array([math.sin(angle) for angle in angles], np.float32)
    y = start[1] - reach * np.array([math.cos(angle) for angle in angles], np.float32)
    begin = jnp.broadcast_to(jnp.stack(start)[None, :], (count, 2))
    return Repeat(Line(begin, jnp.stack([x, y], -1), 0.035, np.tile(np.float32(_RAY), (count, 1))))


def _legs(segments: Sequence[Any]) -> Repeat:
    """Return both segments of the far leg, then of the near one."""
    centers = jnp.stack([jnp.stack(position) for position, _ in segments])
    sizes = np.array([(width, _LEG) for _ in range(2) for width in _WIDTHS], np.float32)
    colors = np.repeat(np.array([_FAR_LEG, _NEAR_LEG], np.float32), 2, axis=0)
    edges = np.repeat(np.array([_FAR_EDGE, _NEAR_EDGE], np.float32), 2, axis=0)
    angles = jnp.stack([angle for _, angle in segments])
    return Repeat(Rectangle(centers, sizes, colors, angle=angles, outline=edges, outline_width=0.05))
