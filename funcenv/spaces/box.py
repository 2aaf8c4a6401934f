"""A box in R^n: arrays of one shape between two bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Shaped

from funcenv.spaces._bounds import as_array, common_shape, read_bound, require_shape
from funcenv.spaces._dtypes import canonical, dtype_of, integers_within, read_dtype, require_range, with_shape
from funcenv.spaces._sampling import uniform_below
from funcenv.spaces.batch import stack_space
from funcenv.spaces.space import Space, require_alike


class Box(Space[jax.Array]):
    """Arrays with `low <= x <= high`, element by element.

    The bounds may be traced values, for example where they depend on the parameters of an environment inside
    `jax.jit`. Shape, dtype, `sample` and `contains` then work as usual; `==`, `hash` and the bounds in `repr` need
    concrete values.

    Args:
        low: lower bounds, a scalar or an array; `-inf` leaves a side open.
        high: upper bounds; `inf` leaves a side open.
        shape: shape of a member; by default the shape that the bounds broadcast to, or (1,) if both are scalars, as in
            Gymnasium.
        dtype: dtype of a member: a float, integer or bool dtype. An open side of a signed integer box ends at the
            limit of the dtype.

    Attributes:
        low: lower bounds, an array of the shape and dtype of a member.
        high: upper bounds.
        bounded_below: a bool array of the shape of a member: where a finite lower bound was given.
        bounded_above: where a finite upper bound was given.

    Raises:
        ValueError: The bounds hold NaN, cross (`low > high`), or do not fit `shape` or `dtype`.
        TypeError: The shape is not a sequence of integers.

    >>> import funcenv
    >>> Box(-1, 1, (3,))
    Box(-1.0, 1.0, (3,), float32)
    >>> space = Box([-1.2, -0.07], [0.6, 0.07])
    >>> bool(space.contains(space.sample(funcenv.key(0))))
    True
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, low: Any, high: Any, shape: Any = None, dtype: Any = np.float32) -> None:
        self.dtype = read_dtype("Box", dtype)
        if self.dtype.kind not in "fiub":
            raise ValueError(f"Box needs a float, integer or bool dtype, got {self.dtype}")
        self.shape = common_shape(low, high) if shape is None else require_shape(shape)
        self.low, self.bounded_below = read_bound("low", low, self.shape, self.dtype)
        self.high, self.bounded_above = read_bound("high", high, self.shape, self.dtype)
        self.concrete = isinstance(self.low, np.ndarray) and isinstance(self.high, np.ndarray)
        self.is_open = self.concrete and not bool((self.bounded_below | self.bounded_above).any())
        if self.concrete and np.any(self.low > self.high):
            raise ValueError(f"Box needs low <= high in every element, got low={low!r} and high={high!r}; swap them")

    def is_bounded(self, manner: str = "both") -> bool:
        """Return whether every element has a finite bound `"below"`, `"above"` or on `"both"` sides."""
        below, above = self.bounded_below, self.bounded_above
        sides = {"below": below, "above": above, "both": below & above}
        if manner not in sides:
            raise ValueError(f'manner must be "below", "above" or "both", got {manner!r}')
        return bool(sides[manner].all())

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Shaped[Array, "*shape"]:
        """Draw a member with Gymnasium's distribution.

        Elements that are bounded on both sides are uniform; integers include both bounds. Elements with one finite
        bound differ from it by a standard exponential, and unbounded elements are standard normal. An integer box
        rounds these down and clips them to its dtype.

        Raises:
            ValueError: `mask` or `probability` is given; a box takes neither. Or a box of 64-bit integers has members
                that need `jax_enable_x64`.
        """
        if mask is not None or probability is not None:
            raise ValueError("Box.sample takes neither mask nor probability; leave them out")
        if self.dtype.kind == "b":
            free = jax.random.bernoulli(key, shape=self.shape)
            return (free | self.low) & self.high
        return self._sample_reals(key) if self.dtype.kind == "f" else self._sample_integers(key)

    def _sample_integers(self, key: jax.Array) -> jax.Array:
        low, high, dtype = self._drawable_range()
        # Unsigned arithmetic modulo 2**bits computes high - low correctly for every pair, and low + offset.
        wide = np.dtype(f"u{max(dtype.itemsize, 4)}")
        start = jnp.asarray(low).astype(wide)
        reach = jnp.asarray(high).astype(wide) - start
        largest = int((high.astype(wide) - low.astype(wide)).max(initial=0)) if self.concrete else np.iinfo(wide).max
        if not self.concrete or self.is_bounded():
            return (start + uniform_below(key, reach + wide.type(1), largest + 1)).astype(dtype)
        uniform_key, normal_key, exponential_key = jax.random.split(key, 3)
        below, above = self.bounded_below, self.bounded_above
        uniform = uniform_below(uniform_key, reach + wide.type(1), largest + 1)
        distance = jnp.minimum(jax.random.exponential(exponential_key, self.shape, jnp.float32).astype(wide), reach)
        normal = jnp.floor(jax.random.normal(normal_key, self.shape, jnp.float32)).astype(dtype)
        value = start + jnp.where(below & above, uniform, jnp.where(below, distance, reach - distance))
        return jnp.where(below | above, value.astype(dtype), normal)

    def _drawable_range(self) -> tuple[Any, Any, np.dtype[Any]]:
        """Return the bounds of an integer box within the dtype that it has inside JAX, and that dtype."""
        if not self.concrete or canonical(self.dtype) == self.dtype or self.low.size == 0:
            return self.low, self.high, canonical(self.dtype)
        limits = np.iinfo(canonical(self.dtype))
        low = np.where(self.bounded_below, self.low, self.dtype.type(limits.min))
        high = np.where(self.bounded_above, self.high, self.dtype.type(limits.max))
        dtype = require_range(self, self.dtype, int(low.min()), int(high.max()))
        return low.astype(dtype), high.astype(dtype), dtype

    def _sample_reals(self, key: jax.Array) -> jax.Array:
        dtype = canonical(self.dtype)
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        if self.concrete and self.is_bounded() and self._has_finite_width():  # the common case: one word an element
            return jax.random.uniform(key, self.shape, dtype, low, high)
        uniform_key, normal_key, exponential_key = jax.random.split(key, 3)
        below, above = self.bounded_below, self.bounded_above
        finite_low, finite_high = jnp.where(below, low, 0), jnp.where(above, high, 0)
        exponential = jax.random.exponential(exponential_key, self.shape, dtype)
        fraction = jax.random.uniform(uniform_key, self.shape, dtype)
        uniform = finite_low * (1 - fraction) + finite_high * fraction  # high - low may overflow
        value = jnp.where(
            below,
            jnp.where(above, uniform, finite_low + exponential),
            jnp.where(above, finite_high - exponential, jax.random.normal(normal_key, self.shape, dtype)),
        )
        return jnp.clip(value, low, high)

    def _has_finite_width(self) -> bool:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(self.high - self.low).all())

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` has the shape and a dtype that casts safely to this one, and lies within the bounds.

        Both bounds are included; NaN is never a member. Python numbers and lists are read as arrays of this dtype.
        """
        if not isinstance(x, (np.ndarray, jax.Array)):
            x = as_array(x, self.dtype)
        dtype = dtype_of(x)
        if dtype is None or not np.can_cast(dtype, self.dtype) or np.shape(x) != self.shape:
            return jnp.zeros((), bool)
        if self.concrete and self.dtype.kind != "f":
            return integers_within(x, self.low, self.high)
        if self.concrete and not isinstance(x, jax.Array):
            return jnp.asarray(bool(np.all((x >= self.low) & (x <= self.high))))
        x = jnp.asarray(x).astype(canonical(self.dtype))
        return jnp.all((x >= jnp.asarray(self.low)) & (x <= jnp.asarray(self.high)))

    def union(self, other: Any) -> Box:
        """Return the smallest box that contains both."""
        require_alike("kind, shape or dtype", lambda box: (box.shape, box.dtype), self, other)
        xp: Any = np if self.concrete and other.concrete else jnp
        return _from_arrays(
            self.dtype,
            xp.minimum(self.low, other.low),
            xp.maximum(self.high, other.high),
            self.bounded_below & other.bounded_below,
            self.bounded_above & other.bounded_above,
        )

    @property
    def flattened(self) -> Box:
        """The box of the same elements with one axis."""
        return _map_arrays(lambda array: array.reshape(-1), self)

    def flatten(self, x: Any) -> Shaped[Array, "size"]:
        """Return the elements in row-major order."""
        return with_shape("a member of Box", x, self.shape, self.dtype).reshape(-1)

    def unflatten(self, flat: Any) -> Shaped[Array, "*shape"]:
        """Reshape the vector to the shape of a member."""
        return with_shape("a flattened member of Box", flat, (self.low.size,), self.dtype).reshape(self.shape)

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """Both bounds, unless they are traced."""
        return (self.low, self.high) if self.concrete else None

    def zero(self) -> Shaped[Array, "*shape"]:
        """Return zeros, clipped to the bounds."""
        dtype = canonical(self.dtype)
        return jnp.clip(jnp.zeros(self.shape, dtype), *(jnp.asarray(bound, dtype) for bound in (self.low, self.high)))

    def parts(self) -> tuple[Any, ...]:
        """Return shape, dtype and the bytes of the bounds."""
        if not self.concrete:
            raise TypeError("this Box has traced bounds, which cannot be hashed; read the space outside of jax.jit")
        # Adding 0 turns -0.0 into 0.0, which it equals.
        return self.shape, self.dtype, *((array + 0).tobytes() for array in _arrays(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box) or not (self.concrete and other.concrete):
            return self is other
        return super().__eq__(other)

    __hash__ = Space.__hash__

    def __repr__(self) -> str:
        return f"Box({_show(self.low)}, {_show(self.high)}, {self.shape}, {self.dtype})"


def concatenate_boxes(boxes: Sequence[Box], dtype: np.dtype[Any]) -> Box:
    """Return the box of vectors that hold a member of each box, all of which have one axis.

    >>> concatenate_boxes([Box(0, 1, (2,)), Box(-1, 1, (1,))], np.dtype("float32"))
    Box([ 0.  0. -1.], 1.0, (3,), float32)
    """
    if not boxes:
        return Box(0, 0, (0,), dtype)
    if all(box.concrete for box in boxes):
        return _from_arrays(dtype, *map(np.concatenate, zip(*map(_arrays, boxes), strict=True)))
    low, high = (
        jnp.concatenate([jnp.asarray(bound).astype(canonical(dtype)) for bound in bounds])
        for bounds in ([box.low for box in boxes], [box.high for box in boxes])
    )
    return Box(low, high, low.shape, dtype)


def pad_box(box: Box, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Box:
    """Return the box of members padded with zeros at the end of each axis, with another dtype.

    >>> pad_box(Box(1, 2, (2,)), (3,), np.dtype("float32"))
    Box([1. 1. 0.], [2. 2. 0.], (3,), float32)
    """
    xp: Any = np if box.concrete else jnp
    missing = [(0, size - own) for size, own in zip(shape, box.shape, strict=True)]
    bounds = (xp.pad(bound, missing).astype(dtype if box.concrete else canonical(dtype)) for bound in _arrays(box)[:2])
    sides = (xp.pad(side, missing, constant_values=True) for side in _arrays(box)[2:])
    return _from_arrays(dtype, *bounds, *sides)


@stack_space.register
def _(space: Box, n: int) -> Box:
    xp: Any = np if space.concrete else jnp
    return _map_arrays(lambda array: xp.broadcast_to(array, (n, *space.shape)), space)


def _arrays(box: Box) -> tuple[Any, Any, Any, Any]:
    return box.low, box.high, box.bounded_below, box.bounded_above


def _map_arrays(function: Callable[[Any], Any], box: Box) -> Box:
    return _from_arrays(box.dtype, *map(function, _arrays(box)))


def _from_arrays(dtype: np.dtype[Any], low: Any, high: Any, bounded_below: Any, bounded_above: Any) -> Box:
    """Build a box whose open sides are given, because the bounds of an integer box do not show them."""
    box = Box(low, high, low.shape, dtype)
    if box.concrete and dtype.kind == "i":
        box.bounded_below, box.bounded_above = bounded_below, bounded_above
    return box


def _show(bound: Any) -> str:
    if not isinstance(bound, np.ndarray):
        return "traced"
    return str(bound.min()) if bound.size and bound.min() == bound.max() else str(bound)
