"""The drawing of MuJoCo models: their geoms as capsules, in parallel projection, and the floor below.

It needs neither OpenGL nor a simulation, so replays, terminals and pixel observations work everywhere. MuJoCo's own
images are drawn by `funcenv.envs.mujoco.mujoco_image`.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.envs.mujoco.kinematics import geom_poses, site_places
from funcenv.scene import Camera, Line, Rectangle, Repeat, Scene, palette
from funcenv.struct import NDArray

_SPHERE, _ELLIPSOID, _BOX = 2, 4, 6  # mjtGeom; capsules and cylinders are 3 and 5
_UNDRAWN = (0, 1, 7)  # planes, height fields and meshes
_LIMBS = (palette.ORANGE, palette.BLUE, palette.GREEN, palette.RED, palette.EARTH, palette.YELLOW)
# Colours by the first word of the name of a body or geom
_MEANINGS = {"target": palette.RED, "goal": palette.GREEN, "object": palette.RED, "cart": palette.INK}
_MEANINGS |= dict.fromkeys(("ball", "box", "peg", "pommel"), palette.ORANGE) | {
    "cup": palette.STONE,
    "slot": palette.STONE,
}
_EDGE = 0.012  # width of the outline, of the width of the view
_MAX_SIDE_VIEW = 0.25  # sine of the elevation up to which a view is one from the side
_FROM_ABOVE = 90.0  # elevation of a camera that looks straight down, without its sign [degrees]
_DEPTH_STEP = 1e-3  # distances that differ by less are equal [m]
_NUM_GRID_LINES = 9  # lines on either side of the middle


class View(NamedTuple):
    """The camera of a drawing, in MuJoCo's terms: azimuth 90 looks along y, elevation -90 straight down."""

    width: float  # width of the visible region [m]
    height: float
    middle: tuple[float, float, float] = (0.0, 0.0, 0.0)  # centre of the view, from the followed point [m]
    azimuth: float = 90.0  # [degrees]
    elevation: float = 0.0  # [degrees]
    follow: tuple[int, ...] = ()  # the entries of qpos, as coordinates x, y and z, that the view moves with
    grid: float = 0.0  # distance of the lines on the floor [m]; 0 for no floor
    stage: float = math.inf  # half of the width of the floor along y [m]


def draw_model(
    mjmodel: Any,
    qpos: jax.Array,
    view: View,
    size_scale: float | jax.Array = 1.0,
    changes: dict[str, Any] | None = None,
    sites: tuple[str, ...] = (),
) -> Scene:
    """Return the geoms of a model in a pose, and the floor.

    Args:
        mjmodel: the model. Boxes and ellipsoids are drawn as capsules along their longest axis. In a view from above,
            the boxes of the world are rectangles. Planes, height fields and meshes are not drawn.
        qpos: positions of the joints.
        view: from where to look.
        size_scale: factor of the sizes of the geoms.
        changes: fields of the model that are otherwise, as `geom_poses` and `site_places` take them.
        sites: names of sites to draw behind the geoms, as discs.
    """
    across, up, ahead = view_axes(view)
    qpos = jnp.asarray(qpos, jnp.float32)
    shift, middle = _shift(view, qpos), _array(view.middle)
    shapes: list[Any] = []
    backdrop: tuple[Any, ...] = ()
    if view.grid:
        shapes.append(_floor_lines(view, shift, across, up))
    if view.grid and math.isfinite(view.stage):
        half = view.stage * abs(float(up[1]))
        center = (0.0, -float(middle @ up))
        backdrop = (Rectangle(center, (100 * view.width, 2 * half), palette.MIST),)
    size_scale = jnp.asarray(size_scale, jnp.float32)
    changes = changes or {}
    if sites:
        numbers = np.array([mjmodel.site(name).id for name in sites])
        ends = in_view(site_places(mjmodel, qpos, changes)[numbers], view, qpos)
        radii = jnp.asarray(mjmodel.site_size[numbers, 0], jnp.float32)
        colors = np.tile(np.asarray(palette.GREEN, np.float32), (len(sites), 1))
        shapes.append(Repeat(Line(ends, ends, 2 * radii, colors)))
    walls = _walls(mjmodel, view)
    if walls:
        shapes.append(_rectangles(mjmodel, walls, shift + middle, across, up))
    poses = geom_poses(mjmodel, qpos, changes)
    shapes.append(_capsules(mjmodel, poses, view, shift + middle, size_scale, across, up, ahead))
    background = palette.PAPER if math.isfinite(view.stage) or not view.grid else palette.MIST
    return Scene(Camera((0.0, 0.0), view.width, view.height), tuple(shapes), backdrop, background)


def in_view(points: jax.Array, view: View, qpos: jax.Array) -> jax.Array:
    """Return where points of the world `[num, 3]` are in a drawing, `[num, 2]`."""
    across, up, _ = view_axes(view)
    return project(points - (_shift(view, qpos) + _array(view.middle))[None], across, up)


def _shift(view: View, qpos: jax.Array) -> jax.Array:
    """Return the point that the view moves with."""
    shift = jnp.zeros(3, jnp.float32)
    for axis, index in enumerate(view.follow):
        shift = shift.at[axis].set(jnp.asarray(qpos[index], jnp.float32))
    return shift


def view_axes(view: View) -> tuple[NDArray, NDArray, NDArray]:
    """Return the directions to the right, up and ahead in the image, as vectors of the world."""
    azimuth, elevation = math.radians(view.azimuth), math.radians(view.elevation)
    ahead = [math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation)]
    across = [math.sin(azimuth), -math.cos(azimuth), 0.0]
    return _array(across), _array(np.cross(across, ahead)), _array(ahead)


def _walls(mjmodel: Any, view: View) -> list[int]:
    """Return the boxes of the world, if they look like rectangles."""
    if abs(view.elevation) != _FROM_ABOVE:
        return []
    boxes = np.flatnonzero((mjmodel.geom_type == _BOX) & (mjmodel.geom_bodyid == 0))
    return [int(box) for box in boxes if np.array_equal(mjmodel.geom_quat[box], [1.0, 0.0, 0.0, 0.0])]


def _rectangles(mjmodel: Any, walls: list[int], shift: jax.Array, across: NDArray, up: NDArray) -> Repeat:
    """Return boxes that are seen from above."""
    centers = project(_array(mjmodel.geom_pos[walls]) - shift[None], across, up)
    sizes = 2 * np.abs(_array(mjmodel.geom_size[walls]) @ np.stack([across, up], axis=1))
    colors = np.tile(np.asarray(palette.STONE, np.float32), (len(walls), 1))
    return Repeat(Rectangle(centers, sizes, colors))


def _capsules(
    mjmodel: Any,
    poses: tuple[jax.Array, jax.Array],
    view: View,
    shift: jax.Array,
    size_scale: jax.Array,
    across: NDArray,
    up: NDArray,
    ahead: NDArray,
) -> Repeat:
    """Return the geoms, those far away first, each with an outline."""
    kinds = [int(kind) for kind in mjmodel.geom_type]
    walls = _walls(mjmodel, view)
    drawn = [geom for geom, kind in enumerate(kinds) if kind not in _UNDRAWN and geom not in walls]
    centers, axes = (part[np.array(drawn)] for part in poses)
    sizes = [_length_and_radius(kinds[geom], mjmodel.geom_size[geom]) for geom in drawn]
    lengths, radii = (size_scale * np.array(each, np.float32) for each in zip(*sizes, strict=True))
    offsets = axes * lengths[:, None]
    ends = [project(centers + sign * offsets - shift[None], across, up) for sign in (-1.0, 1.0)]
    # Geoms of robots in a plane are equally far in a view from the side; they keep the order of the model.
    depth = centers @ (ahead if abs(ahead[2]) > _MAX_SIDE_VIEW else ahead * _array([1.0, 1.0, 0.0]))
    order = jnp.argsort(-jnp.round(depth / _DEPTH_STEP))
    edge = view.width * _EDGE
    colors = np.stack([np.asarray(_color(mjmodel, geom), np.float32) for geom in drawn])
    dark = colors * _array([0.55, 0.55, 0.55, 1.0])

    def interleaved(first: Any, second: Any) -> jax.Array:
        """Return each outline before what it surrounds."""
        both = jnp.stack([jnp.asarray(first)[order], jnp.asarray(second)[order]], axis=1)
        return both.reshape((-1, *both.shape[2:]))

    widths = interleaved(2 * radii + edge, 2 * radii)
    return Repeat(Line(interleaved(ends[0], ends[0]), interleaved(ends[1], ends[1]), widths, interleaved(dark, colors)))


def _floor_lines(view: View, shift: jax.Array, across: NDArray, up: NDArray) -> Repeat:
    """Return lines on the floor, which pass by as the view moves."""
    middle = _array(view.middle) * _array([0.0, 0.0, 1.0])
    steps = np.arange(-_NUM_GRID_LINES, _NUM_GRID_LINES + 1, dtype=np.float32) * np.float32(view.grid)
    far = np.float32(min(view.stage, 4 * view.width + 4 * view.height))
    starts, ends = [], []
    for axis in (0, 1) if math.isinf(view.stage) else (0,):
        along, reach = np.eye(3, dtype=np.float32)[axis], np.eye(3, dtype=np.float32)[1 - axis] * far
        offset = jnp.mod(-shift[axis], np.float32(view.grid))
        points = (steps[:, None] + offset) * along[None] - middle[None]
        starts.append(project(points - reach[None], across, up))
        ends.append(project(points + reach[None], across, up))
    count = sum(map(len, starts))
    widths = np.full(count, 0.004 * view.width, np.float32)
    colors = np.tile(np.asarray(palette.CLOUD, np.float32), (count, 1))
    return Repeat(Line(jnp.concatenate(starts), jnp.concatenate(ends), widths, colors))


def _array(numbers: Any) -> NDArray:
    return np.asarray(numbers, np.float32)


def project(points: Any, across: NDArray, up: NDArray) -> jax.Array:
    """Return the coordinates in the image of points `[..., 3]`, from the middle of the view."""
    return jnp.stack([points @ across, points @ up], axis=-1)


def _length_and_radius(kind: int, size: NDArray) -> tuple[float, float]:
    """Return half the length between the ends of a geom, and its radius."""
    if kind in (_SPHERE, _ELLIPSOID):
        return 0.0, float(size.max())
    if kind == _BOX:
        return float(max(size[2] - min(size[:2]), 0.0)), float(min(size[:2]))
    return float(size[1]), float(size[0])


def _color(mjmodel: Any, geom: int) -> Any:
    """Return the colour of a geom: of what it means, of its limb, or of the trunk."""
    body = int(mjmodel.geom_bodyid[geom])
    for name in (mjmodel.body(body).name, mjmodel.geom(geom).name):
        word = re.match("[a-z]*", name)
        if word and word[0] in _MEANINGS:
            return _MEANINGS[word[0]]
    if body == 0:
        return palette.STONE
    trunk = _trunk(mjmodel)
    if body in trunk:
        return palette.INK
    while int(mjmodel.body_parentid[body]) not in trunk:
        body = int(mjmodel.body_parentid[body])
    limbs = [other for other in range(1, mjmodel.nbody) if other not in trunk]
    roots = [other for other in limbs if int(mjmodel.body_parentid[other]) in trunk]
    return _LIMBS[roots.index(body) % len(_LIMBS)]


def _trunk(mjmodel: Any) -> set[int]:
    """Return the bodies that are attached to the world, and those through which one comes to a fork."""
    parents = [int(parent) for parent in mjmodel.body_parentid]
    trunk = {body for body in range(mjmodel.nbody) if parents[body] == 0}
    for body in range(1, mjmodel.nbody):
        if parents[1:].count(body) > 1:
            while body not in trunk:
                trunk.add(body)
                body = parents[body]
    return trunk
