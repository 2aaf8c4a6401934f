"""Shapes: the parts of a scene.

Coordinates and sizes are in world units, x to the right and y up. Angles are in radians, anticlockwise. A colour is
what `rgba` returns, `[4]`; one with alpha 0 hides a shape. Every field is a number or an array that may depend on the
state, so shapes trace, batch, stack over time and differentiate. A closed shape is filled with `color`, and has an
outline along the middle of its edge where `outline` names a colour for it.

Every shape can be painted (`layers`) and moved (`transformed`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import _coverage as coverage
from funcenv.scene._fields import (
    Angle,
    Color,
    Corners,
    Heights,
    Length,
    Motion,
    Number,
    Point,
    Size,
    canonical,
    declared_forms,
    refuse_color_names,
)
from funcenv.scene.color import Luminance
from funcenv.struct import PyTreeNode, field


class Pixels(NamedTuple):
    """The centres of all pixels in world coordinates."""

    x: jax.Array  # [1, width]
    y: jax.Array  # [height, 1]
    size: jax.Array  # width of a pixel, scalar
    density: jax.Array  # pixels per unit of length, scalar
    luminance: Luminance | None = None  # standard of the grey levels to draw, or None for colours
    has_gradients: bool = True  # false for levels of uint8, which have none


class Layer(NamedTuple):
    """One colour blended over an image."""

    coverage: jax.Array  # [height, width], the part of each pixel that is covered, from 0 to 1
    color: tuple[Any, Any, Any]  # red, green, blue: numbers, or arrays [height, width]
    alpha: Any  # opacity, a number


class Shape(PyTreeNode):
    """Base class of all shapes.

    A subclass defines `layers`. It also defines `transformed`, unless its fields are annotated with the types of
    `funcenv.scene._fields`, which say what a motion does to them.
    """

    def __post_init__(self) -> None:
        refuse_color_names(self)

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return what to paint, in order."""
        raise NotImplementedError(f"{type(self).__name__} must define layers(pixels)")

    def may_be_seen(self, pixels: Pixels) -> Any:
        """Return whether the shape may change the image: false only if it is transparent or outside the view.

        `Repeat` leaves out shapes that cannot be seen, which saves time and changes no pixel.
        """
        del pixels
        return True

    def transformed(self, motion: Motion) -> Shape:
        """Return the shape after a motion of the plane."""
        kind: Any = type(self)  # mypy does not take the type for hashable
        forms = declared_forms(kind)
        if not forms:
            raise NotImplementedError(f"{type(self).__name__} must define transformed(motion)")
        changes = {name: form.transform(motion, getattr(self, name)) for name, form in forms.items() if form.transform}
        return self.replace(**changes)


def transform(shapes: Sequence[Shape], at: Any = (0.0, 0.0), angle: Any = 0.0, scale: Any = 1.0) -> tuple[Shape, ...]:
    """Return shapes drawn around the origin after they are scaled, rotated about it and shifted, in this order.

    Text and sprites are shifted and scaled, but stay upright.

    Args:
        shapes: shapes in coordinates of their own.
        at: where their origin goes.
        angle: rotation in radians, anticlockwise; the number 0 keeps upright shapes upright, which draws faster.
        scale: factor of all lengths.

    Raises:
        ValueError: a `Terrain` among the shapes.

    >>> wheel, = transform([Circle((1.0, 0.0), 0.5, (0.0, 0.0, 0.0, 1.0))], at=(5.0, 5.0), angle=np.pi / 2, scale=2.0)
    >>> wheel.center.tolist(), float(wheel.radius)
    ([5.0, 7.0...], 1.0)
    """
    level = isinstance(angle, (int, float)) and angle == 0
    motion = Motion((at[0], at[1]), None if level else jnp.float32(angle), jnp.float32(scale))
    return tuple(shape.transformed(motion) for shape in shapes)


class Circle(Shape):
    """A disc.

    >>> Circle((0.0, 1.0), 0.5, (1.0, 0.0, 0.0, 1.0)).radius
    0.5
    """

    center: Point
    radius: Length
    color: Color
    outline: Color = None
    outline_width: Length = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return the disc, then its outline."""
        x, y = pixels.x - self.center[0], pixels.y - self.center[1]
        from_center = coverage.length(x, y)
        yield _layer(coverage.disc(x, y, from_center, self.radius, pixels.density), self.color)
        yield from _outline(self, from_center - self.radius, pixels)


class Rectangle(Shape):
    """A rectangle at any angle, with sharp or round corners.

    >>> Rectangle((0.0, 0.0), (2.0, 1.0), (1.0, 0.0, 0.0, 1.0), angle=0.1).size
    (2.0, 1.0)
    """

    center: Point
    size: Size  # width, height
    color: Color
    angle: Angle = None  # None: 0, which draws faster
    corner_radius: Length = None  # None: sharp corners
    outline: Color = None
    outline_width: Length = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return the inside, then the outline."""
        x, y = _rotated_back(pixels.x - self.center[0], pixels.y - self.center[1], self.angle)
        half_width, half_height = self.size[0] / 2, self.size[1] / 2
        radius = 0.0 if self.corner_radius is None else self.corner_radius
        radius = jnp.minimum(radius, jnp.minimum(half_width, half_height))
        distance = coverage.distance_to_box(x, y, half_width - radius, half_height - radius) - radius
        if self.corner_radius is not None:
            covered = coverage.inside(distance, pixels.density)
        elif self.angle is None:
            covered = coverage.within(x, half_width, pixels.density) * coverage.within(y, half_height, pixels.density)
        else:
            normal = jnp.cos(self.angle), jnp.sin(self.angle)
            across = coverage.strip(x, half_width, normal, pixels.density)
            covered = across * coverage.strip(y, half_height, normal, pixels.density)
        yield _layer(covered, self.color)
        yield from _outline(self, distance, pixels)

    def may_be_seen(self, pixels: Pixels) -> Any:
        """Return whether the rectangle, at any angle, overlaps the view and is not transparent."""
        reach = (self.size[0] + self.size[1]) / 2
        low, high = ([self.center[i] + side * reach for i in (0, 1)] for side in (-1, 1))
        return _may_be_seen(self, low, high, pixels)


class Line(Shape):
    """A thick line between two points.

    >>> Line((0.0, 0.0), (1.0, 0.0), 0.1, (0.0, 0.0, 0.0, 1.0), cap="butt").cap
    'butt'
    """

    start: Point
    end: Point
    width: Length
    color: Color
    cap: str = field(pytree_node=False, default="round")  # "round": ends reach half the width further; "butt": cut off

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cap not in ("round", "butt"):
            raise ValueError(f'cap must be "round" or "butt", got {self.cap!r}')

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return all that is near the segment."""
        if self.cap == "round":
            distance = coverage.distance_to_segment(pixels.x, pixels.y, self.start, self.end)
            yield _layer(coverage.within(distance, self.width / 2, pixels.density), self.color)
            return
        dx, dy = self.end[0] - self.start[0], self.end[1] - self.start[1]
        length = coverage.length(dx, dy)
        ux, uy = dx / jnp.maximum(length, 1e-12), dy / jnp.maximum(length, 1e-12)
        x = pixels.x - (self.start[0] + self.end[0]) / 2
        y = pixels.y - (self.start[1] + self.end[1]) / 2
        along = coverage.strip(ux * x + uy * y, length / 2, (ux, uy), pixels.density)
        across = coverage.strip(ux * y - uy * x, self.width / 2, (ux, uy), pixels.density)
        yield _layer(along * across, self.color)


class Arc(Shape):
    """A part of a circle's edge, with round ends.

    >>> Arc((0.0, 0.0), 1.0, start=0.0, sweep=np.pi, width=0.1, color=(0.0, 0.0, 0.0, 1.0)).radius
    1.0
    """

    center: Point
    radius: Length
    start: Angle  # angle of the first end, from the x axis, anticlockwise
    sweep: Number  # angle from there to the other end, anticlockwise if positive; at most a full turn
    width: Length
    color: Color

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return all that is near the arc.

        The arc is symmetric about the line through its middle, so only half of it is measured.
        """
        x, y = pixels.x - self.center[0], pixels.y - self.center[1]
        x, y = _rotated_back(x, y, self.start + self.sweep / 2)
        half = jnp.minimum(jnp.abs(self.sweep) / 2, np.pi - 1e-6)
        y = jnp.abs(y)
        cos, sin = jnp.cos(half), jnp.sin(half)
        beside_arc = y * cos < x * sin  # arctan2(y, x) < half, for angles from 0 to pi
        to_ring = jnp.abs(coverage.length(x, y) - self.radius)
        to_end = coverage.length(x - cos * self.radius, y - sin * self.radius)
        distance = jnp.where(beside_arc, to_ring, to_end)
        yield _layer(coverage.within(distance, self.width / 2, pixels.density), self.color)


class Polygon(Shape):
    """A polygon that does not cross itself, convex or not, with its corners in either order.

    >>> Polygon(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), (0.0, 0.0, 1.0, 1.0)).points.shape
    (3, 2)
    """

    points: Corners  # [corners, 2]
    color: Color
    outline: Color = None
    outline_width: Length = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return the inside, then the outline: all that is near one of the sides."""
        points = jnp.stack([jnp.stack([point[0], point[1]]) for point in self.points])
        yield _layer(coverage.polygon(points, pixels.x, pixels.y, pixels.density), self.color)
        if self.outline is not None:
            sides = zip(points, jnp.roll(points, -1, axis=0), strict=True)
            distances = [coverage.distance_to_segment(pixels.x, pixels.y, start, end) for start, end in sides]
            yield from _outline(self, functools.reduce(jnp.minimum, distances), pixels)

    def may_be_seen(self, pixels: Pixels) -> Any:
        """Return whether the box around the polygon overlaps the view and its colours are not transparent."""
        return _may_be_seen(self, self.points.min(axis=0), self.points.max(axis=0), pixels)


class Terrain(Shape):
    """The area below a curve of straight pieces, given by heights at equal distances.

    To the left and right of the curve the ground is level.

    >>> Terrain(np.array([0.0, 1.0, 0.0]), -1.0, 1.0, (0.0, 1.0, 0.0, 1.0)).heights.shape
    (3,)
    """

    heights: Heights  # [samples], at least 2
    left: Number  # x of the first sample
    right: Number  # x of the last sample
    color: Color
    outline: Color = None  # outline of the surface
    outline_width: Length = 0.0

    def layers(self, pixels: Pixels) -> Iterator[Layer]:
        """Return the ground, then its surface; distances are perpendicular to the slope."""
        heights = jnp.asarray(self.heights, jnp.float32)
        last = len(heights) - 1
        spacing = (self.right - self.left) / last
        position = (pixels.x[0] - self.left) / spacing
        # Matrix products instead of indexing, which a CPU would repeat for every pixel.
        samples = jnp.arange(last + 1.0, dtype=jnp.float32)
        near = jnp.maximum(1.0 - jnp.abs(jnp.clip(position, 0.0, last)[:, None] - samples[None, :]), 0.0)
        piece = jax.nn.one_hot(jnp.floor(position).astype(jnp.int32), last, dtype=jnp.float32)  # zeros beyond the ends
        slope = (heights[1:] - heights[:-1]) / spacing
        height = jnp.matmul(near, heights, precision=jax.lax.Precision.HIGHEST)
        shrink = 1.0 + jnp.matmul(piece, jax.lax.rsqrt(1 + slope * slope) - 1.0, precision=jax.lax.Precision.HIGHEST)
        distance = (pixels.y - height[None, :]) * shrink[None, :]
        yield _layer(coverage.inside(distance, pixels.density), self.color)
        yield from _outline(self, distance, pixels)

    def transformed(self, motion: Motion) -> Terrain:
        """Refuse every motion, because a terrain cannot be rotated.

        Raises:
            ValueError: always; define the ground where it is.
        """
        raise ValueError("a Terrain cannot be moved by transform(); give its heights, left and right where they are")


class Repeat(Shape):
    """Shapes of one kind, painted one after another.

    Every field of `shape` has a leading axis, or is a Python number that holds for all. A repeated shape compiles as
    fast as a single one, whatever the count.

    >>> centers, colors = np.zeros((20, 2), np.float32), np.ones((20, 4), np.float32)
    >>> Repeat(Circle(centers, np.ones(20, np.float32), colors)).count
    20
    """

    shape: Any

    def __post_init__(self) -> None:
        counts = [len(leaf) for leaf in jax.tree.leaves(self.shape) if np.ndim(leaf)]
        if not counts:
            raise ValueError(f"Repeat needs arrays with a leading axis, got a single {type(self.shape).__name__}")

        def spread(leaf: Any) -> Any:
            return np.full(counts[0], leaf, np.float32) if isinstance(leaf, (int, float)) else leaf

        object.__setattr__(self, "shape", jax.tree.map(spread, self.shape))

    @classmethod
    def stack(cls, shapes: Sequence[Shape]) -> Repeat:
        """Return shapes of one kind as one.

        >>> Repeat.stack([Circle((float(x), 0.0), 1.0, (0.0, 0.0, 0.0, 1.0)) for x in range(3)]).count
        3
        """

        def stack(*leaves: Any) -> Any:
            return (jnp if any(isinstance(leaf, jax.Array) for leaf in leaves) else np).stack(leaves)

        return cls(jax.tree.map(stack, *(canonical(shape, np) for shape in shapes)))

    @property
    def count(self) -> int:
        """Number of shapes."""
        return len(jax.tree.leaves(self.shape)[0])

    def transformed(self, motion: Motion) -> Repeat:
        """Return every shape after the motion."""
        return Repeat(jax.vmap(lambda shape: shape.transformed(motion))(canonical(self.shape)))


def _layer(covered: jax.Array, color: Any) -> Layer:
    return Layer(covered, (color[0], color[1], color[2]), color[3])


def _outline(shape: Any, distance: jax.Array, pixels: Pixels) -> Iterator[Layer]:
    if shape.outline is not None:
        yield _layer(coverage.within(distance, shape.outline_width / 2, pixels.density), shape.outline)


def _may_be_seen(shape: Any, low: Any, high: Any, pixels: Pixels) -> jax.Array:
    """Return whether a shape within the box from `low` to `high` overlaps the view; NaN may be seen."""
    is_opaque, margin = shape.color[3] != 0, pixels.size
    if shape.outline is not None:
        is_opaque, margin = is_opaque | (shape.outline[3] != 0), margin + shape.outline_width
    is_beside = (high[0] + margin < pixels.x[0, 0]) | (low[0] - margin > pixels.x[0, -1])
    is_above = (high[1] + margin < pixels.y[-1, 0]) | (low[1] - margin > pixels.y[0, 0])
    return is_opaque & ~(is_beside | is_above)


def _rotated_back(x: Any, y: Any, angle: Any) -> tuple[Any, Any]:
    """Return the coordinates of a point relative to something rotated by an angle."""
    if angle is None:
        return x, y
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return cos * x + sin * y, cos * y - sin * x
