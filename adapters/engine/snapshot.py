"""The whole state of a stateful environment as a value, and the state inside all wrappers."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.struct import NDArray


class Snapshot(NamedTuple):
    """The whole state of an environment: everything that `step` depends on."""

    env_state: Any
    key: jax.Array
    num_calls: jax.Array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        """Return the state of the innermost environment as the vector that Gymnasium calls `state`.

        It consists of the fields without a default, which are those that the dynamics depend on.
        """
        del copy
        state = innermost(self.env_state)
        leaves = jax.tree.leaves([getattr(state, name) for name in _coordinates(state)] or state)
        return np.concatenate([np.ravel(leaf) for leaf in leaves], dtype=dtype)

    def __lt__(self, other: Any) -> Any:
        """Compare the vector, as code for Gymnasium does; so do the other comparisons of order."""
        return np.asarray(self) < np.asarray(other)

    def __le__(self, other: Any) -> Any:
        return np.asarray(self) <= np.asarray(other)

    def __gt__(self, other: Any) -> Any:
        return np.asarray(self) > np.asarray(other)

    def __ge__(self, other: Any) -> Any:
        return np.asarray(self) >= np.asarray(other)

    def with_vector(self, vector: Any) -> Snapshot:
        """Return the snapshot with another state of the innermost environment, given as `numpy.asarray` returns it."""
        state = innermost(self.env_state)
        names = _coordinates(state)
        leaves, structure = jax.tree.flatten([getattr(state, name) for name in names] or state)
        sizes, values = [np.size(leaf) for leaf in leaves], np.asarray(vector)
        if values.shape != (sum(sizes),) or values.dtype.kind not in "biuf":
            raise ValueError(f"a state is a Snapshot or a vector of {sum(sizes)} numbers, got {vector!r}")
        pieces = np.split(values, np.cumsum(sizes)[:-1])
        leaves = [jnp.asarray(piece.reshape(old.shape), old.dtype) for piece, old in zip(pieces, leaves, strict=True)]
        changed = jax.tree.unflatten(structure, leaves)
        return self.with_innermost(state.replace(**dict(zip(names, changed, strict=True))) if names else changed)

    def with_innermost(self, state: Any) -> Snapshot:
        """Return the snapshot with another state of the innermost environment; those of wrappers stay."""
        return self._replace(env_state=with_innermost(self.env_state, state))


def innermost(env_state: Any) -> Any:
    """Return the state of the environment inside all wrappers."""
    while hasattr(env_state, "env_state"):
        env_state = env_state.env_state
    return env_state


def with_innermost(env_state: Any, state: Any) -> Any:
    """Return a state with another one inside all wrappers."""
    if not hasattr(env_state, "env_state"):
        return state
    return env_state.replace(env_state=with_innermost(env_state.env_state, state))


def same_structure(one: Any, other: Any) -> bool:
    """Return whether two pytrees have the same structure, static fields included."""
    structures: tuple[Any, Any] = jax.tree.structure(one), jax.tree.structure(other)
    return bool(structures[0] == structures[1])


def same_shapes(one: Any, other: Any) -> bool:
    """Return whether two pytrees have the same structure, shapes and dtypes."""
    if not same_structure(one, other):
        return False
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all((a.shape, a.dtype) == (b.shape, b.dtype) for a, b in pairs)


def _coordinates(state: Any) -> list[str]:
    """Return the names of the fields of a state that have no default; none if the state is not a record."""
    fields = dataclasses.fields(state) if dataclasses.is_dataclass(state) else ()
    return [entry.name for entry in fields if entry.default is dataclasses.MISSING]
