"""The base of all spaces: pure, hashable descriptions of a set of values."""

from __future__ import annotations

import abc
from typing import Any, Generic, TypeAlias, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Bool

T_cov = TypeVar("T_cov", covariant=True)


class Space(abc.ABC, Generic[T_cov]):
    """A set of values: what an observation or an action can be.

    A space holds no generator: `sample` takes a key. `sample` and `contains` work inside `jax.jit` and `jax.vmap`. To
    add a space, define `sample`, `contains` and `union`, and `==`, `hash` and `repr` in one file. The other methods
    have defaults. Define `flattened`, `flatten` and `unflatten` where members can become a vector, `zero` where a
    member can stand for zero, and register a case of `funcenv.spaces.batch.stack_space` where `n` stacked members form
    a space of another kind than `Batched`.

    >>> import jax.numpy as jnp
    >>> class Even(Space[jax.Array]):
    ...     def sample(self, key, mask=None, probability=None): return 2 * jax.random.randint(key, (), 0, 10)
    ...     def contains(self, x): return jnp.asarray(x) % 2 == 0
    ...     def union(self, other): return self
    >>> 4 in Even(), 5 in Even()
    (True, False)
    """

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of a member, or None where members are not single arrays."""
        return None

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Dtype of a member, or None where members are not single arrays."""
        return None

    @abc.abstractmethod
    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> T_cov:
        """Draw a member; which distribution, and what `mask` and `probability` mean, is up to the space."""

    @abc.abstractmethod
    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` is a member, as a bool array; a wrong shape or dtype is seen on the host and gives False."""

    @abc.abstractmethod
    def union(self, other: Space[Any]) -> Space[Any]:
        """The smallest space of the same kind that holds both; how one space describes many environments."""

    @property
    def flattened(self) -> Space[Any]:
        """The space of flattened members: a `Box` with one axis where they become vectors."""
        raise NotImplementedError(f"{type(self).__name__} must define flattened, flatten and unflatten to be flattened")

    def flatten(self, x: Any) -> Any:
        """A member as a member of `flattened`."""
        raise NotImplementedError(f"{type(self).__name__} must define flatten(x) to be flattened")

    def unflatten(self, flat: Any) -> T_cov:
        """The member that `flatten` made `flat` of."""
        raise NotImplementedError(f"{type(self).__name__} must define unflatten(flat) to be flattened")

    @property
    def is_np_flattenable(self) -> bool:
        """Whether members flatten to a single vector; the name is Gymnasium's."""
        return self.flattened.shape is not None

    def pack(self, x: Any) -> T_cov:
        """A member from its plain form: what the Gymnasium space of this name holds, such as a string for `Text`.

        The two differ only where members vary in size, which here are padded arrays. A member is returned as it is.
        """
        return x

    def unpack(self, member: Any) -> Any:
        """The plain form of a member, in NumPy arrays."""
        return jax.tree.map(np.asarray, member)

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """Smallest and largest values of a member's elements, both included: arrays that broadcast to its shape.

        None where members are not single arrays between two bounds, or where the bounds are traced.
        """
        return None

    def zero(self) -> T_cov:
        """Return the member closest to zero, which padding uses: the smallest member of a `Discrete`, for example.

        Raises:
            TypeError: the space has no such member.

        >>> from funcenv.spaces import Box, Discrete
        >>> Box(1, 3, (2,)).zero(), Discrete(3, start=-1).zero()
        (Array([1., 1.], dtype=float32), Array(-1, dtype=int32))
        """
        raise TypeError(f"no member of {self!r} stands for zero; pad with a member of your own choice")

    def decode(self, member: Any) -> Any:
        """Convert a member with NumPy leaves to what the stateful interfaces return, such as an int for `Discrete`."""
        return member

    def encode_action(self, x: Any) -> Any:
        """Check an action of the stateful interfaces on the host, and convert it to a member.

        Raises:
            ValueError: `x` is not in the space.
        """
        if not self.contains(x):
            raise self.refuse_action(x)
        return self.pack(x)

    def refuse_action(self, x: Any) -> ValueError:
        """Return the error that says that `x` is not in the space."""
        return ValueError(
            f"action {x!r} of type {type(x).__name__} is not in {self!r}; sample one with action_space.sample()"
        )

    def __contains__(self, x: Any) -> bool:
        return bool(self.contains(x))


AnySpace: TypeAlias = Space[Any]
