"""Forward kinematics in JAX: where the geoms of a model are, given the positions of its joints.

These are the equations of MuJoCo's `mj_kinematics`, for drawings: they need no simulation, and run inside compiled
code. Quaternions are `[w, x, y, z]`. One loop moves along all joints, so that a large model compiles like a small one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.struct import NDArray

_FREE, _BALL, _SLIDE, _HINGE, _FIXED = 0, 1, 2, 3, 4  # mjtJoint, and bodies without joints
_MAX_JOINT_SIZE = 7  # numbers in qpos
_BODY_FIELDS = ("body_pos", "body_quat")  # fields of the model that may be changed


class _Joint(NamedTuple):
    """The properties of all joints that the loop reads; every field has a leading axis for the joints."""

    kind: NDArray
    body: NDArray
    parent: NDArray  # parent of the body
    is_first: NDArray  # true for the first joint of its body
    start: NDArray  # first index in qpos
    default: NDArray  # default of that entry
    anchor: NDArray  # position in the body
    axis: NDArray  # direction in the body
    body_pos: NDArray  # position of the body in its parent
    body_quat: NDArray


def geom_poses(
    mjmodel: Any, qpos: Float[Array, "nq"], changes: dict[str, Any] | None = None
) -> tuple[Float[Array, "ngeom 3"], Float[Array, "ngeom 3 3"]]:
    """Return the centre of each geom and the directions of its own axes x, y and z, a row each, as float32.

    Args:
        mjmodel: the model.
        qpos: positions of the joints.
        changes: fields of the model that are otherwise; `geom_pos`, `body_pos` and `body_quat` count.
    """
    changes = changes or {}
    positions = changes.get("geom_pos", mjmodel.geom_pos)
    centers, turns = _attached(mjmodel, qpos, np.array(mjmodel.geom_bodyid), positions, changes)
    turns = multiply(turns, jnp.asarray(mjmodel.geom_quat, jnp.float32))
    axes = jnp.broadcast_to(jnp.eye(3, dtype=jnp.float32), (mjmodel.ngeom, 3, 3))
    return centers, rotate(jnp.broadcast_to(turns[:, None], (mjmodel.ngeom, 3, 4)), axes)


def site_places(
    mjmodel: Any, qpos: Float[Array, "nq"], changes: dict[str, Any] | None = None
) -> Float[Array, "nsite 3"]:
    """Return the centre of each site as float32; of `changes`, `site_pos`, `body_pos` and `body_quat` count."""
    changes = changes or {}
    positions = jnp.asarray(changes.get("site_pos", mjmodel.site_pos), jnp.float32)
    return _attached(mjmodel, qpos, np.array(mjmodel.site_bodyid), positions, changes)[0]


def _attached(
    mjmodel: Any, qpos: jax.Array, bodies: NDArray, positions: Any, changes: dict[str, Any]
) -> tuple[jax.Array, jax.Array]:
    """Return the places `[num, 3]` of what is attached to bodies, and the turns of these bodies `[num, 4]`."""
    padded = jnp.concatenate([jnp.asarray(qpos, jnp.float32), jnp.zeros(_MAX_JOINT_SIZE, jnp.float32)])
    places = jnp.zeros((mjmodel.nbody, 3), jnp.float32)
    turns = jnp.tile(jnp.array([1.0, 0.0, 0.0, 0.0], jnp.float32), (mjmodel.nbody, 1))

    def move(carry: tuple[jax.Array, jax.Array], joint: _Joint) -> tuple[tuple[jax.Array, jax.Array], None]:
        places, turns = carry
        place, turn = _moved(joint, padded, places, turns)
        return (places.at[joint.body].set(place), turns.at[joint.body].set(turn)), None

    joints = _joints(mjmodel)
    own = {name: jnp.asarray(changes[name], jnp.float32)[joints.body] for name in _BODY_FIELDS if name in changes}
    joints = jax.tree.map(jnp.asarray, joints)._replace(**own)
    (places, turns), _ = jax.lax.scan(move, (places, turns), joints)
    own_places = rotate(turns[bodies], jnp.asarray(positions, jnp.float32))
    return places[bodies] + own_places, turns[bodies]


def multiply(first: jax.Array, second: jax.Array) -> jax.Array:
    """Return the product of quaternions `[..., 4]`: the rotation by the second, then by the first."""
    w, v = first[..., :1], first[..., 1:]
    x, u = second[..., :1], second[..., 1:]
    return jnp.concatenate([w * x - jnp.sum(v * u, axis=-1, keepdims=True), w * u + x * v + jnp.cross(v, u)], axis=-1)


def rotate(quaternion: jax.Array, vector: jax.Array) -> jax.Array:
    """Return vectors `[..., 3]` rotated by unit quaternions `[..., 4]`.

    >>> rotate(jnp.array([0.0, 0.0, 0.0, 1.0]), jnp.array([1.0, 0.0, 2.0])).tolist()
    [-1.0, 0.0, 2.0]
    """
    w, v = quaternion[..., :1], quaternion[..., 1:]
    cross = 2 * jnp.cross(v, vector)
    return vector + w * cross + jnp.cross(v, cross)


def _moved(joint: Any, qpos: jax.Array, places: jax.Array, turns: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the place and the turn of a body after the motion of one of its joints."""
    parent_place, parent_turn = places[joint.parent], turns[joint.parent]
    place = jnp.where(joint.is_first, parent_place + rotate(parent_turn, joint.body_pos), places[joint.body])
    turn = jnp.where(joint.is_first, multiply(parent_turn, joint.body_quat), turns[joint.body])
    numbers = jax.lax.dynamic_slice(qpos, (joint.start,), (_MAX_JOINT_SIZE,))
    way = numbers[0] - joint.default
    own_turn = jnp.concatenate([jnp.cos(way / 2)[None], jnp.sin(way / 2) * joint.axis])
    own_turn = jnp.where(joint.kind == _BALL, _unit(numbers[:4]), own_turn)
    turned = multiply(turn, own_turn)
    turned_place = place + rotate(turn, joint.anchor) - rotate(turned, joint.anchor)
    rotates = (joint.kind == _HINGE) | (joint.kind == _BALL)
    slid = jnp.where(joint.kind == _SLIDE, place + way * rotate(turn, joint.axis), place)
    is_free = joint.kind == _FREE
    place = jnp.where(is_free, numbers[:3], jnp.where(rotates, turned_place, slid))
    return place, jnp.where(is_free, _unit(numbers[3:]), jnp.where(rotates, turned, turn))


def _joints(mjmodel: Any) -> _Joint:
    """Return the joints of all bodies but the world, parents first, with a fixed one for each body without any."""
    rows = []
    for body in range(1, mjmodel.nbody):
        first, count = int(mjmodel.body_jntadr[body]), int(mjmodel.body_jntnum[body])
        of_body = int(mjmodel.body_parentid[body]), mjmodel.body_pos[body], mjmodel.body_quat[body]
        parent, pos, quat = of_body
        if not count:
            rows.append(_Joint(*map(np.asarray, (_FIXED, body, parent, True, 0, 0.0, pos, pos, pos, quat))))
        for joint in range(first, first + count):
            start = int(mjmodel.jnt_qposadr[joint])
            own = mjmodel.qpos0[start], mjmodel.jnt_pos[joint], mjmodel.jnt_axis[joint]
            kind = int(mjmodel.jnt_type[joint])
            rows.append(_Joint(*map(np.asarray, (kind, body, parent, joint == first, start, *own, pos, quat))))

    def stack(*values: NDArray) -> NDArray:
        stacked = np.stack(values)
        narrow = {"f": np.float32, "i": np.int32}.get(stacked.dtype.kind, stacked.dtype)
        return stacked.astype(narrow)

    return jax.tree.map(stack, *rows)


def _unit(quaternion: jax.Array) -> jax.Array:
    return quaternion / jnp.maximum(jnp.sqrt(jnp.sum(quaternion**2)), 1e-9)
