"""A box in R^n: arrays of one shape between two bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Shaped

from funcenv.spaces._bounds import as_array, bound_of, common_shape, require_shape
from funcenv.spaces._dtypes import canonical, dtype_of, integers_within, require_range, with_shape
from funcenv.spaces._sampling import uniform_below
from funcenv.spaces.batch import stack_space
from funcenv.spaces.space import Space


class Box(Space[jax.Array]):
    """Arrays with `low <= x <= high`, element by element.

    Args:
        low: lower bounds, a scalar or an array; `-inf` leaves a side open.
        high: upper bounds; `inf` leaves a side open.
        shape: shape of a member; by default the shape of the bounds, which are broadcast together, or (1,), as in
            Gymnasium, if both are scalars.
        dtype: dtype of a member: a float, integer or bool dtype. An open side of a signed integer box ends where the
            dtype does.

    Bounds may be traced values, as when they depend on the parameters of an environment inside `jax.jit`. Shape,
    dtype, `sample` and `contains` then work as always; `==`, `hash` and the bounds in `repr` need concrete values.

    Raises:
        ValueError: NaN bounds, `low > high`, or bounds that do not fit `shape` or `dtype`.
        TypeError: a shape that is not a sequence of integers.

    >>> import funcenv
    >>> Box(-1, 1, (3,))
    Box(-1.0, 1.0, (3,), float32)
    >>> space = Box([-1.2, -0.07], [0.6, 0.07])
    >>> bool(space.contains(space.sample(funcenv.key(0))))
    True
    """

    def __init__(self, low: Any, high: Any, shape: Any = None, dtype: Any = np.float32) -> None:
        self._dtype = np.dtype(dtype)
        if self._dtype.kind not in "fiub":
            raise ValueError(f"Box needs a float, integer or bool dtype, got {self._dtype}")
        self._shape = common_shape(low, high) if shape is None else require_shape(shape)
        self.low, self._bounded_below = bound_of("low", low, self._shape, self._dtype)
        self.high, self._bounded_above = bound_of("high", high, self._shape, self._dtype)
        if self.concrete and np.any(self.low > self.high):
            raise ValueError(f"Box needs low <= high in every element, got low={low!r} and high={high!r}; swap them")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a member."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of a member."""
        return self._dtype

    @property
    def concrete(self) -> bool:
        """Whether the bounds are values, rather than traced."""
        return isinstance(self.low, np.ndarray) and isinstance(self.high, np.ndarray)

    @property
    def bounded_below(self) -> Bool[Array, "*shape"]:
        """Where a lower bound was given that is finite; a bool array of the shape of a member."""
        return self._bounded_below

    @property
    def bounded_above(self) -> Bool[Array, "*shape"]:
        """Where an upper bound was given that is finite; a bool array of the shape of a member."""
        return self._bounded_above

    def is_bounded(self, manner: str = "both") -> bool:
        """Whether every element has a finite bound `"below"`, `"above"` or on `"both"` sides."""
        sides = {
            "below": self.bounded_below,
            "above": self.bounded_above,
            "both": self.bounded_below & self.bounded_above,
        }
        if manner not in sides:
            raise ValueError(f'manner must be "below", "above" or "both", got {manner!r}')
        return bool(sides[manner].all())

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Shaped[Array, "*shape"]:
        """Draw a member, as Gymnasium does.

        Elements bounded on both sides are uniform (integers include both bounds). Open sides sample beyond their
        finite bound by a standard exponential, or a standard normal where both are open; an integer box rounds down
        the distance from the bound, or the normal, and stays within its dtype.

        Raises:
            ValueError: `mask` or `probability` is given, as a box takes neither; or an integer box of 64 bits holds
                numbers that need `jax_enable_x64`.
        """
        if mask is not None or probability is not None:
            raise ValueError("Box.sample takes neither mask nor probability; leave them out")
        if self.dtype.kind == "b":
            free = jax.random.bernoulli(key, shape=self.shape)
            return (free | self.low) & self.high
        return self._sample_reals(key) if self.dtype.kind == "f" else self._sample_integers(key)

    def _sample_integers(self, key: jax.Array) -> jax.Array:
        low, high, dtype = self._drawable_range()
        # In unsigned arithmetic modulo 2**bits, high - low is right for every pair, and low + offset comes back in
        # range.
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
        """Bounds of an integer box inside the dtype that draws have; open sides end where it does."""
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
        """Whether `x` has the shape, a dtype that casts safely to this one, and lies within the bounds.

        Both bounds are included; NaN never is. Python numbers and lists of them are taken as an array of this dtype.
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

    def union(self, other: Space[Any]) -> Box:
        """The smallest box around both: the loosest bounds."""
        if not isinstance(other, Box) or (other.shape, other.dtype) != (self.shape, self.dtype):
            raise TypeError(
                f"{self!r} and {other!r} differ in kind, shape or dtype; a union needs spaces alike in these"
            )
        xp: Any = np if self.concrete and other.concrete else jnp
        return Box._of(
            self.dtype,
            xp.minimum(self.low, other.low),
            xp.maximum(self.high, other.high),
            self.bounded_below & other.bounded_below,
            self.bounded_above & other.bounded_above,
        )

    @property
    def flattened(self) -> Box:
        """The box of the same elements with one axis."""
        return self._map(lambda part: part.reshape(-1))

    def flatten(self, x: Any) -> Shaped[Array, "size"]:
        """The elements in row-major order."""
        return with_shape("a member of Box", x, self.shape, self.dtype).reshape(-1)

    def unflatten(self, flat: Any) -> Shaped[Array, "*shape"]:
        """The vector in the shape of a member."""
        return with_shape("a flattened member of Box", flat, (self.low.size,), self.dtype).reshape(self.shape)

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """Both bounds, unless they are traced."""
        return (self.low, self.high) if self.concrete else None

    def zero(self) -> Shaped[Array, "*shape"]:
        """Return zeros, clipped to the bounds."""
        return jnp.clip(jnp.zeros(self.shape, self.dtype), jnp.asarray(self.low), jnp.asarray(self.high))

    def encode_action(self, x: Any) -> Any:
        """Check an array on the host, and cast it to the dtype of the space.

        Unlike `contains`, this accepts a float64 array for a float32 box; it refuses fractions for an integer box.

        Raises:
            ValueError: `x` has another shape or kind, or lies outside the bounds; NaN always does.
        """
        if not self.concrete:
            return super().encode_action(x)
        array = np.asarray(x)
        same_kind = np.can_cast(array.dtype, self._dtype, "same_kind") or array.dtype.kind in "iu"
        if array.shape != self._shape or not same_kind:
            raise self.refuse_action(x)
        array = array.astype(self._dtype, copy=False)
        if not ((array >= self.low) & (array <= self.high)).all():
            raise self.refuse_action(x)
        return array

    def _parts(self) -> tuple[Any, Any, Any, Any]:
        return self.low, self.high, self.bounded_below, self.bounded_above

    def _map(self, function: Callable[[Any], Any]) -> Box:
        return Box._of(self.dtype, *map(function, self._parts()))

    @staticmethod
    def _of(dtype: np.dtype[Any], low: Any, high: Any, below: Any, above: Any) -> Box:
        """A box from its parts: an integer box does not show in its bounds which sides are open."""
        box = Box(low, high, low.shape, dtype)
        if box.concrete and dtype.kind == "i":
            box._bounded_below, box._bounded_above = below, above
        return box

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box) or (self.shape, self.dtype) != (other.shape, other.dtype):
            return False
        if not (self.concrete and other.concrete):
            return self is other
        return all(map(np.array_equal, self._parts(), other._parts()))

    def __hash__(self) -> int:
        if not self.concrete:
            raise TypeError("this Box has traced bounds, which cannot be hashed; read the space outside of jax.jit")
        # Adding 0 turns -0.0, which is equal to 0.0, into it.
        return hash((Box, self.shape, self.dtype, *((part + 0).tobytes() for part in self._parts())))

    def __repr__(self) -> str:
        return f"Box({_show(self.low)}, {_show(self.high)}, {self.shape}, {self.dtype})"


@stack_space.register
def _(space: Box, n: int) -> Box:
    xp: Any = np if space.concrete else jnp
    return space._map(lambda part: xp.broadcast_to(part, (n, *space.shape)))


def concatenate_boxes(boxes: Sequence[Box], dtype: np.dtype[Any]) -> Box:
    """The box of vectors made of a member of each box, all of which have one axis.

    >>> concatenate_boxes([Box(0, 1, (2,)), Box(-1, 1, (1,))], np.dtype("float32"))
    Box([ 0.  0. -1.], 1.0, (3,), float32)
    """
    if not boxes:
        return Box(0, 0, (0,), dtype)
    if all(box.concrete for box in boxes):
        return Box._of(dtype, *(np.concatenate(parts) for parts in zip(*(box._parts() for box in boxes), strict=True)))
    low, high = (
        jnp.concatenate([jnp.asarray(bound).astype(canonical(dtype)) for bound in bounds])
        for bounds in ([box.low for box in boxes], [box.high for box in boxes])
    )
    return Box(low, high, low.shape, dtype)


def _show(bound: Any) -> str:
    if not isinstance(bound, np.ndarray):
        return "traced"
    return str(bound.min()) if bound.size and bound.min() == bound.max() else str(bound)
