"""Shapes and materials of pairs of fixtures, looked up by the index of the pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.contact_solver import ContactBody, Layout
from funcenv.physics.fixtures import CIRCLE, EDGE, POLYGON, Fixtures, static_boxes
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
from funcenv.physics.scalars import ZERO, Number, choose, once, where
from funcenv.physics.tables import FixtureTable, is_at_origin, lookup
from funcenv.physics.transforms import IDENTITY, Transform

_COLLIDE = {
    (EDGE, POLYGON): collide_edge_polygon,
    (POLYGON, POLYGON): collide_polygons,
    (EDGE, CIRCLE): collide_edge_circle,
    (POLYGON, CIRCLE): collide_polygon_circle,
    (CIRCLE, CIRCLE): collide_circles,
}


class Side:
    """The fixture A or B of a pair. Each of its properties is looked up where it is first asked for."""

    def __init__(self, table: FixtureTable, index: Number, masses: Sequence[BodyMass] | None) -> None:
        self._table, self._index, self._masses = table, index, masses

    @cached_property
    def _row(self) -> Any:
        return self._table.rows_of_numbers.row_at(self._index)

    @cached_property
    def shape(self) -> Convex:
        """The shape."""
        table, row, index = self._table, self._row, self._index
        has_normals = (table.kinds == POLYGON).any()
        empty = np.zeros(0, np.float32)
        return once(
            Convex(
                vertices=(row("x"), row("y")),
                normals=(row("nx"), row("ny")) if has_normals else (empty, empty),
                count=lookup(table.counts, index),
                centroid=(row("cx"), row("cy")) if has_normals else (ZERO, ZERO),
                radius=row("radius"),
            )
        )

    @cached_property
    def radius(self) -> Number:
        """The thickness of the skin, or the radius of a circle [m]."""
        return self._row("radius")

    @cached_property
    def kind(self) -> Number:
        """The kind of the shape."""
        return lookup(self._table.kinds, self._index)

    @cached_property
    def friction(self) -> Number:
        """The coefficient of friction."""
        return self._row("friction")

    @cached_property
    def restitution(self) -> Number:
        """The restitution."""
        return self._row("restitution")

    @cached_property
    def body(self) -> ContactBody:
        """The body."""
        row, mass = lookup(self._table.rows, self._index), None
        if self._masses is not None:
            mass = choose(self._masses, row)
        return ContactBody(row, mass, self._fixed)

    @cached_property
    def _fixed(self) -> Transform:
        """The transform of a static body."""
        if self._table.is_at_origin:
            return IDENTITY
        x, y, angle = (self._row(name) for name in ("px", "py", "angle"))
        return (x, y), (jnp.sin(angle), jnp.cos(angle))


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
            fixed_at_origin=all(is_at_origin(fixtures.world.bodies[i]) for i in fixtures.world.fixed),
        )
        if fixtures.a_is_static:  # then the index of a pair says which fixtures these are
            self._side_parts = fixtures.static, fixtures.moving
        else:
            every = list(range(len(fixtures.parts)))
            self._side_parts = every, every
        self.static_boxes = static_boxes(fixtures)  # enlarged boxes of the static parts, [static parts, 4]
        self._tables = [FixtureTable(fixtures, parts) for parts in self._side_parts]
        nothing = BodyMass(ZERO, ZERO, (ZERO, ZERO))
        moving = [masses[body] for body in fixtures.moving_bodies]
        every_mass = moving if fixtures.a_is_static else [*moving, nothing]
        self._side_masses = [None if fixtures.a_is_static else every_mass, every_mass]

    def parts(self, pair: Number) -> tuple[Number, Number]:
        """Return the rows of A and B in their tables."""
        pair = jnp.maximum(pair, 0)
        if self.fixtures.a_is_static:
            size = np.int32(len(self.fixtures.moving))
            return jax.lax.div(pair, size), jax.lax.rem(pair, size)
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
        """Return both fixtures of one pair."""
        first, second = (
            Side(table, once(index), masses)
            for table, index, masses in zip(self._tables, self.parts(pair), self._side_masses, strict=True)
        )
        return first, second

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
