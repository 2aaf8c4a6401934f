"""The settings that algorithms with a replay buffer share, and when they begin to learn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.checks import require_size
from funcenv.train.config import require_fraction
from funcenv.train.networks import NetworkConfig

Tree = TypeVar("Tree")


@dataclasses.dataclass(frozen=True)
class OffPolicyConfig(NetworkConfig):
    """The settings of every algorithm that learns from a replay buffer."""

    num_envs: int = 8
    """environments that are stepped in parallel"""
    num_steps: int = 1
    """steps of each environment between updates"""
    buffer_size: int = 50_000
    """latest steps of all environments that are kept; rounded down to a multiple of num_envs * num_steps"""
    learning_starts: int = 1_000
    """steps of all environments before learning begins"""
    num_gradient_steps: int = 4
    """minibatches that are learned from in each update"""
    minibatch_size: int = 128
    """transitions in a minibatch"""
    n_step: int = 3
    """rewards in a target, fewer where the episode ends"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    target_rate: float = 0.01
    """how far the target network moves towards the network after each gradient step, in [0, 1]"""

    def __post_init__(self) -> None:
        for name in ("num_envs", "num_steps", "num_gradient_steps", "minibatch_size", "n_step"):
            require_size(name, getattr(self, name))
        for name in ("gamma", "target_rate"):
            require_fraction(name, getattr(self, name))
        steps_before = self.num_steps * -(-self.learning_starts // self.batch_size)
        if not self.n_step <= steps_before <= self.buffer_steps:
            raise ValueError(
                "learning_starts must fill n_step steps of each environment, and not more than the buffer holds, got "
                f"{self.learning_starts} for n_step={self.n_step}, num_envs={self.num_envs} and "
                f"buffer_size={self.buffer_size}"
            )
        super().__post_init__()

    @property
    def buffer_steps(self) -> int:
        """Steps of each environment that the replay buffer holds."""
        return self.buffer_size // self.batch_size * self.num_steps

    def is_ready(self, update: Int[Array, ""]) -> Bool[Array, ""]:
        """Return whether an agent learns in its update number `update`, counted from 0."""
        return (update + 1) * self.batch_size >= self.learning_starts


def learn_when_ready(
    config: OffPolicyConfig,
    update: Int[Array, ""],
    gradient_step: Callable[[Tree, jax.Array], tuple[Tree, dict[str, jax.Array]]],
    learned: Tree,
) -> tuple[Tree, dict[str, jax.Array]]:
    """Take the gradient steps of an update, if learning has begun.

    Args:
        config: The configuration.
        update: The number of the update, counted from 0.
        gradient_step: From what is learned and the index of the step to what is learned next, and scalars.
        learned: What is learned before.

    Returns:
        What is learned after, and the means of the scalars, or zeros before learning begins.
    """

    def learn(learned: Tree) -> tuple[Tree, dict[str, jax.Array]]:
        learned, scalars = jax.lax.scan(gradient_step, learned, jnp.arange(config.num_gradient_steps))
        return learned, jax.tree.map(jnp.mean, scalars)

    _, shapes = jax.eval_shape(learn, learned)
    zeros = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    # A branch, unlike a choice of results, also keeps XLA from computing what was added to the buffer again where it is
    # read, for which it would copy parts of the buffer.
    result: tuple[Tree, dict[str, jax.Array]] = jax.lax.cond(
        config.is_ready(update), learn, lambda learned: (learned, zeros), learned
    )
    return result


def choose(condition: Bool[Array, ""], chosen: Tree, otherwise: Tree) -> Tree:
    """Return the one of two trees of arrays that a condition chooses.

    >>> choose(jnp.array(True), {"a": 1.0}, {"a": 2.0})["a"].item()
    1.0
    """
    result: Tree = jax.tree.map(lambda a, b: jnp.where(condition, a, b), chosen, otherwise)
    return result
