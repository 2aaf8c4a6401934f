"""Minibatches take equal parts of blocks of environments, and pass over every row once an epoch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.train import dqn, ppo, recurrent_ppo
from funcenv.train.updates.blocks import rows_of_envs
from funcenv.train.updates.epochs import scan_minibatches
from funcenv.train.updates.replay_buffer import ReplayBuffer, Steps

SIZES = {"num_envs": 12, "num_steps": 4, "num_epochs": 2, "num_minibatches": 2}


def minibatches(config):
    """Return the rows of all minibatches of an update, `[num_epochs, num_minibatches, rows]`."""
    steps = jnp.arange(config.num_steps)[:, None] + 100 * jnp.arange(config.num_envs)[None]

    def step(carry, rows):
        position, seen = carry
        return (position + 1, seen.at[position].set(rows)), {}

    seen = jnp.zeros((config.optimizer_steps_per_update, config.batch_size // config.num_minibatches), int)
    (_, seen), _ = scan_minibatches(config, step, (0, seen), rows_of_envs(steps), jax.random.key(0))
    return np.asarray(seen).reshape(config.num_epochs, config.num_minibatches, -1)


@pytest.mark.parametrize("num_blocks", [1, 3, 12, 64])
def test_each_minibatch_takes_equal_parts_of_the_blocks(num_blocks):
    config = ppo.Config(**SIZES, num_blocks=num_blocks)
    seen, block_size = minibatches(config), 12 // min(num_blocks, 12)
    every = sorted(100 * env + step for env in range(12) for step in range(4))
    for epoch in seen:
        assert sorted(epoch.ravel()) == every
        for rows in epoch:
            blocks = rows // 100 // block_size
            assert (np.bincount(blocks) == len(rows) * block_size // 12).all() and (np.diff(blocks) >= 0).all()
    assert (seen[0] != seen[1]).any() and (seen[0][0] != seen[0][1]).any()


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (ppo.Config(**SIZES), 12),
        (ppo.Config(**SIZES, num_blocks=5), 4),
        (ppo.Config(num_envs=12, num_steps=1, num_minibatches=3), 4),  # a block has the rows of 3 minibatches
        (recurrent_ppo.Config(**SIZES), 6),  # a block has 2 environments, one for each minibatch
        (dqn.Config(num_envs=12, minibatch_size=8), 4),
        (dqn.Config(num_envs=7, minibatch_size=8), 1),
    ],
)
def test_the_number_of_blocks_divides_environments_and_minibatches(config, count):
    assert config.block_count == count


def test_num_blocks_must_be_positive():
    with pytest.raises(ValueError, match="num_blocks must be at least 1, got 0"):
        ppo.Config(num_blocks=0)


@pytest.mark.parametrize("num_blocks", [1, 2, 3, 6])
def test_a_minibatch_of_a_buffer_takes_equal_parts_of_the_blocks_in_their_order(num_blocks):
    flags, numbers = jnp.zeros((4, 6), bool), jnp.broadcast_to(jnp.arange(6.0), (4, 6))
    steps = Steps(numbers, numbers, numbers, flags, flags, numbers)
    buffer = ReplayBuffer.empty(jax.tree.map(lambda leaf: leaf[0], steps), 4, num_blocks).add(steps)
    drawn = buffer.sample(jax.random.key(0), batch_size=600, num_steps=1, gamma=0.9)
    blocks = np.asarray(drawn.observation, int) // (6 // num_blocks)
    np.testing.assert_array_equal(blocks, np.repeat(np.arange(num_blocks), 600 // num_blocks))
    assert set(np.asarray(drawn.observation)) == set(range(6))
