"""A replay buffer: the latest steps of all environments, from which n-step transitions are drawn.

The buffer is a pytree of arrays on the device. Within a compiled program it is updated in place. A checkpoint holds it,
so that a run that is resumed draws the same transitions. Each step takes two observations, an action, and 6 bytes.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.goals import ACHIEVED_GOAL
from funcenv.struct import PyTreeNode, field
from funcenv.train.devices import PER_BLOCK
from funcenv.train.shares import gathered_unless_shared, on_shares
from funcenv.train.updates.collector import Experience
from funcenv.train.updates.hindsight import Hindsight, with_goal
from funcenv.train.updates.returns import n_step_return


class Steps(NamedTuple):
    """Steps of all environments; leading axes `[num_steps, num_envs]`."""

    observation: Any  # before the step
    action: jax.Array
    reward: Float[Array, "num_steps num_envs"]
    terminated: Bool[Array, "num_steps num_envs"]
    done: Bool[Array, "num_steps num_envs"]
    next_observation: Any  # after the step, before any reset

    @classmethod
    def of(cls, experience: Experience) -> Steps:
        """Return what the buffer keeps of collected experience, whose extras are the actions."""
        observation, action, timestep = experience
        return cls(observation, action, timestep.reward, timestep.terminated, timestep.done, timestep.final_observation)


class Transition(NamedTuple):
    """What a target `reward + discount * value(next_observation)` of an action needs; a leading axis `[batch]`."""

    observation: Any
    action: jax.Array
    reward: Float[Array, "batch"]  # discounted sum of the rewards of up to n steps
    discount: Float[Array, "batch"]  # a power of gamma; 0 after termination
    next_observation: Any  # after those steps, before any reset


class ReplayBuffer(PyTreeNode):
    """A ring buffer of the latest `capacity` steps of each environment."""

    steps: Steps = field(metadata=PER_BLOCK)
    count: Int[Array, ""]  # steps of each environment added so far
    capacity: int = field(pytree_node=False)
    num_blocks: int = field(pytree_node=False)

    @classmethod
    def empty(cls, step: Steps, capacity: int, num_blocks: int = 1) -> ReplayBuffer:
        """Return a buffer without steps.

        Args:
            step: One step of all environments, `[num_envs, ...]`, or its shapes and dtypes.
            capacity: The number of steps of each environment. Every later call of `add` adds a divisor of it.
            num_blocks: The number of blocks of environments of which minibatches take equal parts. It divides the
                environments.
        """
        steps = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), step)
        return cls(steps=steps, count=jnp.zeros((), jnp.int32), capacity=capacity, num_blocks=num_blocks)

    @property
    def size(self) -> Int[Array, ""]:
        """The number of steps of each environment that the buffer holds."""
        return jnp.minimum(self.count, self.capacity)

    def add(self, steps: Steps) -> ReplayBuffer:
        """Return the buffer with the next steps, which replace the oldest ones where it is full."""
        num_steps, start = steps.done.shape[0], self.count % self.capacity
        steps = gathered_unless_shared(steps, self.num_blocks, num_axes=2)
        written = jax.tree.map(
            lambda old, new: jax.lax.dynamic_update_slice_in_dim(old, new.astype(old.dtype), start, axis=0),
            self.steps,
            steps,
        )
        return self.replace(steps=written, count=self.count + num_steps)

    def sample(
        self, key: jax.Array, batch_size: int, num_steps: int, gamma: float, hindsight: Hindsight | None = None
    ) -> Transition:
        """Draw transitions of up to `num_steps` steps: the same number from each block, in the order of the blocks.

        Within a block, each is drawn with the same probability. A transition ends early where its episode ended. The
        buffer must hold `num_steps` steps, and the blocks divide `batch_size`. With `hindsight`, which also gets a part
        of the key, some transitions have other goals.

        >>> flags, rows = jnp.zeros((4, 1), bool), jnp.arange(4.0)[:, None]
        >>> steps = Steps(rows, rows, reward=jnp.ones((4, 1)), terminated=flags, done=flags, next_observation=rows + 1)
        >>> buffer = ReplayBuffer.empty(jax.tree.map(lambda leaf: leaf[0], steps), capacity=8).add(steps)
        >>> drawn = buffer.sample(jax.random.key(0), batch_size=5, num_steps=2, gamma=0.5)
        >>> bool((drawn.next_observation == drawn.observation + 2).all()), float(drawn.discount[0])
        (True, 0.25)
        """
        if hindsight is not None:
            key, goal_key = jax.random.split(key)
        start_key, env_key = jax.random.split(key)
        oldest = jnp.where(self.count > self.capacity, self.count, 0)
        num_starts = jnp.maximum(self.size - num_steps + 1, 1)
        per_block = self.num_blocks, batch_size // self.num_blocks
        age = jax.random.randint(start_key, per_block, 0, num_starts)
        env = jax.random.randint(env_key, per_block, 0, self.steps.done.shape[1] // self.num_blocks)
        rows = [oldest + age, env]
        if hindsight is not None:
            rows += [self.size - age, jax.random.uniform(goal_key, (*per_block, 2), float)]
        take = functools.partial(self._take, num_steps, gamma, hindsight)
        return on_shares(take, self.steps, *rows, axis=(1, *(0 for _ in rows)), out_axis=0)

    def _take(
        self,
        num_steps: int,
        gamma: float,
        hindsight: Hindsight | None,
        steps: Steps,
        start: Int[Array, "blocks rows"],
        env: Int[Array, "blocks rows"],
        *goal_rows: jax.Array,
    ) -> Transition:
        """Return the transitions that begin at these steps in these environments of each block.

        `goal_rows` are, with hindsight, the number of steps left and the chances, as `Hindsight.choose` takes them.
        """
        block_size = steps.done.shape[1] // len(env)
        env = (env + block_size * jnp.arange(len(env), dtype=env.dtype)[:, None]).ravel()
        start = start.ravel()
        window = (start[None] + jnp.arange(num_steps)[:, None]) % self.capacity  # [num_steps, batch]
        first = window[0]
        at = window, env[None]
        outcome = steps.reward[at], steps.terminated[at], steps.done[at]
        if hindsight is not None:
            num_left, chance = (leaf.reshape(-1, *leaf.shape[2:]) for leaf in goal_rows)
            goal = hindsight.choose(steps, first, env, num_left, chance)
            achieved = steps.next_observation[ACHIEVED_GOAL][at]
            outcome = hindsight.outcome(achieved, goal, outcome[-1])
        target = n_step_return(*outcome, gamma)
        last = (start + target.last) % self.capacity
        observation = jax.tree.map(lambda leaf: leaf[first, env], steps.observation)
        next_observation = jax.tree.map(lambda leaf: leaf[last, env], steps.next_observation)
        if hindsight is not None:
            observation, next_observation = with_goal(observation, goal), with_goal(next_observation, goal)
        return Transition(observation, steps.action[first, env], target.reward, target.discount, next_observation)
