"""Episodes in a finite set of levels.

Cobbe et al., "Leveraging procedural generation to benchmark reinforcement learning", ICML 2020: train on some levels,
and test on others.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from funcenv.func_env import Action, AnyEnv, Obs
from funcenv.levels.level_set import LevelSet, level_set
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import StatefulWrapper


class FiniteLevelsState(PyTreeNode):
    """The inner state and the level of this episode."""

    env_state: Any
    level: Int[Array, ""]  # index into the set
    parameters: dict[str, Any]  # those of the level, which a later change of the set leaves as they are


class FiniteLevels(StatefulWrapper[FiniteLevelsState, Action, Obs]):
    """Chooses one of finitely many levels at the start of every episode.

    All levels are equally likely, or weighted by `weights`, which need not sum to 1. Weights and levels are parameters:
    a trainer may replace them between two updates, `env.replace(weights=scores)`, without another compilation.
    `env.in_level(index)` stays in a single one. It goes inside other wrappers: levels set parameters of `env` itself.

    The spaces are those of the `env` that was passed. `info["level"]` is the level's number, `levels.ids[index]`. A
    level with a key starts every episode alike; the keys of steps differ from episode to episode, as everywhere.

    Args:
        env: the environment.
        levels: a `LevelSet`; an array of typed keys `[num_levels]`, one for the first state of each level; or a dict of
            parameters `[num_levels, ...]` by field name.
        weights: float `[num_levels]`, at least 0 and not all 0; None for equal ones.

    Raises:
        TypeError: `levels` is something else, or names a field that the environment does not have.
        ValueError: levels of another environment; weights that are negative, not finite, all 0, or too many or few.

    >>> import funcenv
    >>> env = FiniteLevels(funcenv.make("CartPole-v1"), {"gravity": [1.6, 9.8]}, weights=jnp.array([0.0, 1.0]))
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> int(timestep.info["level"]), float(state.parameters["gravity"])
    (1, 9.800000190734863)
    """

    levels: LevelSet
    weights: Float[Array, "num_levels"] | None = field(ndim=1, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", level_set(self.env, self.levels))
        if self.weights is not None:
            require_weights(self.weights, len(self.levels))

    @property
    def num_levels(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def in_level(self, index: Any) -> FiniteLevels[Action, Obs]:
        """Return the environment that stays in one level; for indices `[num_envs]`, a batch of environments."""
        weights = jax.nn.one_hot(jnp.asarray(index), self.num_levels, dtype=float)
        return self.replace(weights=weights)

    def inner_env(self, state: FiniteLevelsState) -> AnyEnv:
        """Return the environment inside, with the parameters of this episode's level."""
        return self.env.replace(**state.parameters) if state.parameters else self.env

    @property
    def fixed_start(self) -> bool:
        """False, because episodes start in different levels."""
        return False

    @property
    def reward_range(self) -> tuple[float, float]:
        """That of the environment for levels by keys; unbounded if parameters differ, on which rewards may depend."""
        return (-math.inf, math.inf) if self.levels.parameters else self.env.reward_range

    def initial(self, key: jax.Array) -> FiniteLevelsState:
        """Choose a level, and return the first state in it."""
        level = self._choose(self.extra_key(key))
        parameters = self.levels.level(level)
        env = self.env.replace(**parameters) if parameters else self.env
        return FiniteLevelsState(env.initial(self.levels.first_key(level, key)), level, parameters)

    def transition(self, state: FiniteLevelsState, action: Action, key: jax.Array) -> FiniteLevelsState:
        """Return the next state, in the same level."""
        return state.replace(env_state=self.inner_env(state).transition(state.env_state, action, key))

    def state_info(self, state: FiniteLevelsState) -> dict[str, Any]:
        """Add the number of the level."""
        return {**super().state_info(state), "level": jnp.asarray(self.levels.ids)[state.level]}

    def _choose(self, key: jax.Array) -> Int[Array, ""]:
        """Return a random index. One without weight is never chosen, whatever the rounding."""
        if self.weights is None:
            return jax.random.randint(key, (), 0, self.num_levels, jnp.int32)
        sums = jnp.cumsum(jnp.asarray(self.weights))
        drawn = jnp.minimum(jax.random.uniform(key, (), sums.dtype) * sums[-1], jnp.nextafter(sums[-1], 0 * sums[-1]))
        return jnp.searchsorted(sums, drawn, side="right").astype(jnp.int32)


def require_weights(weights: Any, num_levels: int) -> None:
    """Raise `ValueError` unless concrete weights are usable: finite, at least 0, not all 0, one for each level.

    >>> require_weights(np.array([1.0, -1.0]), 2)
    Traceback (most recent call last):
        ...
    ValueError: weights of levels must be finite and at least 0, got -1.0 for level 1
    """
    shape = np.shape(weights)
    if len(shape) not in (1, 2) or shape[-1] != num_levels:
        raise ValueError(f"there must be one weight for each of {num_levels} levels, got the shape {shape}")
    if isinstance(weights, jax.core.Tracer) or not isinstance(weights, (np.ndarray, jax.Array)):
        return
    values = np.asarray(weights)
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = np.argwhere(wrong)[0]
        raise ValueError(
            f"weights of levels must be finite and at least 0, got {values[tuple(place)]} for level {place[-1]}"
        )
    if not (values.sum(-1) > 0).all():
        raise ValueError(f"at least one weight must be above 0, got {values}; leave the weights out for equal ones")


def in_levels(env: AnyEnv, path: Any) -> FiniteLevels[Any, Any]:
    """Return an environment whose episodes take place in the levels of a file.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `LevelSet.load`.
    """
    return FiniteLevels(env, LevelSet.load(path, env))
