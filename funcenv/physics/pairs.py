"""Shapes and materials of pairs of fixtures, looked up by the index of the pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.contact_solver import ContactBody, Layout
from funcenv.physics.fixtures import CIRCLE, EDGE, POLYGON, Fixtures
from funcenv.physics.manifold import (
    Convex,
    Manifold,
    collide_circles,
    collide_edge_circle,
    collide_edge_polygon,
    collide_polygon_circle,
    collide_polygons,
)
from funcenv.physics.revolute import BodyMass
from funcenv.physics.scalars import ONE, ZERO, Number, choose, float32, is_known, where
from funcenv.physics.shapes import POLYGON_RADIUS, Boxes, Edges
from funcenv.physics.transforms import Transform
from funcenv.physics.world import Body

MAX_SELECTS = 8  # rows of a table from which a lookup chooses by comparisons; longer tables are gathered
_COLLIDE = {
    (EDGE, POLYGON): collide_edge_polygon,
    (POLYGON, POLYGON): collide_polygons,
    (EDGE, CIRCLE): collide_edge_circle,
    (POLYGON, CIRCLE): collide_polygon_circle,
    (CIRCLE, CIRCLE): collide_circles,
}


class Side(NamedTuple):
    """The fixture A or B of pairs."""

    shape: Convex
    kind: Number
    friction: Number
    restitution: Number
    body: ContactBody


class PairTable:
    """Looks up both fixtures of a pair; made from a world when a program is traced.

    Args:
        fixtures: of the world.
        masses: of its bodies.
        is_alone: whether the world is computed by itself, and not with a batch of others.
    """

    def __init__(self, fixtures: Fixtures, masses: Sequence[BodyMass], is_alone: bool = False) -> None:
        self.fixtures = fixtures
        self.masses = masses
        self.is_alone = is_alone
        kinds = {kind for pair in fixtures.kinds for kind in pair}
        self.layout = Layout(
            num_rows=len(fixtures.moving_bodies),
            a_is_static=fixtures.a_is_static,
            b_is_moving=fixtures.a_is_static,
            has_circles=CIRCLE in kinds,
            fixed_at_origin=all(_is_at_origin(fixtures.world.bodies[i]) for i in fixtures.world.fixed),
        )
        if fixtures.a_is_static:  # then the index of a pair says which fixtures these are
            self._side_parts = fixtures.static, fixtures.moving
        else:
            every = list(range(len(fixtures.parts)))
            self._side_parts = every, every
        self._tables = [_Table(fixtures, parts) for parts in self._side_parts]

    def parts(self, pair: Number) -> tuple[Number, Number]:
        """Return the rows of A and B in their tables."""
        pair = jnp.maximum(pair, 0)
        if self.fixtures.a_is_static:
            size = len(self.fixtures.moving)
            return pair // size, pair % size
        columns = self.fixtures.pairs
        return lookup(columns[:, 0], pair), lookup(columns[:, 1], pair)

    def rows(self, pair: Number) -> tuple[Number, Number]:
        """Return the rows of the bodies among the moving ones; their number for a static body."""
        first, second = self.parts(pair)
        return lookup(self._tables[0].rows, first), lookup(self._tables[1].rows, second)

    def is_sensor(self, pair: Number) -> Number:
        """Return whether one of the fixtures is a sensor."""
        first, second = self.parts(pair)
        return lookup(self._tables[0].is_sensor, first) | lookup(self._tables[1].is_sensor, second)

    def sides(self, pair: Number) -> tuple[Side, Side]:
        """Return both fixtures."""
        first, second = self.parts(pair)
        return self._side(0, first), self._side(1, second)

    def manifold(self, sides: tuple[Side, Side], xf_a: Transform, xf_b: Transform) -> Manifold:
        """Return where the fixtures of pairs touch."""
        a, b = sides
        found: Any = None
        for kinds in self.fixtures.kinds:
            manifold = _COLLIDE[kinds](a.shape, xf_a, b.shape, xf_b)
            if found is None:
                found = manifold
                continue
            is_kind = (a.kind == kinds[0]) & (b.kind == kinds[1])
            found = jax.tree.map(lambda new, old, is_kind=is_kind: where(is_kind, new, old), manifold, found)
        return found

    def _side(self, side: int, index: Number) -> Side:
        table = self._tables[side]
        row = lookup(table.rows, index)
        mass = None
        if not (side == 0 and self.layout.a_is_static):
            nothing = BodyMass(ZERO, ZERO, (ZERO, ZERO))
            values = [self.masses[body] for body in self.fixtures.moving_bodies]
            mass = choose([*values] if self.layout.a_is_static else [*values, nothing], row)
        return Side(
            shape=table.shape(index),
            kind=lookup(table.kinds, index),
            friction=lookup(table.friction, index),
            restitution=lookup(table.restitution, index),
            body=ContactBody(row, mass, table.transform(index)),
        )


class _Table:
    """Columns of a few fixtures, padded to the same number of vertices."""

    def __init__(self, fixtures: Fixtures, parts: list[int]) -> None:
        chosen = [fixtures.parts[i] for i in parts]
        size = max(1 if part.kind == CIRCLE else 2 if part.kind == EDGE else len(part.vertices()) for part in chosen)
        self.kinds = np.array([part.kind for part in chosen], np.int32)
        self.rows = np.array([fixtures.row(i) for i in parts], np.int32)
        self.is_sensor = np.array([part.fixture.is_sensor for part in chosen], bool)
        world = fixtures.world
        blocks: list[dict[str, Any]] = []
        for part in chosen:
            shape = part.fixture.shape
            count = len(shape) if isinstance(shape, Edges | Boxes) else 1
            if part.edge > 0:  # the block of the first has them all
                continue
            if isinstance(shape, Edges):
                ends = [(float32(shape.x1), float32(shape.y1)), (float32(shape.x2), float32(shape.y2))]
                vertices, normals, centroid, radius = ends, [], (ZERO, ZERO), POLYGON_RADIUS
                length = 2
            elif isinstance(shape, Boxes):
                vertices, normals, centroid, radius = (
                    shape.vertices(),
                    shape.normals(),
                    shape.centroid(),
                    POLYGON_RADIUS,
                )
                length = len(vertices)
            else:
                vertices, normals, centroid, radius = part.vertices(), part.normals(), part.centroid(), part.radius
                length = len(vertices)
            normals = list(normals) or [(ZERO, ZERO)]
            body = world.bodies[part.body]
            position, angle = body.position, body.angle
            blocks.append(
                {
                    "x": [_column(vertices[min(i, length) % length][0], count) for i in range(size)],
                    "y": [_column(vertices[min(i, length) % length][1], count) for i in range(size)],
                    "nx": [_column(normals[i if i < len(normals) else 0][0], count) for i in range(size)],
                    "ny": [_column(normals[i if i < len(normals) else 0][1], count) for i in range(size)],
                    "cx": _column(centroid[0], count),
                    "cy": _column(centroid[1], count),
                    "count": np.full(count, length, np.int32),
                    "radius": _column(radius, count),
                    "friction": _column(float32(part.fixture.friction), count),
                    "restitution": _column(float32(part.fixture.restitution), count),
                    "px": _column(float32(position[0]), count),
                    "py": _column(float32(position[1]), count),
                    "angle": _column(float32(angle), count),
                }
            )
        self._columns = jax.tree.map(lambda *columns: _concatenate(columns), *blocks)
        self.friction, self.restitution = self._columns["friction"], self._columns["restitution"]
        self._is_at_origin = all(_is_at_origin(world.bodies[i]) for i in world.fixed)

    def shape(self, index: Number) -> Convex:
        columns = self._columns
        has_normals = (self.kinds == POLYGON).any()
        return Convex(
            vertices=[(lookup(x, index), lookup(y, index)) for x, y in zip(columns["x"], columns["y"], strict=True)],
            normals=[(lookup(x, index), lookup(y, index)) for x, y in zip(columns["nx"], columns["ny"], strict=True)]
            if has_normals
            else [],
            count=lookup(columns["count"], index),
            centroid=(lookup(columns["cx"], index), lookup(columns["cy"], index)),
            radius=lookup(columns["radius"], index),
        )

    def transform(self, index: Number) -> Transform:
        """Return the transforms of static bodies."""
        if self._is_at_origin:
            return (ZERO, ZERO), (ZERO, ONE)
        x, y, angle = (lookup(self._columns[name], index) for name in ("px", "py", "angle"))
        return (x, y), (jnp.sin(angle), jnp.cos(angle))


def lookup(column: Any, index: Number) -> Number:
    """Return entries of a column by their indices."""
    if isinstance(column, np.ndarray) and len(column) and (column == column[0]).all():
        return column[0]
    if isinstance(column, np.ndarray) and len(column) <= MAX_SELECTS:
        chosen = column[0]
        for i, value in enumerate(column[1:], start=1):
            chosen = where(index == i, value, chosen)
        return chosen
    return jnp.take(jnp.asarray(column), index, mode="clip")


def _is_at_origin(body: Body) -> bool:
    """Return whether the body is known to lie at the origin, without rotation."""
    numbers = float32(body.position[0]), float32(body.position[1]), float32(body.angle)
    return all(is_known(number) and not np.any(number) for number in numbers)


def _column(value: Any, count: int) -> Any:
    if isinstance(value, jax.Array):
        return jnp.broadcast_to(value, (count,))
    return np.broadcast_to(np.asarray(value, np.float32), (count,))


def _concatenate(columns: Sequence[Any]) -> Any:
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return jnp.concatenate([jnp.asarray(column) for column in columns])
