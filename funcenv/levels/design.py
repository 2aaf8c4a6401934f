"""Environments that draw levels at random and edit them."""

from __future__ import annotations

from typing import Any

import jax


class HasLevels:
    """A base class for environments whose levels can be drawn and mutated.

    A level is a dict of parameters by field name, such as `{"heights": heights}`. `env.replace(**level)` is the
    environment in that level. Every environment has levels, because any parameter can be one; this class adds the two
    methods by which programs make new ones. Both are pure and can be traced.

    >>> import funcenv
    >>> env = funcenv.make("LakeMaze-v0")
    >>> level = env.draw_level(funcenv.key(0))
    >>> sorted(level), level["tiles"].shape
    (['tiles'], (8, 8))
    """

    def draw_level(self, key: jax.Array) -> dict[str, Any]:
        """Return the parameters of a random level by field name."""
        raise NotImplementedError(f"{type(self).__name__} must define draw_level(key)")

    def mutate_level(self, level: dict[str, Any], key: jax.Array) -> dict[str, Any]:
        """Return a level that differs from `level` by a small random edit."""
        raise NotImplementedError(f"{type(self).__name__} must define mutate_level(level, key)")


def require_levels(what: str, env: Any, can_mutate: bool = False) -> HasLevels:
    """Return the environment inside all wrappers, which draws levels, and mutates them if need be.

    Raises:
        TypeError: It does not.

    >>> import funcenv
    >>> require_levels("draw_levels", funcenv.make("CartPole-v1"))
    Traceback (most recent call last):
        ...
    TypeError: draw_levels needs an environment that draws levels, got CartPole; give it draw_level(key) as
        funcenv.levels.HasLevels describes, or use FiniteLevels with keys
    """
    inside = env.unwrapped
    for name in ("draw_level", *(["mutate_level"] if can_mutate else [])):
        if not isinstance(inside, HasLevels) or getattr(type(inside), name) is getattr(HasLevels, name):
            verb = "draws" if name == "draw_level" else "mutates"
            raise TypeError(
                f"{what} needs an environment that {verb} levels, got {type(inside).__name__}; give it {name}"
                f"({'key' if verb == 'draws' else 'level, key'}) as funcenv.levels.HasLevels describes, or use "
                f"{'FiniteLevels with keys' if verb == 'draws' else 'a curriculum without edits'}"
            )
    found: HasLevels = inside
    return found
