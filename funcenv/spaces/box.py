"""A box in R^n: arrays of one shape between two bounds."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Shaped

from funcenv.spaces.space import Space


class Box(Space[jax.Array]):
    """Arrays with `low <= x <= high`, element by element.

    Args:
        low: lower bounds, a scalar or an array; `-inf` leaves a side open.
        high: upper bounds; `inf` leaves a side open.
        shape: shape of a member; by default the shape of the bounds, which are broadcast together.
        dtype: dtype of a member: a float, integer or bool dtype.

    Bounds may be traced values, as when they depend on the parameters of an environment inside `jax.jit`. Shape,
    dtype, `sample` and `contains` then work as always; `==`, `hash` and the bounds in `repr` need concrete values.

    Raises:
        ValueError: NaN bounds, `low > high`, or bounds that do not fit `shape` or `dtype`.

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
        if shape is None:
            shape = np.broadcast_shapes(_shape_of(low), _shape_of(high))
        self._shape = tuple(int(size) for size in shape)
        if any(size < 0 for size in self._shape):
            raise ValueError(f"Box needs sizes of at least 0, got shape {self._shape}")
        self.low = _bound("low", low, self._shape, self._dtype)
        self.high = _bound("high", high, self._shape, self._dtype)
        if self.concrete and np.any(self.low > self.high):
            raise ValueError(f"Box needs low <= high, got low={low!r} and high={high!r}")

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
        """Where `low` is finite; a bool array of the shape of a member."""
        return self.low > -np.inf

    @property
    def bounded_above(self) -> Bool[Array, "*shape"]:
        """Where `high` is finite; a bool array of the shape of a member."""
        return self.high < np.inf

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
        finite bound by a standard exponential, or a standard normal where both are open. Open sides of an integer box
        end where its dtype does.

        Raises:
            ValueError: `mask` or `probability` is given; a box takes neither.
        """
        if mask is not None or probability is not None:
            raise ValueError("Box.sample takes neither mask nor probability")
        if self.dtype.kind == "b":
            free = jax.random.bernoulli(key, shape=self.shape)
            return (free | self.low) & self.high
        return self._sample_reals(key) if self.dtype.kind == "f" else self._sample_integers(key)

    def _sample_integers(self, key: jax.Array) -> jax.Array:
        # In unsigned arithmetic modulo 2**bits, high - low is right for every pair, and low + offset comes back in
        # range.
        wide = np.dtype(f"u{max(self.dtype.itemsize, 4)}")
        low = jnp.asarray(self.low).astype(wide)
        count = jnp.asarray(self.high).astype(wide) - low + wide.type(1)  # 0 stands for all of them
        bits = jax.random.bits(key, self.shape, wide)
        offset = jnp.where(count == 0, bits, bits % jnp.maximum(count, wide.type(1)))
        return (low + offset).astype(self.dtype)

    def _sample_reals(self, key: jax.Array) -> jax.Array:
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        if self.concrete and self.is_bounded():  # the common case draws one word an element
            return jax.random.uniform(key, self.shape, self.dtype, low, high)
        uniform_key, normal_key, exponential_key = jax.random.split(key, 3)
        below, above = self.bounded_below, self.bounded_above
        finite_low, finite_high = jnp.where(below, low, 0), jnp.where(above, high, 0)
        exponential = jax.random.exponential(exponential_key, self.shape, self.dtype)
        uniform = finite_low + jax.random.uniform(uniform_key, self.shape, self.dtype) * (finite_high - finite_low)
        value = jnp.where(
            below,
            jnp.where(above, uniform, finite_low + exponential),
            jnp.where(above, finite_high - exponential, jax.random.normal(normal_key, self.shape, self.dtype)),
        )
        return jnp.clip(value, low, high)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` has the shape, a dtype that casts safely to this one, and lies within the bounds.

        Both bounds are included; NaN never is.
        """
        dtype = getattr(x, "dtype", None)
        if dtype is None or not np.can_cast(dtype, self.dtype) or np.shape(x) != self.shape:
            return jnp.zeros((), bool)
        x = jnp.asarray(x)
        return jnp.all((x >= jnp.asarray(self.low)) & (x <= jnp.asarray(self.high)))

    def union(self, other: Space[Any]) -> Box:
        """The smallest box around both: the loosest bounds."""
        if not isinstance(other, Box) or (other.shape, other.dtype) != (self.shape, self.dtype):
            raise TypeError(f"{self!r} and {other!r} differ in kind, shape or dtype")
        return Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high), self.shape, self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box) or (self.shape, self.dtype) != (other.shape, other.dtype):
            return False
        if not (self.concrete and other.concrete):
            return self is other
        return bool(np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high))

    def __hash__(self) -> int:
        if not self.concrete:
            raise TypeError("this Box has traced bounds, which cannot be hashed; read the space outside of jax.jit")
        return hash((Box, self.shape, self.dtype, self.low.tobytes(), self.high.tobytes()))

    def __repr__(self) -> str:
        return f"Box({_show(self.low)}, {_show(self.high)}, {self.shape}, {self.dtype})"


def _shape_of(value: Any) -> tuple[int, ...]:
    """Shape of nested lists, arrays or traced values."""
    if isinstance(value, (list, tuple)):
        return (len(value), *(_shape_of(value[0]) if value else ()))
    return tuple(np.shape(value))


def _bound(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The bound as a read-only array of the member's shape and dtype, or as a traced array."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
        return jnp.broadcast_to(jnp.asarray(value, dtype), shape)
    given = np.asarray(value, dtype=float if dtype.kind == "f" else None)
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError(f"Box bounds must not be NaN, got {name}={value!r}")
    try:
        given = np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(f"Box bound {name} of shape {given.shape} does not broadcast to shape {shape}") from None
    bound = _to_dtype(name, given, dtype)
    bound.setflags(write=False)
    return bound


def _to_dtype(name: str, given: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.kind == "f":
        return given.astype(dtype)
    lowest, highest = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    finite = (
        np.where(np.isneginf(given), lowest, np.where(np.isposinf(given), highest, given))
        if given.dtype.kind == "f"
        else given
    )
    if (finite < lowest).any() or (finite > highest).any():
        raise ValueError(f"Box bound {name}={given} lies outside {dtype}, which holds {lowest} to {highest}")
    return finite.astype(dtype)


def _show(bound: Any) -> str:
    if not isinstance(bound, np.ndarray):
        return "traced"
    return str(bound.min()) if bound.size and bound.min() == bound.max() else str(bound)
