"""Batches: many members of a space, stacked leaf by leaf as `jax.vmap` stacks them."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from funcenv.checks import require_size
from funcenv.spaces._padded import draw_items, stacked_length, unstack_items
from funcenv.spaces.space import AnySpace, Space, require_alike


def batch_space(space: AnySpace, n: int) -> AnySpace:
    """Return the space of `n` stacked members of `space`: every array has a leading axis of size `n`.

    As in Gymnasium, a batch of a `Discrete` is a `MultiDiscrete`, a batch of a `MultiDiscrete` or `MultiBinary` is a
    `Box`, and `Tuple` and `Dict` are batched part by part. For other spaces Gymnasium has a tuple of `n` members; the
    batch here is a `Batched`, which holds them as `jax.vmap` stacks them.

    Raises:
        ValueError: `n` is below 1.
        TypeError: `n` is not an integer, or `space` is not a space.

    >>> from funcenv.spaces import Box, Dict, Discrete
    >>> batch_space(Dict(position=Box(-1, 1, (2,)), colour=Discrete(3)), 5)
    Dict('position': Box(-1.0, 1.0, (5, 2), float32), 'colour': MultiDiscrete([3 3 3 3 3]))
    """
    if not isinstance(space, Space):
        raise TypeError(f"batch_space needs a funcenv space, got {space!r}")
    return stack_space(space, require_size("n", n))


@functools.singledispatch
def stack_space(space: AnySpace, n: int) -> AnySpace:
    """Return what `batch_space` returns; a kind of space whose batch is not a `Batched` registers its own."""
    return Batched(space, n)


def contains_each(space: AnySpace, items: Any, n: int) -> Bool[Array, "n"]:
    """Return which of `n` stacked values are members: none unless every array has a leading axis of size `n`."""
    leaves = jax.tree.leaves(items)
    if leaves and stacked_length(leaves) != n:
        return jnp.zeros(n, bool)
    if n and not any(isinstance(leaf, jax.Array) for leaf in leaves):
        # NumPy arrays keep their 64 bits only as long as JAX does not convert them.
        return jnp.stack([space.contains(jax.tree.map(lambda leaf: leaf[i], items)) for i in range(n)])  # noqa: B023
    return jax.vmap(space.contains, axis_size=n)(items)


class Batched(Space[Any]):
    """`n` stacked members of a space whose members are not single arrays.

    >>> import funcenv
    >>> from funcenv.spaces import Text
    >>> space = batch_space(Text(4, charset="ab"), 3)
    >>> space
    Batched(Text(1, 4, charset=ab), 3)
    >>> member = space.sample(funcenv.key(0))
    >>> member.codes.shape, bool(space.contains(member))
    ((3, 4), True)
    """

    def __init__(self, space: AnySpace, n: int) -> None:
        self.space = space
        self.n = require_size("n", n)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Any:
        """Draw `n` independent members, each under the same `mask` or `probability`."""
        return draw_items(self.space, key, self.n, mask=mask, probability=probability)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` stacks `n` members, or is a tuple of `n` members in their plain forms."""
        if type(x) is tuple and type(self.space.abstract_member()) is not tuple:  # stacked members are no tuple
            return jnp.asarray(len(x) == self.n and all(self.space.contains(item) for item in x))
        return contains_each(self.space, x, self.n).all()

    def union(self, other: Any) -> Batched:
        """Return the batch of the union."""
        require_alike("kind or size", lambda space: space.n, self, other)
        return Batched(self.space.union(other.space), self.n)

    @property
    def flattened(self) -> AnySpace:
        """The flattened members end to end, or a batch of them where they are not vectors."""
        flat = batch_space(self.space.flattened, self.n)
        return flat if flat.shape is None else flat.flattened

    def flatten(self, x: Any) -> Any:
        """Flatten each member, and join them end to end where they are vectors."""
        flat = jax.vmap(self.space.flatten, axis_size=self.n)(x)
        return flat.reshape(-1) if self.space.is_np_flattenable else flat

    def unflatten(self, flat: Any) -> Any:
        """Return the stacked members."""
        if self.space.is_np_flattenable:
            flat = jnp.asarray(flat).reshape(self.n, -1)
        return jax.vmap(self.space.unflatten, axis_size=self.n)(flat)

    def unpack(self, member: Any) -> tuple[Any, ...]:
        """Return a tuple of the members' plain forms, which Gymnasium's batch of this space holds."""
        return unstack_items(self.space, member, self.n)

    def parts(self) -> tuple[Any, ...]:
        """Return the space and `n`."""
        return self.space, self.n

    def __repr__(self) -> str:
        return f"Batched({self.space!r}, {self.n})"
