"""Tables of a world's fixtures and of the pairs of them that may collide, made when a program is traced."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.scalars import ZERO, Number, float32, greatest_of, least_of, once, opaque
from funcenv.physics.shapes import POLYGON_RADIUS, Boxes, Circle, Edges, Polygon, Shape
from funcenv.physics.transforms import Transform, apply
from funcenv.physics.vectors import Vector
from funcenv.physics.world import Body, Fixture, World, static_transform
from funcenv.struct import NDArray

CIRCLE, EDGE, POLYGON = 0, 1, 2
# the kinds of pairs, and which shape is called A; other pairs do not collide
PAIR_KINDS = ((EDGE, POLYGON), (POLYGON, POLYGON), (EDGE, CIRCLE), (POLYGON, CIRCLE), (CIRCLE, CIRCLE))
BOX_MARGIN = np.float32(0.1)  # enlargement of boxes, so that they need not move every step [m]


@dataclass(frozen=True)
class Part:
    """A fixture of a body, or one edge or box of a fixture with several."""

    body: int
    fixture: Fixture
    kind: int
    edge: int = 0

    @property
    def radius(self) -> Number:
        """The thickness of the skin, or the radius of a circle [m]."""
        shape = self.fixture.shape
        return float32(shape.radius) if isinstance(shape, Circle) else POLYGON_RADIUS

    @property
    def friction(self) -> Number:
        """The coefficient of friction of this edge or fixture."""
        friction = float32(self.fixture.friction)
        return friction[self.edge] if np.ndim(friction) else friction

    def vertices(self) -> list[Vector]:
        """Return the vertices in the coordinates of the body; a circle's is its centre."""
        shape = self.fixture.shape
        if isinstance(shape, Circle):
            return [(float32(shape.center[0]), float32(shape.center[1]))]
        if isinstance(shape, Polygon):
            return list(shape.vertices)
        if isinstance(shape, Boxes):
            return [(x[self.edge], y[self.edge]) for x, y in shape.vertices()]
        x1, y1, x2, y2 = (float32(array)[self.edge] for array in (shape.x1, shape.y1, shape.x2, shape.y2))
        return [(x1, y1), (x2, y2)]

    def normals(self) -> list[Vector]:
        """Return the normals of a polygon's edges."""
        shape = self.fixture.shape
        return shape.normals() if isinstance(shape, Polygon) else []

    def centroid(self) -> Vector:
        """Return the centroid of a polygon."""
        shape = self.fixture.shape
        return shape.centroid() if isinstance(shape, Polygon) else (ZERO, ZERO)


class Fixtures:
    """The fixtures of a world in the order of their creation, and the pairs that may collide.

    The pairs are a grid of all static parts times all moving parts, row by row, and after it the pairs of moving parts.
    A pair that cannot collide has `can_collide` False.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.moving_bodies = world.moving
        self.parts = [part for i, body in enumerate(world.bodies) for part in _parts(i, body)]
        self.static = [i for i, part in enumerate(self.parts) if world.bodies[part.body].is_static]
        self.moving = [i for i, part in enumerate(self.parts) if not world.bodies[part.body].is_static]
        joined = {frozenset((joint.body_a, joint.body_b)) for joint in world.joints}
        grid = list(itertools.product(self.static, self.moving))
        others = [
            pair
            for pair in itertools.combinations(self.moving, 2)
            if self._can_collide(*pair) and frozenset(self.parts[i].body for i in pair) not in joined
        ]
        self.grid_size = len(grid)
        pairs = [self._order(*pair) for pair in grid + others]
        self.pairs: NDArray = np.array(pairs, np.int32).reshape(-1, 2)
        self.can_collide: NDArray = np.array([self._can_collide(*pair) for pair in pairs], bool)
        keys = [tuple(sorted(pair)) for pair in pairs]
        # the position of each pair in the order in which Box2D creates contacts
        self.creation_order: NDArray = _rank(keys)
        if not self.can_collide.any():  # then no contact is ever made
            self.pairs, self.can_collide = self.pairs[:0], self.can_collide[:0]

    @property
    def max_contacts(self) -> int:
        """The number of places for contacts."""
        return min(self.world.max_contacts, len(self.pairs))

    @property
    def max_touching(self) -> int:
        """The number of places for touching contacts."""
        most = self.world.max_touching
        return self.max_contacts if most is None else min(most, self.max_contacts)

    @cached_property
    def moving_can_collide(self) -> bool:
        """True if moving bodies may collide with each other."""
        return bool(self.can_collide[self.grid_size :].any())

    @cached_property
    def fixed_bodies(self) -> NDArray:
        """The number of the static body of each static part; every part of a divided body is one of its own."""
        bodies = [
            (self.parts[i].body, i if self.world.bodies[self.parts[i].body].is_divided else -1) for i in self.static
        ]
        return np.array([sorted(set(bodies)).index(body) for body in bodies], np.int32)

    @cached_property
    def a_is_static(self) -> bool:
        """True if the body A of every pair is static, and the body B moving."""
        static = set(self.static)
        return all(a in static and b not in static for a, b in self.pairs[self.can_collide].tolist())

    @cached_property
    def has_sensors(self) -> bool:
        """True if some pair has a sensor."""
        return any(self.parts[i].fixture.is_sensor for i in set(self.pairs[self.can_collide].ravel().tolist()))

    @cached_property
    def kinds(self) -> list[tuple[int, int]]:
        """The kinds of pairs that occur."""
        found = {(self.parts[a].kind, self.parts[b].kind) for a, b in self.pairs[self.can_collide].tolist()}
        return [kind for kind in PAIR_KINDS if kind in found]

    def row(self, part: int) -> int:
        """Return the row of a part's body among the moving ones; their number for a static body."""
        body = self.parts[part].body
        return self.moving_bodies.index(body) if body in self.moving_bodies else len(self.moving_bodies)

    def _can_collide(self, i: int, j: int) -> bool:
        a, b = self.parts[i], self.parts[j]
        first, second = a.fixture, b.fixture
        passes = bool(first.mask & second.category) and bool(second.mask & first.category)
        return passes and a.body != b.body and self._kind(i, j) is not None

    def _kind(self, i: int, j: int) -> tuple[int, int] | None:
        kind = self.parts[i].kind, self.parts[j].kind
        return kind if kind in PAIR_KINDS else kind[::-1] if kind[::-1] in PAIR_KINDS else None

    def _order(self, i: int, j: int) -> tuple[int, int]:
        """Return the pair with A first: as the kind of the shapes has it, and else the older fixture."""
        i, j = sorted((i, j))
        return (i, j) if (self.parts[i].kind, self.parts[j].kind) in PAIR_KINDS else (j, i)


def box_of(points: list[Vector], radius: Number, xf: Transform) -> tuple[Number, Number, Number, Number]:
    """Return left, bottom, right and top of the bounding box of points with a skin."""
    radius = opaque(radius)
    corners = [apply(xf, point) for point in points]
    columns = list(zip(*corners, strict=True))
    left, bottom = map(least_of, columns)
    right, top = map(greatest_of, columns)
    return once((left - radius, bottom - radius, right + radius, top + radius))


def moving_boxes(fixtures: Fixtures, transforms: Transform) -> tuple[Number, Number, Number, Number]:
    """Return the bounding boxes of all moving parts, four arrays `[moving parts]`, for transforms `[moving bodies]`."""
    parts = [fixtures.parts[i] for i in fixtures.moving]
    vertices = [part.vertices() for part in parts]
    size = max(len(points) for points in vertices)
    padded = np.array([[points[min(k, len(points) - 1)] for k in range(size)] for points in vertices], np.float32)
    (x, y), (sine, cosine) = jax.tree.map(lambda number: per_part(fixtures, number)[:, None], transforms)
    x, y = once(apply(((x, y), (sine, cosine)), (padded[..., 0], padded[..., 1])))
    radius = opaque(np.array([part.radius for part in parts], np.float32))
    columns = list(x.T), list(y.T)
    left, bottom = map(least_of, columns)
    right, top = map(greatest_of, columns)
    return once((left - radius, bottom - radius, right + radius, top + radius))


def per_part(fixtures: Fixtures, numbers: jax.Array) -> jax.Array:
    """Return numbers of the moving bodies `[moving bodies]` for each moving part."""
    rows = [fixtures.row(i) for i in fixtures.moving]
    return numbers if rows == list(range(numbers.shape[0])) else jnp.stack([numbers[row] for row in rows])


def static_boxes(fixtures: Fixtures) -> jax.Array:
    """Return the enlarged boxes of all static parts, `[static parts, 4]`."""
    columns: list[list[Any]] = [[], [], [], []]
    for i, body in enumerate(fixtures.world.bodies):
        if not body.is_static:
            continue
        xf = static_transform(body)
        for fixture in body.fixtures:
            for column, side in zip(columns, _fixture_boxes(i, fixture, xf), strict=True):
                column.append(jnp.atleast_1d(jnp.asarray(side, jnp.float32)))
    if not columns[0]:
        return jnp.zeros((0, 4), jnp.float32)
    boxes = jnp.stack([column[0] if len(column) == 1 else jnp.concatenate(column) for column in columns], -1)
    return boxes + np.array([[-BOX_MARGIN, -BOX_MARGIN, BOX_MARGIN, BOX_MARGIN]])


def _fixture_boxes(body: int, fixture: Fixture, xf: Transform) -> tuple[Any, Any, Any, Any]:
    shape = fixture.shape
    if isinstance(shape, Edges):
        ends = [(float32(shape.x1), float32(shape.y1)), (float32(shape.x2), float32(shape.y2))]
        return box_of(ends, POLYGON_RADIUS, xf)
    if isinstance(shape, Boxes):
        return box_of(shape.vertices(), POLYGON_RADIUS, xf)
    part = Part(body, fixture, _kind_of(shape))
    return box_of(part.vertices(), part.radius, xf)


def mix_friction(a: Number, b: Number) -> Number:
    """Return the friction between two materials."""
    return jnp.sqrt(float32(a) * float32(b))


def _parts(index: int, body: Body) -> list[Part]:
    parts = []
    for fixture in body.fixtures:
        kind = _kind_of(fixture.shape)
        count = len(fixture.shape) if isinstance(fixture.shape, Edges | Boxes) else 1
        parts += [Part(index, fixture, kind, edge) for edge in range(count)]
    return parts


def _kind_of(shape: Shape) -> int:
    return EDGE if isinstance(shape, Edges) else CIRCLE if isinstance(shape, Circle) else POLYGON


def _rank(keys: list[Any]) -> NDArray:
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    rank = np.zeros(len(keys), np.int32)
    rank[order] = np.arange(len(keys), dtype=np.int32)
    return rank
