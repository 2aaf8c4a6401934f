"""Tables of fixtures: columns of numbers, of which a row is looked up at once where that is cheap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.fixtures import CIRCLE, EDGE, Fixtures
from funcenv.physics.scalars import ZERO, Number, float32, is_known, row_at, where
from funcenv.physics.shapes import POLYGON_RADIUS, Boxes, Edges
from funcenv.physics.world import Body

MAX_PACKED_ROWS = 32  # rows of a table that a step may pack; columns of longer ones are looked up one by one
MAX_SELECTS = 8  # rows of a table from which a lookup chooses by comparisons; longer tables are gathered


class FixtureTable:
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
        columns = jax.tree.map(lambda *columns: _concatenate(columns), *blocks)
        self.counts = columns.pop("count")
        self.rows_of_numbers = Rows(columns)
        self.is_at_origin = all(is_at_origin(world.bodies[i]) for i in world.fixed)


class Rows:
    """Columns of numbers and of vectors of numbers, of which a row is looked up at once where that is cheap."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns
        self._packed = _Packed([name for name in columns if _is_known_column(columns[name])], columns)
        others = [name for name in columns if not _is_known_column(columns[name])]
        size = len(next(iter(columns["x"])))
        self._traced = _Packed(others if size <= MAX_PACKED_ROWS else [], columns)

    def row_at(self, index: Number) -> Callable[[str], Any]:
        """Return the row as a function of the name of a column."""
        rows = [packed.row_at(index) for packed in (self._packed, self._traced)]

        @functools.cache
        def column(name: str) -> Any:
            for packed, row in zip((self._packed, self._traced), rows, strict=True):
                if name in packed.known or name in packed.places:
                    return packed.entry(row, name)
            values = self._columns[name]
            if isinstance(values, list):
                return jnp.stack([row_at(jnp.asarray(value), index) for value in values])
            return row_at(jnp.asarray(values), index)

        return column


class _Packed:
    """Some columns, side by side in one array; those with one value all along are left out."""

    def __init__(self, names: list[str], columns: dict[str, Any]) -> None:
        self.known: dict[str, Any] = {}
        self.places: dict[str, tuple[int, int]] = {}  # first place, and size; 0 for a number
        packed: list[Any] = []
        for name in names:
            is_vector = isinstance(columns[name], list)
            rows = columns[name] if is_vector else [columns[name]]
            if all(isinstance(row, np.ndarray) and (row == row[0]).all() for row in rows):
                self.known[name] = np.array([row[0] for row in rows]) if is_vector else rows[0][0]
                continue
            self.places[name] = len(packed), len(rows) if is_vector else 0
            packed += rows
        is_known = all(isinstance(column, np.ndarray) for column in packed)
        self._rows: Any = (np if is_known else jnp).stack(packed, -1) if packed else None

    def row_at(self, index: Number) -> Any:
        """Return a row of the packed columns."""
        return None if self._rows is None else row_at(jnp.asarray(self._rows), index)

    def entry(self, row: Any, name: str) -> Any:
        """Return a number or vector of a row."""
        if name in self.known:
            return self.known[name]
        place, size = self.places[name]
        return jax.lax.slice(row, (place,), (place + size,)) if size else jax.lax.index_in_dim(row, place, 0, False)


def _is_known_column(column: Any) -> bool:
    return all(isinstance(row, np.ndarray) for row in (column if isinstance(column, list) else [column]))


def lookup(column: Any, index: Number) -> Number:
    """Return entries of a column by their indices."""
    if isinstance(column, np.ndarray) and len(column) and (column == column[0]).all():
        return column[0]
    if isinstance(column, np.ndarray) and column.dtype != bool and (column == np.arange(len(column))).all():
        return index
    if isinstance(column, np.ndarray) and len(column) <= MAX_SELECTS:
        chosen = column[0]
        for i, value in enumerate(column[1:], start=1):
            chosen = where(index == i, value, chosen)
        return chosen
    return jnp.take(jnp.asarray(column), index, mode="clip")


def is_at_origin(body: Body) -> bool:
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
