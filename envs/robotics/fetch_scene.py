"""The drawing of the Fetch tasks: the arm, the table, the object and the goal, in parallel projection."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.mujoco.mujoco_scene import View, in_view, view_axes
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.scene import Camera, Circle, Line, Polygon, Repeat, Scene, palette
from funcenv.struct import NDArray

# Bodies along the arm, from the trunk to the gripper, without "robot0:".
_TRUNK = ("base_link", "shoulder_pan_link", "head_tilt_link")
_ARM: tuple[str, ...] = ("shoulder_pan", "shoulder_lift", "upperarm_roll", "elbow_flex")
_ARM += ("forearm_roll", "wrist_flex", "wrist_roll", "gripper")
_TRUNK_WIDTHS, _ARM_WIDTH, _FINGER_WIDTH, _EDGE = (0.34, 0.2), 0.1, 0.02, 0.012  # [m]
_FINGER_LENGTH = 0.0385  # half of the length of a finger [m]
_GRIP_OFFSET = 0.02  # distance of the place between the fingers from the gripper's [m]
_GOAL_RADIUS = 0.025  # [m]
_ARM_COLORS = [palette.INK, palette.BLUE]
_BOX = 6  # mjtGeom; the puck is a cylinder


def draw_fetch(mjmodel: Any, data: NamedData, goal: Float[Array, "3"], view: View, has_object: bool) -> Scene:
    """Return the drawing of a state.

    Args:
        mjmodel: the model of the task.
        data: the numbers of the state, with `xpos`, `site_xpos` and `site_xmat`.
        goal: its place [m].
        view: the camera.
        has_object: true if the task has one.
    """
    seen, ahead = functools.partial(in_view, view=view), view_axes(view)[2]

    table = mjmodel.geom(int(mjmodel.body("table0").geomadr[0]))
    top, middle = float(mjmodel.body("table0").pos[2] + table.size[2]), mjmodel.body("table0").pos
    places = jnp.asarray(data.xpos, jnp.float32)
    number = mjmodel.body("robot0:gripper_link").id
    arm = places[np.array([mjmodel.body(f"robot0:{name}_link").id for name in _ARM])]
    trunk = places[np.array([mjmodel.body(f"robot0:{name}").id for name in _TRUNK])]
    pointing = (jnp.asarray(data.site("robot0:grip").xpos, jnp.float32) - places[number]) / _GRIP_OFFSET
    tips = places[np.array([mjmodel.body(f"robot0:{side}_gripper_finger_link").id for side in "rl"])]
    ways = jnp.broadcast_to((_FINGER_LENGTH * pointing)[None], tips.shape)
    foot = jnp.asarray(goal, jnp.float32).at[2].set(top)
    goal_ends = seen(jnp.stack([foot, jnp.asarray(goal, jnp.float32)]))
    shapes = [
        *limbs(seen(trunk[:-1]), seen(trunk[1:]), np.array(_TRUNK_WIDTHS, np.float32), [palette.STONE, palette.INK]),
        _faces(seen, jnp.asarray(middle, jnp.float32), np.eye(3, dtype=np.float32), table.size, ahead, palette.CLOUD),
        *(_object(mjmodel, data, seen, ahead) if has_object else ()),
        Line((goal_ends[0, 0], goal_ends[0, 1]), (goal_ends[1, 0], goal_ends[1, 1]), 0.006, palette.GREEN),
        *limbs(seen(arm[:-1]), seen(arm[1:]), np.full(len(_ARM) - 1, _ARM_WIDTH, np.float32), _ARM_COLORS),
        *limbs(seen(tips - ways), seen(tips + ways), np.full(2, _FINGER_WIDTH, np.float32), [palette.ORANGE] * 2),
        Circle((goal_ends[1, 0], goal_ends[1, 1]), _GOAL_RADIUS, palette.GREEN, palette.INK, 0.004),
    ]
    return Scene(Camera((0.0, 0.0), view.width, view.height), tuple(shapes), (), palette.PAPER)


def limbs(
    starts: jax.Array, ends: jax.Array, widths: NDArray, colors: list[Any], edge: float = _EDGE
) -> tuple[Repeat, Repeat]:
    """Return limbs in alternating colours, behind them their outlines, which are wider by `edge` [m]."""
    fills = np.stack([np.asarray(colors[limb % len(colors)], np.float32) for limb in range(len(widths))])
    edges = np.tile(np.asarray(palette.INK, np.float32) * np.array([0.6, 0.6, 0.6, 1.0], np.float32), (len(widths), 1))
    return Repeat(Line(starts, ends, widths + edge, edges)), Repeat(Line(starts, ends, widths, fills))


def _object(mjmodel: Any, data: NamedData, seen: Any, ahead: NDArray) -> tuple[Any, ...]:
    """Return the block or the puck."""
    site, geom = data.site("object0"), mjmodel.geom("object0")
    place, turn = jnp.asarray(site.xpos, jnp.float32), jnp.asarray(site.xmat, jnp.float32).reshape(3, 3)
    if int(geom.type[0]) == _BOX:
        return (_faces(seen, place, turn, geom.size, ahead, palette.RED),)
    radius, half_height = (float(size) for size in geom.size[:2])
    bottom, top = seen(place[None] + half_height * turn[:, 2][None] * np.array([[-1.0], [1.0]], np.float32))
    body = Line((bottom[0], bottom[1]), (top[0], top[1]), 2 * radius, palette.RED)
    return body, Circle((top[0], top[1]), 0.7 * radius, palette.ORANGE)


def _faces(seen: Any, place: jax.Array, turn: Any, size: Any, ahead: NDArray, color: Any) -> Repeat:
    """Return the faces of a box; those on the far side are transparent."""
    corners, normals = [], []
    for axis in range(3):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            square = np.zeros((4, 3), np.float32)
            square[:, axis], square[:, first], square[:, second] = side, (-1, 1, 1, -1), (-1, -1, 1, 1)
            corners.append(square * np.asarray(size, np.float32)[None])
            normals.append(side * np.eye(3, dtype=np.float32)[axis])
    turn = jnp.asarray(turn, jnp.float32)
    points = jnp.stack(corners).reshape(-1, 3) @ turn.T + place[None]
    facing = jnp.asarray(np.stack(normals)) @ turn.T @ jnp.asarray(ahead)
    light = 0.72 + 0.28 * (jnp.asarray(np.stack(normals)) @ turn.T)[:, 2]
    paint = jnp.asarray(color, jnp.float32)[None] * jnp.stack([light, light, light, jnp.where(facing < 0, 1.0, 0.0)], 1)
    return Repeat(Polygon(seen(points).reshape(6, 4, 2), paint))
