"""Trees of numbers as two arrays, so that a loop moves two arrays instead of dozens of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.struct import PyTreeNode, field


class _Leaf(NamedTuple):
    kind: str  # the kind of the dtype: "f", "i" or "b"
    size: int  # 0 for a number, else the length of an array


class Packed(PyTreeNode):
    """A tree of numbers and short arrays.

    Axes of a batch come behind the axis of the numbers, and axes of rows, of which one is taken before `unpack`, before
    it.
    """

    floats: jax.Array
    others: jax.Array  # integers, and booleans as 0 and 1
    structure: Any = field(pytree_node=False)
    leaves: tuple[_Leaf, ...] = field(pytree_node=False)

    def unpack(self, as_numbers: bool = False) -> Any:
        """Return the tree.

        Args:
            as_numbers: whether arrays come as tuples of numbers.

        >>> pack({"is_on": jnp.bool_(True), "mass": jnp.float32(2.0)}).unpack()["mass"].item()
        2.0
        """
        restored: dict[int, Any] = {}
        for array, is_float in ((self.floats, True), (self.others, False)):
            own = [i for i, leaf in enumerate(self.leaves) if (leaf.kind == "f") == is_float]
            sizes = [1] * _count(self.leaves, own) if as_numbers else [max(self.leaves[i].size, 1) for i in own]
            parts = iter(jax.lax.split(array, sizes) if sizes else [])
            for i in own:
                leaf = self.leaves[i]
                if leaf.size and not as_numbers:
                    restored[i] = next(parts)
                    continue
                numbers = [jax.lax.squeeze(next(parts), (0,)) for _ in range(max(leaf.size, 1))]
                numbers = [number != 0 for number in numbers] if leaf.kind == "b" else numbers
                restored[i] = tuple(numbers) if leaf.size else numbers[0]
        return jax.tree.unflatten(self.structure, [restored[i] for i in range(len(self.leaves))])


def pack(tree: Any) -> Packed:
    """Pack a tree of numbers and short arrays."""
    values, structure = jax.tree.flatten(tree)
    values = [jnp.asarray(value) for value in values]
    leaves = tuple(_Leaf(value.dtype.kind, value.size if value.ndim else 0) for value in values)
    floats, others = (
        _joined([value for value, leaf in zip(values, leaves, strict=True) if (leaf.kind == "f") == is_float], dtype)
        for is_float, dtype in ((True, jnp.float32), (False, jnp.int32))
    )
    return Packed(floats, others, structure, leaves)


def _joined(values: list[Any], dtype: Any) -> jax.Array:
    """Return the numbers in a row, as `Packed.unpack` takes them from it."""
    values = [value.astype(dtype) for value in values]
    groups: list[Any] = []
    for value in values:
        if value.ndim == 0 and groups and isinstance(groups[-1], list):
            groups[-1].append(value)
        else:
            groups.append(value if value.ndim else [value])
    rows = [jnp.stack(group) if isinstance(group, list) else group for group in groups]
    if not rows:
        return jnp.zeros(0, dtype)
    return rows[0] if len(rows) == 1 else jnp.concatenate(rows)


def _count(leaves: tuple[_Leaf, ...], own: list[int]) -> int:
    return int(np.sum([max(leaves[i].size, 1) for i in own], dtype=int))
