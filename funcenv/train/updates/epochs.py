"""Passes over a batch of experience in minibatches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from funcenv.checks import require_size
from funcenv.train.shares import on_shares
from funcenv.train.updates.blocks import BlockConfig, split_blocks, take_in_blocks
from funcenv.train.updates.learned import Clipped

Carry = TypeVar("Carry")


@dataclasses.dataclass(frozen=True)
class Minibatches(Clipped, BlockConfig):
    """The settings of algorithms that pass several times over each batch and then discard it."""

    num_epochs: int = 4
    """passes over each batch"""
    num_minibatches: int = 4
    """minibatches in a batch; divides num_envs * num_steps"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("num_epochs", "num_minibatches"):
            require_size(name, getattr(self, name))
        if self.batch_size % self.num_minibatches:
            raise ValueError(
                f"num_minibatches must divide num_envs * num_steps, got {self.num_minibatches} for "
                f"{self.num_envs} * {self.num_steps} = {self.batch_size}"
            )

    def allows_blocks(self, num_blocks: int) -> bool:
        """Return whether the minibatches divide the steps of a block."""
        return self.batch_size // num_blocks % self.num_minibatches == 0

    @property
    def optimizer_steps_per_update(self) -> int:
        """Steps of the optimizer in one update."""
        return self.num_epochs * self.num_minibatches

    @property
    def num_optimizer_steps(self) -> int:
        """Steps of the optimizer in the whole run."""
        return self.num_updates * self.optimizer_steps_per_update

    def learning_rate_in(self, update: Int[Array, ""]) -> Float[Array, ""]:
        """Return the learning rate at the beginning of update number `update`, counted from 0."""
        schedule = self.schedule
        return jnp.asarray(schedule(update * self.optimizer_steps_per_update) if callable(schedule) else schedule)


def scan_minibatches(
    config: Minibatches,
    step: Callable[[Carry, Any], tuple[Carry, dict[str, jax.Array]]],
    carry: Carry,
    batch: Any,
    key: jax.Array,
) -> tuple[Carry, dict[str, jax.Array]]:
    """Pass `num_epochs` times over a batch, each time in a new order.

    A minibatch takes the same number of rows from each of `config.block_count` blocks of environments, in the order of
    the blocks.

    Args:
        config: The configuration.
        step: Learns from a minibatch: from what is learned and the minibatch to what is learned next, and scalars.
        carry: What is learned before.
        batch: A pytree whose leaves have the same leading axis of rows, in the order of their environments
            (`rows_of_envs`).
        key: Determines the orders.

    Returns:
        What is learned after, and the means of the scalars.
    """
    blocks = split_blocks(batch, config.block_count)
    orders = _orders(config, jax.tree.leaves(blocks)[0].shape[1], key)

    def step_rows(carry: Carry, order: jax.Array) -> tuple[Carry, dict[str, jax.Array]]:
        return step(carry, take_in_blocks(blocks, order))

    carry, scalars = jax.lax.scan(step_rows, carry, orders)
    return carry, jax.tree.map(jnp.mean, scalars)


def _orders(config: Minibatches, num_rows: int, key: jax.Array) -> Int[Array, "optimizer_steps num_blocks rows"]:
    """Return which rows of each block are in which minibatch: each block has an order of its own in each epoch."""
    keys = jax.random.split(key, (config.num_epochs, config.block_count))

    def draw(keys: jax.Array) -> jax.Array:
        orders = jax.vmap(jax.vmap(lambda key: jax.random.permutation(key, num_rows)))(keys)
        minibatches = jnp.moveaxis(orders.reshape(*keys.shape, config.num_minibatches, -1), 2, 1)
        return minibatches.reshape(config.optimizer_steps_per_update, keys.shape[1], -1)

    return on_shares(draw, keys, axis=1)
