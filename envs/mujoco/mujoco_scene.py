"""The drawing of MuJoCo models: their geoms as capsules and boxes, in parallel projection, and the floor below.

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
from funcenv.scene import Camera, Line, Polygon, Rectangle, Repeat, Scene, palette
from funcenv.struct import NDArray

_ELLIPSOID, _BOX = 4, 6  # mjtGeom; spheres, capsules and cylinders are 2, 3 and 5
_UNDRAWN = (0, 1, 7)  # planes, height fields and meshes
_MAX_GROUP = 3  # group of collision shapes, which stand for meshes; higher groups are for what nobody sees
_LIMBS = (palette.ORANGE, palette.BLUE, palette.GREEN, palette.RED, palette.EARTH, palette.YELLOW)
# Colours by the first word of the name of a body or geom
_MEANINGS = {"target": palette.RED, "goal": palette.GREEN, "object": palette.RED, "cart": palette.INK}
_MEANINGS |= dict.fromkeys(("ball", "box", "peg", "pommel"), palette.ORANGE) | {
    "cup": palette.STONE,
    "slot": palette.STONE,
}
_DARKER = np.array([[0.55, 0.55, 0.55, 1.0]], np.float32)  # outline, of a colour
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


def free_view(mjmodel: Any) -> View:
    """Return what the free camera of a model sees, without perspective.

    The elements `statistic` and `visual/global` of the model have its centre, extent, azimuth and elevation. As in
    MuJoCo's `mjv_defaultFreeCamera`, its distance is one and a half extents.
    """
    height = 2 * 1.5 * mjmodel.stat.extent * math.tan(math.radians(mjmodel.vis.global_.fovy / 2))
    camera = mjmodel.vis.global_
    return View(height * 4 / 3, height, tuple(mjmodel.stat.center.tolist()), camera.azimuth, camera.elevation)


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
        mjmodel: the model. Boxes have their outlines, behind everything else, and the boxes of the world in a view from
            above are rectangles. Cylinders and ellipsoids are drawn as capsules. Planes, height fields, meshes, what is
            transparent, and geoms of the groups 4 and 5 are not drawn.
        qpos: positions of the joints.
        view: from where to look.
        size_scale: factor of the sizes of the geoms.
        changes: fields of the model that are otherwise, as `geom_poses` and `site_places` take them.
        sites: names of sites to draw behind the geoms, as discs: green, or orange if they move with a body.
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
        widths = 2 * jnp.asarray(mjmodel.site_size[numbers, 0], jnp.float32)
        is_fixed = mjmodel.body_weldid[mjmodel.site_bodyid[numbers]] == 0
        colors = np.where(is_fixed[:, None], _array(palette.GREEN), _array(palette.ORANGE))
        shapes.append(Repeat(Line(ends, ends, widths, colors)))
    walls = _walls(mjmodel, view)
    if walls:
        shapes.append(_rectangles(mjmodel, walls, shift + middle, across, up))
    drawn = [geom for geom in range(mjmodel.ngeom) if _is_drawn(mjmodel, geom) and geom not in walls]
    boxes = [geom for geom in drawn if mjmodel.geom_type[geom] == _BOX]
    others = [geom for geom in drawn if geom not in boxes]
    centers, axes = geom_poses(mjmodel, qpos, changes)
    # Geoms of robots in a plane are equally far in a view from the side; they keep the order of the model.
    level = ahead if abs(ahead[2]) > _MAX_SIDE_VIEW else ahead * _array([1.0, 1.0, 0.0])
    depth = jnp.round((centers @ level) / _DEPTH_STEP)
    places = project(centers - (shift + middle)[None], across, up)
    halves, radii = _half_axes(mjmodel)
    ways = project(size_scale * halves[..., None] * axes, across, up)
    geom_colors = jnp.asarray(_colors(mjmodel))
    for kind, draw in ((boxes, _boxes), (others, _capsules)):
        if kind:
            geoms = jnp.array(kind, jnp.int32)
            order = geoms[jnp.argsort(-depth[geoms])]
            shapes.append(draw(mjmodel, order, places, ways, size_scale * radii, geom_colors, view.width * _EDGE))
    background = palette.PAPER if math.isfinite(view.stage) or not view.grid else palette.MIST
    return Scene(Camera((0.0, 0.0), view.width, view.height), tuple(shapes), backdrop, background)


def in_view(points: Any, view: View, qpos: Any = ()) -> jax.Array:
    """Return where points of the world `[num, 3]` are in a drawing, `[num, 2]`.

    Args:
        points: their coordinates [m].
        view: the camera.
        qpos: positions of the joints, for a view that follows some of them.
    """
    across, up, _ = view_axes(view)
    return project(jnp.asarray(points, jnp.float32) - (_shift(view, qpos) + _array(view.middle))[None], across, up)


def _shift(view: View, qpos: Any) -> jax.Array:
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


def _is_drawn(mjmodel: Any, geom: int) -> bool:
    material = int(mjmodel.geom_matid[geom])
    alpha = mjmodel.geom_rgba[geom, 3] if material < 0 else mjmodel.mat_rgba[material, 3]
    return bool(alpha > 0) and mjmodel.geom_type[geom] not in _UNDRAWN and mjmodel.geom_group[geom] <= _MAX_GROUP


def _boxes(
    mjmodel: Any,
    order: jax.Array,
    places: jax.Array,
    ways: jax.Array,
    radii: jax.Array,
    colors: jax.Array,
    edge: float,
) -> Repeat:
    """Return boxes: hexagons, whose sides are the three edges of a box, there and back."""
    del mjmodel, radii
    upward = ways[order] * jnp.where(ways[order][..., 1:] < 0, -1.0, 1.0)
    turned = jnp.argsort(jnp.arctan2(upward[..., 1], upward[..., 0]), axis=1)
    sides = 2 * jnp.take_along_axis(upward, turned[..., None], axis=1)
    corners = jnp.cumsum(jnp.concatenate([sides, -sides], axis=1), axis=1)
    start, colors = places[order] - upward.sum(axis=1), colors[order]
    return Repeat(Polygon(corners + start[:, None], colors, outline=colors * _DARKER, outline_width=edge / 2))


def _capsules(
    mjmodel: Any,
    order: jax.Array,
    places: jax.Array,
    ways: jax.Array,
    radii: jax.Array,
    colors: jax.Array,
    edge: float,
) -> Repeat:
    """Return capsules, each after its outline; ellipsoids are the capsules with their length and width in the image."""
    is_ellipsoid = mjmodel.geom_type == _ELLIPSOID
    length, width, direction = _ellipse(ways)
    offsets = jnp.where(is_ellipsoid[:, None], (length - width)[:, None] * direction, ways[:, 2])
    radii = jnp.where(is_ellipsoid, width, radii)
    starts, ends = (jnp.repeat((places + sign * offsets)[order], 2, axis=0) for sign in (-1.0, 1.0))
    widths = jnp.stack([2 * radii + edge, 2 * radii], axis=1)[order].reshape(-1)
    return Repeat(Line(starts, ends, widths, jnp.stack([colors * _DARKER, colors], axis=1)[order].reshape(-1, 4)))


def _ellipse(ways: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return half the length and width of ellipsoids in the image, and the directions of their lengths.

    Args:
        ways: half of their axes in the image, `[num, 3, 2]`.
    """
    squares = jnp.einsum("nki,nkj->nij", ways, ways)
    middle, difference = (squares[:, 0, 0] + squares[:, 1, 1]) / 2, (squares[:, 0, 0] - squares[:, 1, 1]) / 2
    spread = jnp.hypot(difference, squares[:, 0, 1])
    angle = jnp.arctan2(squares[:, 0, 1], difference) / 2
    length, width = (jnp.sqrt(jnp.maximum(middle + sign * spread, 0.0)) for sign in (1.0, -1.0))
    return length, width, jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)


def _half_axes(mjmodel: Any) -> tuple[NDArray, NDArray]:
    """Return half of the geoms along their own axes `[ngeom, 3]`, without the radii `[ngeom]` that surround them."""
    size, is_solid = _array(mjmodel.geom_size), np.isin(mjmodel.geom_type, (_ELLIPSOID, _BOX))
    core = size[:, 1:2] * _array([[0.0, 0.0, 1.0]])
    return np.where(is_solid[:, None], size, core), np.where(is_solid, np.float32(0), size[:, 0])


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


def _colors(mjmodel: Any) -> NDArray:
    """Return the colours of all geoms, `[ngeom, 4]`."""
    trunk = _trunk(mjmodel)
    return _array([_color(mjmodel, geom, trunk) for geom in range(mjmodel.ngeom)])


def _color(mjmodel: Any, geom: int, trunk: set[int]) -> Any:
    """Return the colour of a geom: of what it means, of its limb, or of the trunk."""
    body = int(mjmodel.geom_bodyid[geom])
    for name in (mjmodel.body(body).name, mjmodel.geom(geom).name):
        word = re.match("[a-z]*", name)
        if word and word[0] in _MEANINGS:
            return _MEANINGS[word[0]]
    if body == 0:
        return palette.STONE
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
