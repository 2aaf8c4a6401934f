"""Blocks of environments, of which each minibatch takes equal parts.

A device of a run holds whole blocks, and draws minibatches from what they have collected: nothing moves between
devices. The number of blocks is a setting, so minibatches do not depend on the number of devices that divides it. If
the devices do not divide the blocks, experience is gathered, and the minibatches are the same.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from funcenv.checks import require_size
from funcenv.train.shares import gathered_unless_shared, on_shares
from funcenv.train.updates.collector import CollectorConfig

Tree = TypeVar("Tree")


@dataclasses.dataclass(frozen=True)
class BlockConfig(CollectorConfig):
    """The settings of algorithms that draw minibatches."""

    num_blocks: int = 64
    """groups of environments of which each minibatch takes equal parts, at most; devices that divide them share them"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("num_blocks", self.num_blocks)

    def allows_blocks(self, num_blocks: int) -> bool:
        """Return whether minibatches can be drawn from so many blocks, a divisor of `num_envs`."""
        raise NotImplementedError(f"{type(self).__name__} must define allows_blocks, got {num_blocks} blocks")

    @property
    def block_count(self) -> int:
        """The largest number of blocks up to `num_blocks` that divides the environments and allows minibatches."""
        counts = range(min(self.num_blocks, self.num_envs), 1, -1)
        return next((count for count in counts if self.num_envs % count == 0 and self.allows_blocks(count)), 1)


def rows_of_envs(experience: Tree) -> Tree:
    """Return steps `[num_steps, num_envs, ...]` as rows `[num_envs * num_steps, ...]`, grouped by environment.

    >>> rows_of_envs(jnp.array([[0, 10], [1, 11]])).tolist()
    [0, 1, 10, 11]
    """

    def reorder(leaf: jax.Array) -> jax.Array:
        return jnp.swapaxes(leaf, 0, 1).reshape(-1, *leaf.shape[2:])

    rows: Tree = jax.tree.map(reorder, experience)
    return rows


def split_blocks(rows: Tree, num_blocks: int) -> Tree:
    """Return rows as blocks `[num_blocks, rows_of_a_block, ...]`, gathered if the devices do not divide the blocks."""
    rows = gathered_unless_shared(rows, num_blocks, num_axes=1)
    blocks: Tree = jax.tree.map(lambda leaf: leaf.reshape(num_blocks, -1, *leaf.shape[1:]), rows)
    return blocks


def take_in_blocks(blocks: Tree, order: Any) -> Tree:
    """Return rows of each block as the rows of a minibatch, in the order of the blocks.

    Args:
        blocks: Arrays `[num_blocks, rows_of_a_block, ...]`.
        order: Which rows of each block, integers `[num_blocks, num_rows]`.

    >>> take_in_blocks(jnp.array([[0, 1, 2], [10, 11, 12]]), jnp.array([[2, 0], [1, 1]])).tolist()
    [2, 0, 11, 11]
    """

    def take(blocks: Tree, order: jax.Array) -> Tree:
        first = jnp.arange(order.shape[0], dtype=order.dtype)[:, None] * jax.tree.leaves(blocks)[0].shape[1]
        flat = (first + order).ravel()
        taken: Tree = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[flat], blocks)
        return taken

    return on_shares(take, blocks, order)
