"""Rigid bodies in the plane: a solver that does what Box2D does, as pure functions of a state."""

from funcenv.physics.rays import cast_ray
from funcenv.physics.revolute import RevoluteJoint
from funcenv.physics.shapes import Boxes, Circle, Edges, Polygon
from funcenv.physics.simulation import initial_state
from funcenv.physics.stepping import step
from funcenv.physics.world import (
    BEGAN,
    ENDED,
    Body,
    Fixture,
    World,
    WorldState,
    apply_impulse,
    transform_of,
)

__all__ = [
    "BEGAN",
    "ENDED",
    "Body",
    "Boxes",
    "Circle",
    "Edges",
    "Fixture",
    "Polygon",
    "RevoluteJoint",
    "World",
    "WorldState",
    "apply_impulse",
    "cast_ray",
    "initial_state",
    "step",
    "transform_of",
]
