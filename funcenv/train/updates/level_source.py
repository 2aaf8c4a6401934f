"""Where the levels of a curriculum come from, and what an environment is in one of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import AnyEnv
from funcenv.levels.design import HasLevels, require_levels
from funcenv.levels.fixed_start import FixedStart
from funcenv.random.generators import impl_name
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import layers
from funcenv.wrappers.finite_levels import FiniteLevels

Level = dict[str, Any]
"""A level: its `parameters` by field name, and the `key_data` of its first state if it has a key."""


class LevelSource(PyTreeNode):
    """The levels of an environment: those of a set, those that it draws itself, or keys of first states.

    >>> import funcenv
    >>> source = LevelSource.of(funcenv.make("CartPole-v1"))
    >>> level = source.draw(funcenv.key(0))
    >>> sorted(level), level["parameters"]
    (['key_data', 'parameters'], {})
    >>> sorted(LevelSource.of(funcenv.make("LakeMaze-v0")).draw(funcenv.key(0)))
    ['parameters']
    """

    env: AnyEnv  # without FiniteLevels
    levels: Any  # a LevelSet, or None
    impl: str = field(pytree_node=False, default="threefry")

    @classmethod
    def of(cls, env: AnyEnv) -> LevelSource:
        """Return the levels of an environment, which may be in `FiniteLevels`.

        Raises:
            ValueError: `FiniteLevels` is inside of another wrapper, such as those for masks and critics.
        """
        if isinstance(env, FiniteLevels):
            return cls(env=env.env, levels=env.levels, impl=env.levels.key_impl)
        if any(isinstance(layer, FiniteLevels) for layer in layers(env)):
            raise ValueError(
                f"a curriculum over a set of levels needs FiniteLevels outside of {type(env).__name__}; leave the "
                "levels out, or masks and what only critics see"
            )
        return cls(env=env, levels=None)

    def require_mutations(self) -> None:
        """Raise `TypeError` unless the environment mutates levels."""
        require_levels("the curriculum accel", self.env, can_mutate=True)

    def draw(self, key: jax.Array) -> Level:
        """Return a random level."""
        if self.levels is not None:
            index = jax.random.randint(key, (), 0, len(self.levels), jnp.int32)
            level: Level = {"parameters": self.levels.level(index)}
            if self.levels.key_data is not None:
                level["key_data"] = jnp.asarray(self.levels.key_data)[index]
            return level
        if isinstance(self.env.unwrapped, HasLevels):
            return {"parameters": require_levels("a curriculum", self.env).draw_level(key)}
        return {"parameters": {}, "key_data": jax.random.key_data(key)}

    def mutate(self, level: Level, key: jax.Array) -> Level:
        """Return a level with an edit of its parameters."""
        inside = require_levels("a curriculum", self.env, can_mutate=True)
        return {**level, "parameters": inside.mutate_level(level["parameters"], key)}

    def env_in(self, level: Level, key: jax.Array) -> AnyEnv:
        """Return the environment in a level, or a batch of environments in levels `[num_envs, ...]`.

        Args:
            level: the level.
            key: any key of the generator that `draw` was given keys of.
        """
        env = self.env.replace(**level["parameters"]) if level["parameters"] else self.env
        if "key_data" not in level:
            return env
        return FixedStart(env, level["key_data"], self.impl if self.levels is not None else impl_name(key))
