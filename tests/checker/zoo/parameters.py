"""Broken in their parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv

from .line import Line, Point, gives


@gives("parameter-not-array")
class StringParameter(Line):
    """A string among the numbers."""

    mode: str = "fast"


@gives("static-not-comparable")
class ArrayStatic(Line):
    """An array in a static field, which has no single truth value when compared."""

    walls: Any = funcenv.field(pytree_node=False, default_factory=lambda: np.zeros(3))


@gives("parameter-not-traceable")
class FloatOfParameter(Line):
    """`float()` of a parameter."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=jnp.clip(state.x + float(self.speed), -1.0, 1.0))


class Label:
    """Compared by identity, so that an equal copy is another one."""

    """Compared by identity, so that an equal copy is another one."""


@gives("pickle-differs")
class IdentityStatic(Line):
    """A static field that is compared by identity."""

    label: Any = funcenv.field(pytree_node=False, default_factory=Label)


@gives("recompiles", "pickle-differs")
class MakesLabel(Line):
    """Every construction gives it another label."""

    label: Any = funcenv.field(pytree_node=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", Label())


@gives("parameter-ambiguous")
class ArrayParameter(Line):
    """An array parameter that could be a batch of scalars."""

    weights: Any = funcenv.field(default_factory=lambda: np.ones(3, np.float32))

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x * self.weights.sum()


@jax.custom_batching.custom_vmap
def _alone_pair(x: jax.Array) -> jax.Array:
    return x


@_alone_pair.def_vmap
def _alone_pair_batch(axis_size: int, in_batched: Any, x: jax.Array) -> Any:
    raise RuntimeError("one parameter for all")


@gives("parameter-not-batchable")
class ScalarOnly(Line):
    """It refuses a batch of speeds."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return super().transition(Point(x=state.x * _alone_pair(jnp.asarray(self.speed))), action, key)


@gives("parameter-static")
class StaticNumber(Line):
    """A real number as a static field."""

    drag: float = funcenv.field(pytree_node=False, default=0.5)


@gives("parameter-derived")
class DerivedField(Line):
    """It stores twice the speed."""

    twice: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.speed)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x * self.twice


@gives("parameter-unused")
class UnusedParameter(Line):
    """Its mass went into `speed_per_mass` long ago."""

    mass: float = 1.0
    speed_per_mass: float = 0.1

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x * self.speed_per_mass


@gives()
class UsedWithFlag(Line):
    """Sound: its wind matters once the flag is set."""

    windy: bool = funcenv.field(pytree_node=False, default=False)
    wind: float = 0.01

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x + (self.wind if self.windy else 0.0)


@gives("parameter-derived")
class DerivedWithPrefix(Line):
    """What it stores begins with the name of what it is computed from."""

    speed_squared: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "speed_squared", self.speed**2)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x * self.speed_squared
