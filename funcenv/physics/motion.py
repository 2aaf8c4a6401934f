"""The motion of a body in a step."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from funcenv.physics.revolute import Position, Velocity
from funcenv.physics.scalars import HALF, ONE, PI, Number, once, where
from funcenv.physics.vectors import add, dot, length, mul

MAX_TRANSLATION = np.float32(2)  # greatest translation of a body in a step [m]
MAX_ROTATION = HALF * PI  # greatest rotation of a body in a step [rad]


def integrate(position: Position, velocity: Velocity, h: Number) -> tuple[Position, Velocity]:
    """Return the position after a step, and the velocity, both limited by the most that a body may move in a step."""
    translation, turn = mul(h, velocity.linear), h * velocity.angular
    is_fast = dot(translation, translation) > MAX_TRANSLATION * MAX_TRANSLATION
    factor = where(is_fast, MAX_TRANSLATION / where(is_fast, length(translation), ONE), ONE)
    spins = turn * turn > MAX_ROTATION * MAX_ROTATION
    spin_factor = where(spins, MAX_ROTATION / where(spins, jnp.abs(turn), ONE), ONE)
    velocity = once(Velocity(mul(factor, velocity.linear), velocity.angular * spin_factor))
    moved = Position(add(position.center, mul(h, velocity.linear)), position.angle + h * velocity.angular)
    return once(moved), velocity
