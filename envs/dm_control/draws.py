"""Random numbers of first states, rounded so that they have the same bits in every program."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.mujoco.mujoco_env import exact

_FREE, _BALL, _SLIDE, _HINGE = 0, 1, 2, 3  # mjtJoint


def between(key: jax.Array, low: Any, high: Any, shape: tuple[int, ...] = ()) -> Float[Array, "*shape"]:
    """Draw numbers uniformly from bounds."""
    low, high = jnp.asarray(low, float), jnp.asarray(high, float)
    drawn = jax.random.uniform(key, shape or jnp.broadcast_shapes(low.shape, high.shape), float)
    return exact(low + exact(drawn * exact(high - low)))


def normal(key: jax.Array, scale: float, shape: tuple[int, ...] = ()) -> Float[Array, "*shape"]:
    """Draw numbers from the normal distribution with a standard deviation."""
    return exact(scale * exact(jax.random.normal(key, shape, float)))


def direction(key: jax.Array, size: int) -> Float[Array, "size"]:
    """Draw a unit vector of any direction, such as a quaternion of any rotation."""
    return unit(normal(key, 1.0, (size,)))


def unit(vector: Float[Array, "size"]) -> Float[Array, "size"]:
    """Return a vector divided by its length."""
    squares = exact(jnp.square(vector))
    total = functools.reduce(jnp.add, [squares[number] for number in range(len(vector))])  # in this order
    return exact(vector / exact(jnp.sqrt(exact(total))))


def on_circle(angle: Float[Array, ""], radius: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the radius times sine and cosine of an angle."""
    return exact(radius * exact(jnp.sin(angle))), exact(radius * exact(jnp.cos(angle)))


def turn_about_z(key: jax.Array) -> Float[Array, "4"]:
    """Draw the quaternion of a turn about the vertical by any angle."""
    sine, cosine = on_circle(between(key, 0.0, math.pi), 1.0)
    zero = jnp.zeros((), float)
    return jnp.stack([cosine, zero, zero, sine])


def random_joints(mjmodel: Any, key: jax.Array) -> Float[Array, "nq"]:
    """Draw the positions of joints as dm_control's `randomize_limited_and_rotational_joints` does.

    Limited hinges and slides are uniform within their limits, and other hinges in [-pi, pi). The orientation of a ball
    joint is uniform; the quaternion of a free joint has uniform entries in [0, 1) before it is normalized, which is a
    quirk of dm_control. Everything else is the model's own.
    """
    angle_key, quaternion_key = jax.random.split(key)
    kinds, starts = mjmodel.jnt_type, mjmodel.jnt_qposadr
    is_limited = mjmodel.jnt_limited.astype(bool)
    is_drawn = (kinds == _HINGE) | (is_limited & (kinds == _SLIDE))
    low = np.where(is_limited, mjmodel.jnt_range[:, 0], -math.pi)[is_drawn]
    high = np.where(is_limited, mjmodel.jnt_range[:, 1], math.pi)[is_drawn]
    qpos = jnp.asarray(mjmodel.qpos0, float)
    if is_drawn.any():
        qpos = qpos.at[starts[is_drawn]].set(between(angle_key, low, high))
    for number in np.flatnonzero(kinds <= _BALL).tolist():
        is_free = kinds[number] == _FREE
        own_key = jax.random.fold_in(quaternion_key, number)
        turn = unit(jax.random.uniform(own_key, (4,), float)) if is_free else direction(own_key, 4)
        start = int(starts[number]) + (3 if is_free else 0)
        qpos = qpos.at[start : start + 4].set(turn)
    return qpos
