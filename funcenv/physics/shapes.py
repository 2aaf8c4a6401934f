"""Shapes of fixtures, and the mass of a polygon or circle.

Polygons and edges have a skin, `POLYGON_RADIUS` thick, which keeps them apart by a little more than they touch. Masses
are computed on the host in float32, in the order of Box2D's `b2PolygonShape.cpp`, so that they agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcenv.physics.scalars import EPSILON, HALF, ONE, PI, ZERO, Number, float32
from funcenv.physics.vectors import Vector, add, cross, dot, mul, normalize, right, sub
from funcenv.struct import PyTreeNode, field

LINEAR_SLOP = np.float32(0.005)  # penetration that is not corrected [m]
POLYGON_RADIUS = np.float32(2) * LINEAR_SLOP  # thickness of the skin of polygons and edges [m]
MAX_VERTICES = 16


class Polygon(PyTreeNode):
    """A convex polygon in the coordinates of its body [m].

    Args:
        vertices: at least 3 and at most 16 points, in any order. Points inside of the convex hull are left out. The
            stored vertices run counter-clockwise from the rightmost one; of several, from the lowest.

    Raises:
        ValueError: too few or too many points, or points on one line.

    >>> Polygon.box(0.5, 1.0).area()
    np.float32(2.0)
    """

    vertices: tuple[Vector, ...] = field(pytree_node=False)

    def __post_init__(self) -> None:
        points = [(float32(x), float32(y)) for x, y in self.vertices]
        if not 3 <= len(points) <= MAX_VERTICES:
            raise ValueError(f"a polygon must have 3 to {MAX_VERTICES} vertices, got {len(points)}; divide it")
        object.__setattr__(self, "vertices", tuple(_convex_hull(points)))
        if not self.area() > EPSILON:
            raise ValueError(f"the vertices of a polygon must span an area, got {self.vertices}; move one of them")

    @classmethod
    def box(cls, half_width: float, half_height: float) -> Polygon:
        """Return a rectangle about the origin, whose vertices begin at the lower left."""
        w, h = float32(half_width), float32(half_height)
        polygon = cls(((-w, -h), (w, -h), (w, h), (-w, h)))
        object.__setattr__(polygon, "vertices", ((-w, -h), (w, -h), (w, h), (-w, h)))
        return polygon

    def edges(self) -> list[tuple[Vector, Vector]]:
        """Return the edges as pairs of vertices, counter-clockwise."""
        return list(zip(self.vertices, (*self.vertices[1:], self.vertices[0]), strict=True))

    def normals(self) -> list[Vector]:
        """Return the outward unit normal of each edge."""
        normals = []
        for start, end in self.edges():
            x, y = end[1] - start[1], -(end[0] - start[0])
            inverse = ONE / np.sqrt(x * x + y * y)
            normals.append((x * inverse, y * inverse))
        return normals

    def area(self) -> Number:
        """Return the area [m^2]."""
        area = ZERO
        for a, b in self.edges():
            area = area + HALF * cross(a, b)
        return area

    def centroid(self) -> Vector:
        """Return the centroid, computed from triangles with a corner at the origin."""
        return _centroid(self.vertices)


class Boxes(PyTreeNode):
    """Upright rectangles of a static body, each of which counts as a fixture of its own, such as steps in a terrain.

    Args:
        left: `[n]`, abscissas of the left sides in the coordinates of the body [m]. All sides may differ from one world
            of a batch to the next.
        bottom: `[n]`, heights of the lower sides [m].
        right: `[n]`, abscissas of the right sides [m].
        top: `[n]`, heights of the upper sides [m].

    >>> steps = Boxes(np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([1.0, 2.0]), np.array([0.5, 1.0]))
    >>> len(steps), steps.vertices()[1][1].tolist()
    (2, [0.5, 1.0])
    """

    left: Any
    bottom: Any
    right: Any
    top: Any

    def __len__(self) -> int:
        return int(np.shape(self.left)[-1])

    def vertices(self) -> list[Vector]:
        """Return the corners, counter-clockwise from the lower right, as a `Polygon` orders them."""
        left, bottom, right, top = (float32(side) for side in (self.left, self.bottom, self.right, self.top))
        return [(right, bottom), (right, top), (left, top), (left, bottom)]

    def normals(self) -> list[Vector]:
        """Return the outward unit normal of each side."""
        corners = self.vertices()
        return [
            normalize(right(sub(end, start)))[0] for start, end in zip(corners, [*corners[1:], corners[0]], strict=True)
        ]

    def centroid(self) -> Vector:
        """Return the centroids, computed from triangles with a corner at the origin."""
        return _centroid(self.vertices())


class Circle(PyTreeNode):
    """A disc in the coordinates of its body [m].

    >>> round(float(mass_of(Circle(1.0), 2.0).mass), 3)
    6.283
    """

    radius: Number = field(pytree_node=False)
    center: Vector = field(pytree_node=False, default=(ZERO, ZERO))


class Edges(PyTreeNode):
    """Line segments, each of which counts as a fixture of its own; they collide on both sides and have no mass.

    Args:
        x1: `[n]`, abscissas of the first ends in the coordinates of the body [m]. All coordinates may differ from one
            world of a batch to the next, as terrain does.
        y1: `[n]`, heights of the first ends [m].
        x2: `[n]`, abscissas of the second ends [m].
        y2: `[n]`, heights of the second ends [m].
    """

    x1: Any
    y1: Any
    x2: Any
    y2: Any

    def __len__(self) -> int:
        return int(np.shape(self.x1)[-1])


Shape: TypeAlias = Polygon | Circle | Edges | Boxes


class Mass(NamedTuple):
    """Mass [kg], centre of mass [m], and moment of inertia about the body's origin [kg m^2]."""

    mass: Number
    center: Vector
    inertia: Number


def mass_of(shape: Shape, density: Number) -> Mass:
    """Return the mass of a shape with a density in kg/m^2."""
    density = float32(density)
    if isinstance(shape, Edges | Boxes):
        return Mass(ZERO, (ZERO, ZERO), ZERO)
    if isinstance(shape, Circle):
        radius, center = float32(shape.radius), (float32(shape.center[0]), float32(shape.center[1]))
        mass = density * PI * radius * radius
        return Mass(mass, center, mass * (HALF * radius * radius + dot(center, center)))
    return _polygon_mass(shape, density)


_THIRD = ONE / np.float32(3)


def _polygon_mass(shape: Polygon, density: Number) -> Mass:
    """Sum triangles that meet in the mean of the vertices."""
    middle = (ZERO, ZERO)
    for vertex in shape.vertices:
        middle = add(middle, vertex)
    middle = mul(ONE / np.float32(len(shape.vertices)), middle)
    area, inertia, center = ZERO, ZERO, (ZERO, ZERO)
    for a, b in shape.edges():
        e1, e2 = sub(a, middle), sub(b, middle)
        d = cross(e1, e2)
        triangle = HALF * d
        area = area + triangle
        center = add(center, mul(triangle * _THIRD, add(e1, e2)))
        xx = e1[0] * e1[0] + e2[0] * e1[0] + e2[0] * e2[0]
        yy = e1[1] * e1[1] + e2[1] * e1[1] + e2[1] * e2[1]
        inertia = inertia + (np.float32(0.25) * _THIRD * d) * (xx + yy)
    mass = density * area
    center = mul(ONE / area, center)
    shifted = add(center, middle)
    return Mass(mass, shifted, density * inertia + mass * (dot(shifted, shifted) - dot(center, center)))


def _centroid(vertices: Sequence[Vector]) -> Vector:
    """Return the centroid of a polygon, computed from triangles with a corner at the origin."""
    area, center = ZERO, (ZERO, ZERO)
    for a, b in zip(vertices, (*vertices[1:], vertices[0]), strict=True):
        triangle = HALF * cross(a, b)
        area = area + triangle
        center = add(center, mul(triangle * _THIRD, add(add((ZERO, ZERO), a), b)))
    return mul(ONE / area, center)


def _convex_hull(points: Sequence[Vector]) -> list[Vector]:
    """Return the convex hull by gift wrapping, from the rightmost point, of several from the lowest."""
    start = 0
    for i, (x, y) in enumerate(points):
        if x > points[start][0] or (x == points[start][0] and y < points[start][1]):
            start = i
    hull = [start]
    while len(hull) <= len(points):
        last, end = hull[-1], 0
        for j in range(1, len(points)):
            if end == last:
                end = j
                continue
            r, v = sub(points[end], points[last]), sub(points[j], points[last])
            side = cross(r, v)
            if side < 0 or (side == 0 and dot(v, v) > dot(r, r)):
                end = j
        if end == start:
            break
        hull.append(end)
    return [points[i] for i in hull]
