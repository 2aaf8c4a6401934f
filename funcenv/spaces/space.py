"""The base of all spaces: pure, hashable descriptions of a set of values."""

from __future__ import annotations

import abc
from typing import Any, Generic, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Bool

T_cov = TypeVar("T_cov", covariant=True)


class Space(abc.ABC, Generic[T_cov]):
    """A set of values: what an observation or an action can be.

    A space holds no generator: `sample` takes a key. `sample` and `contains` work inside `jax.jit` and `jax.vmap`.
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

    def __contains__(self, x: Any) -> bool:
        return bool(self.contains(x))
