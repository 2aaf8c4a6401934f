"""Shapes: what a picture is made of.

Coordinates and sizes are in the units of the world, x to the right and y up; angles in radians, anticlockwise. A colour
is whatever `rgba` gives, `[4]`; one with alpha 0 hides a shape. Every field is a number or an array that may depend on
the state, so shapes trace, batch, stack over time and differentiate; what a closed shape is drawn with is its `color`,
and an outline of a colour and width of its own where it has one, along the middle of its edge.

Each shape answers two questions: how it looks (`layers`) and where it is after a motion of the plane (`moved`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import _coverage as coverage
from funcenv.struct import PyTreeNode, field


class Pixels(NamedTuple):
    """The middles of all pixels, in world coordinates."""

    x: jax.Array  # [1, width]
    y: jax.Array  # [height, 1]
    size: jax.Array  # of a pixel, scalar
    density: jax.Array  # pixels per unit of length, scalar


class Layer(NamedTuple):
    """One coat of paint."""

    coverage: jax.Array  # [height, width], of each pixel, from 0 to 1
    color: tuple[Any, Any, Any]  # red, green, blue: numbers, or arrays [height, width]
    alpha: Any  # the opacity, a number


class Motion(NamedTuple):
    """Scale about the origin, then turn, then shift."""

    shift: tuple[Any, Any]
    angle: Any  # None: no turn, so that what is upright stays so
    scale: Any

    def point(self, point: Any) -> Any:
        """Where points `[..., 2]` go."""
        point = jnp.asarray(point, jnp.float32) * self.scale
        x, y = point[..., 0], point[..., 1]
        if self.angle is not None:
            cos, sin = jnp.cos(self.angle), jnp.sin(self.angle)
            x, y = cos * x - sin * y, sin * x + cos * y
        return jnp.stack([self.shift[0] + x, self.shift[1] + y], axis=-1)

    def turned(self, angle: Any) -> Any:
        """What an angle becomes."""
        return angle if self.angle is None else self.angle + (0.0 if angle is None else angle)


class Shape(PyTreeNode):
    """Base class of all shapes."""

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """What to paint, in order."""
        raise NotImplementedError(f"{type(self).__name__} must define layers(pixels)")

    def moved(self, motion: Motion) -> Shape:
        """The shape after a motion of the plane."""
        raise NotImplementedError(f"{type(self).__name__} must define moved(motion)")


def place(shapes: Sequence[Shape], at: Any = (0.0, 0.0), angle: Any = 0.0, scale: Any = 1.0) -> tuple[Shape, ...]:
    """Shapes drawn around the origin, scaled, then turned about it, then put elsewhere.

    Text and sprites move and grow, but stay upright.

    >>> wheel, = place([Circle((1.0, 0.0), 0.5, (0.0, 0.0, 0.0, 1.0))], at=(5.0, 5.0), angle=np.pi / 2, scale=2.0)
    >>> wheel.center.tolist(), float(wheel.radius)
    ([5.0, 7.0...], 1.0)
    """
    level = isinstance(angle, (int, float)) and angle == 0
    motion = Motion((at[0], at[1]), None if level else jnp.float32(angle), jnp.float32(scale))
    return tuple(shape.moved(motion) for shape in shapes)


class Circle(Shape):
    """A disc.

    >>> Circle((0.0, 1.0), 0.5, (1.0, 0.0, 0.0, 1.0)).radius
    0.5
    """

    center: Any  # [2]
    radius: Any
    color: Any
    outline: Any = None  # colour
    outline_width: Any = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """The disc, then its edge."""
        x, y = pixels.x - self.center[0], pixels.y - self.center[1]
        away = coverage.length(x, y)
        yield _coat(coverage.disc(x, y, away, self.radius, pixels.density), self.color)
        yield from _edge(self, away - self.radius, pixels)

    def moved(self, motion: Motion) -> Circle:
        """Elsewhere, and larger."""
        return self.replace(
            center=motion.point(self.center),
            radius=self.radius * motion.scale,
            outline_width=self.outline_width * motion.scale,
        )


class Rectangle(Shape):
    """A rectangle, at any angle, with round corners if wanted.

    >>> Rectangle((0.0, 0.0), (2.0, 1.0), (1.0, 0.0, 0.0, 1.0), angle=0.1).size
    (2.0, 1.0)
    """

    center: Any  # [2]
    size: Any  # [2]: width, height
    color: Any
    angle: Any = None  # None: 0
    corner_radius: Any = None  # None: 0
    outline: Any = None  # colour
    outline_width: Any = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """The inside, then its edge."""
        x, y = _turned_back(pixels.x - self.center[0], pixels.y - self.center[1], self.angle)
        half_width, half_height = self.size[0] / 2, self.size[1] / 2
        if self.corner_radius is None:
            yield _coat(self._sharp(x, y, half_width, half_height, pixels), self.color)
            if self.outline is None:
                return
        radius = jnp.minimum(
            0.0 if self.corner_radius is None else self.corner_radius, jnp.minimum(half_width, half_height)
        )
        distance = coverage.distance_to_box(x, y, half_width - radius, half_height - radius) - radius
        if self.corner_radius is not None:
            yield _coat(coverage.inside(distance, pixels.density), self.color)
        yield from _edge(self, distance, pixels)

    def _sharp(self, x: jax.Array, y: jax.Array, half_width: Any, half_height: Any, pixels: Pixels) -> jax.Array:
        """Coverage by two strips that cross."""
        if self.angle is None:
            across = coverage.within(x, half_width, pixels.density)
            return across * coverage.within(y, half_height, pixels.density)
        normal = jnp.cos(self.angle), jnp.sin(self.angle)
        across = coverage.strip(x, half_width, normal, pixels.density)
        return across * coverage.strip(y, half_height, normal, pixels.density)

    def moved(self, motion: Motion) -> Rectangle:
        """Elsewhere, turned, and larger."""
        return self.replace(
            center=motion.point(self.center),
            size=jnp.stack([self.size[0] * motion.scale, self.size[1] * motion.scale]),
            angle=motion.turned(self.angle),
            corner_radius=None if self.corner_radius is None else self.corner_radius * motion.scale,
            outline_width=self.outline_width * motion.scale,
        )


class Line(Shape):
    """A thick line between two points; with round ends a capsule, which reaches half its width beyond them.

    >>> Line((0.0, 0.0), (1.0, 0.0), 0.1, (0.0, 0.0, 0.0, 1.0), cap="butt").cap
    'butt'
    """

    start: Any  # [2]
    end: Any  # [2]
    width: Any
    color: Any
    cap: str = field(pytree_node=False, default="round")  # or "butt": cut off at the two points

    def __post_init__(self) -> None:
        if self.cap not in ("round", "butt"):
            raise ValueError(f'cap must be "round" or "butt", got {self.cap!r}')

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """All that is near the segment."""
        if self.cap == "round":
            away = coverage.distance_to_segment(pixels.x, pixels.y, self.start, self.end)
            yield _coat(coverage.within(away, self.width / 2, pixels.density), self.color)
            return
        dx, dy = self.end[0] - self.start[0], self.end[1] - self.start[1]
        long = coverage.length(dx, dy)
        ux, uy = dx / jnp.maximum(long, 1e-12), dy / jnp.maximum(long, 1e-12)
        x = pixels.x - (self.start[0] + self.end[0]) / 2
        y = pixels.y - (self.start[1] + self.end[1]) / 2
        along = coverage.strip(ux * x + uy * y, long / 2, (ux, uy), pixels.density)
        across = coverage.strip(ux * y - uy * x, self.width / 2, (ux, uy), pixels.density)
        yield _coat(along * across, self.color)

    def moved(self, motion: Motion) -> Line:
        """Elsewhere, and thicker."""
        return self.replace(start=motion.point(self.start), end=motion.point(self.end), width=self.width * motion.scale)


class Arc(Shape):
    """A part of a circle's edge, with round ends.

    >>> Arc((0.0, 0.0), 1.0, start=0.0, sweep=np.pi, width=0.1, color=(0.0, 0.0, 0.0, 1.0)).radius
    1.0
    """

    center: Any  # [2]
    radius: Any
    start: Any  # angle of the first end, from the x axis, anticlockwise
    sweep: Any  # from there to the other end, anticlockwise if positive; at most a full turn
    width: Any
    color: Any

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """All that is near the arc: symmetric about the line through its middle, so half of it is looked at."""
        x, y = pixels.x - self.center[0], pixels.y - self.center[1]
        x, y = _turned_back(x, y, self.start + self.sweep / 2)
        half = jnp.minimum(jnp.abs(self.sweep) / 2, np.pi - 1e-6)
        y = jnp.abs(y)
        cos, sin = jnp.cos(half), jnp.sin(half)
        facing = y * cos < x * sin  # arctan2(y, x) < half, for angles from 0 to pi
        to_ring = jnp.abs(coverage.length(x, y) - self.radius)
        to_end = coverage.length(x - cos * self.radius, y - sin * self.radius)
        yield _coat(coverage.within(jnp.where(facing, to_ring, to_end), self.width / 2, pixels.density), self.color)

    def moved(self, motion: Motion) -> Arc:
        """Elsewhere, turned, and larger."""
        return self.replace(
            center=motion.point(self.center),
            radius=self.radius * motion.scale,
            start=motion.turned(self.start),
            width=self.width * motion.scale,
        )


class Polygon(Shape):
    """A polygon that does not cross itself, convex or not; its corners in either order.

    >>> Polygon(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), (0.0, 0.0, 1.0, 1.0)).points.shape
    (3, 2)
    """

    points: Any  # [corners, 2]
    color: Any
    outline: Any = None  # colour
    outline_width: Any = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """The inside, then its edge: all that is near one of the sides."""
        points = jnp.stack([jnp.stack([point[0], point[1]]) for point in self.points])
        yield _coat(coverage.polygon(points, pixels.x, pixels.y, pixels.density), self.color)
        if self.outline is None:
            return
        sides = zip(points, jnp.roll(points, -1, axis=0), strict=True)
        distances = [coverage.distance_to_segment(pixels.x, pixels.y, start, end) for start, end in sides]
        yield from _edge(self, functools.reduce(jnp.minimum, distances), pixels)

    def moved(self, motion: Motion) -> Polygon:
        """Elsewhere, turned, and larger."""
        return self.replace(
            points=motion.point(np.asarray(self.points) if isinstance(self.points, (list, tuple)) else self.points),
            outline_width=self.outline_width * motion.scale,
        )


class Terrain(Shape):
    """All that lies below a curve, given by heights at equal distances and straight in between.

    Left and right of the curve the ground goes on, level.

    >>> Terrain(np.array([0.0, 1.0, 0.0]), -1.0, 1.0, (0.0, 1.0, 0.0, 1.0)).heights.shape
    (3,)
    """

    heights: Any  # [samples], at least 2
    left: Any  # x of the first
    right: Any  # x of the last
    color: Any
    outline: Any = None  # colour of the surface
    outline_width: Any = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """The ground, then its surface; distances are measured at a right angle to the slope."""
        heights = jnp.asarray(self.heights, jnp.float32)
        last = len(heights) - 1
        spacing = (self.right - self.left) / last
        place = (pixels.x[0] - self.left) / spacing
        # Products with matrices instead of indices, which a CPU would look up for every pixel anew.
        samples = jnp.arange(last + 1.0, dtype=jnp.float32)
        near = jnp.maximum(1.0 - jnp.abs(jnp.clip(place, 0.0, last)[:, None] - samples[None, :]), 0.0)
        stretch = jax.nn.one_hot(jnp.floor(place).astype(jnp.int32), last, dtype=jnp.float32)  # zeros beyond the ends
        slope = (heights[1:] - heights[:-1]) / spacing
        height = jnp.matmul(near, heights, precision=jax.lax.Precision.HIGHEST)
        shrink = 1.0 + jnp.matmul(stretch, jax.lax.rsqrt(1 + slope * slope) - 1.0, precision=jax.lax.Precision.HIGHEST)
        distance = (pixels.y - height[None, :]) * shrink[None, :]
        yield _coat(coverage.inside(distance, pixels.density), self.color)
        yield from _edge(self, distance, pixels)

    def moved(self, motion: Motion) -> Terrain:
        """Elsewhere; ground does not turn.

        Raises:
            ValueError: always; draw the ground where it is.
        """
        raise ValueError("a Terrain cannot be moved by place(); give its heights, left and right where they are")


class Many(Shape):
    """Shapes of one kind, drawn one after another: every field of `shape` has a leading axis, or is a Python number.

    One of a kind compiles as fast as a single shape, however many there are.

    >>> centers, colors = np.zeros((20, 2), np.float32), np.ones((20, 4), np.float32)
    >>> Many(Circle(centers, np.ones(20, np.float32), colors)).count
    20
    """

    shape: Any

    def __post_init__(self) -> None:
        counts = [len(leaf) for leaf in jax.tree.leaves(self.shape) if np.ndim(leaf)]
        if not counts:
            raise ValueError(f"Many needs arrays with a leading axis, got a single {type(self.shape).__name__}")
        spread = jax.tree.map(lambda leaf: _spread(leaf, counts[0]), self.shape)
        object.__setattr__(self, "shape", spread)  # a frozen record, not yet seen by anybody

    @property
    def count(self) -> int:
        """How many there are."""
        return len(jax.tree.leaves(self.shape)[0])

    def moved(self, motion: Motion) -> Many:
        """Each of them."""
        return Many(jax.vmap(lambda shape: shape.moved(motion))(jax.tree_util.tree_map_with_path(_numbers, self.shape)))


def _numbers(path: tuple[Any, ...], leaf: Any) -> Any:
    """As float32, but for characters and images."""
    other = getattr(path[-1], "name", "") in ("codes", "image")
    return jnp.asarray(leaf) if other else jnp.asarray(leaf, jnp.float32)


def _coat(covered: jax.Array, color: Any) -> Layer:
    return Layer(covered, (color[0], color[1], color[2]), color[3])


def _spread(leaf: Any, count: int) -> Any:
    """A number for each of `count` shapes, where there is one for all, such as the default of a field."""
    return np.full(count, leaf, np.float32) if isinstance(leaf, (int, float)) else leaf


def _edge(shape: Any, distance: jax.Array, pixels: Pixels) -> Iterator[Layer]:
    if shape.outline is not None:
        yield _coat(coverage.within(distance, shape.outline_width / 2, pixels.density), shape.outline)


def _turned_back(x: Any, y: Any, angle: Any) -> tuple[Any, Any]:
    """The coordinates that a point has for something turned by an angle."""
    if angle is None:
        return x, y
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return cos * x + sin * y, cos * y - sin * x
