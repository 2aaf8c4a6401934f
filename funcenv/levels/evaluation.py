"""Returns of a policy in each level of a set."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from funcenv.checks import require_size
from funcenv.func_env import AnyEnv
from funcenv.levels.level_set import LevelSet
from funcenv.policy import Policy
from funcenv.rollout import evaluate
from funcenv.struct import PyTreeNode
from funcenv.wrappers.finite_levels import FiniteLevels


class LevelScores(PyTreeNode):
    """Episodes in each level."""

    ids: Int[Array, "num_levels"]  # numbers of the levels
    episode_return: Float[Array, "num_levels episodes"]
    episode_length: Int[Array, "num_levels episodes"]

    @property
    def mean_returns(self) -> Float[Array, "num_levels"]:
        """Mean return in each level."""
        return self.episode_return.mean(-1)


def evaluate_levels(
    env: AnyEnv,
    levels: LevelSet,
    policy: Policy,
    key: jax.Array,
    episodes_per_level: int = 1,
    max_steps: int | None = None,
) -> LevelScores:
    """Play episodes in every level, all at once.

    Args:
        env: the environment without `FiniteLevels`.
        levels: its levels.
        policy: as `funcenv.evaluate` takes it.
        key: determines the episodes.
        episodes_per_level: at least 1.
        max_steps: as in `funcenv.evaluate`.

    Raises:
        ValueError: Levels of another environment, or no episode.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> levels = LevelSet.from_parameters(env, {"force_mag": [1.0, 10.0, 30.0]})
    >>> scores = evaluate_levels(env, levels, lambda observation, key: jnp.int32(0), funcenv.key(0), 4)
    >>> scores.mean_returns.shape, bool(scores.mean_returns[0] > scores.mean_returns[2])
    ((3,), True)
    """
    repeats = require_size("episodes_per_level", episodes_per_level)
    index = np.repeat(np.arange(len(levels), dtype=np.int32), repeats)
    env = FiniteLevels(env, levels).in_level(index)
    evaluation = evaluate(env, policy, len(index), key, max_steps=max_steps)
    return LevelScores(
        ids=jnp.asarray(levels.ids),
        episode_return=evaluation.episode_return.reshape(-1, repeats),
        episode_length=evaluation.episode_length.reshape(-1, repeats),
    )
