"""Environments with defective parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv

from .line import Line, Point, expect


@expect("parameter-not-array")
class StringParameter(Line):
    """A string as a parameter."""

    mode: str = "fast"


@expect("static-not-comparable")
class ArrayStatic(Line):
    """An array in a static field: comparing it expect no single truth value."""

    walls: Any = funcenv.field(pytree_node=False, default_factory=lambda: np.zeros(3))


@expect("parameter-not-traceable")
class FloatOfParameter(Line):
    """A transition that calls `float()` on a parameter."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=jnp.clip(state.x + float(self.speed), -1.0, 1.0))


class Label:
    """A label that is compared by identity, so that a copy is not equal."""


@expect("pickle-differs")
class IdentityStatic(Line):
    """A static field that is compared by identity."""

    label: Any = funcenv.field(pytree_node=False, default_factory=Label)


@expect("recompiles", "pickle-differs")
class MakesLabel(Line):
    """A static field that differs each time the environment is built."""

    label: Any = funcenv.field(pytree_node=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", Label())


@expect("parameter-ambiguous")
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


@expect("parameter-not-batchable")
class ScalarOnly(Line):
    """A transition that refuses a batch of speeds."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return super().transition(Point(x=state.x * _alone_pair(jnp.asarray(self.speed))), action, key)


@expect("parameter-static")
class StaticNumber(Line):
    """A real number as a static field."""

    drag: float = funcenv.field(pytree_node=False, default=0.5)


@expect("parameter-derived")
class DerivedField(Line):
    """A field that stores twice the speed."""

    twice: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.speed)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x * self.twice


@expect("parameter-unused")
class UnusedParameter(Line):
    """A mass that nothing reads, because `speed_per_mass` was computed from it."""

    mass: float = 1.0
    speed_per_mass: float = 0.1

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x * self.speed_per_mass


@expect()
class UsedWithFlag(Line):
    """A sound environment, whose wind matters once a flag is set."""

    windy: bool = funcenv.field(pytree_node=False, default=False)
    wind: float = 0.01

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x + (self.wind if self.windy else 0.0)


@expect()
class UsedByTheNextEpisode(Line):
    """A sound environment, whose next episode begins where the last one ended, times a number."""

    kept: float = 0.5

    @property
    def remembers(self) -> bool:
        return True

    def initial_after(self, last: Any, key: Any) -> Any:
        return last.replace(x=last.x * self.kept)


@expect("parameter-derived")
class DerivedWithPrefix(Line):
    """A derived field whose name begins with that of its source."""

    speed_squared: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "speed_squared", self.speed**2)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x * self.speed_squared


@expect("pickle-fails")
class LambdaField(Line):
    """A field that is a lambda."""

    shape: Any = funcenv.field(pytree_node=False, default=lambda x: x)


@expect("parameter-unannotated")
class MisspelledTrait(Line):
    """A class attribute that is nearly the name of a trait."""

    diferentiable = True


@expect("parameter-unannotated")
class ForgottenAnnotation(Line):
    """A class attribute that looks like a parameter."""

    wind = 0.01

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x + self.wind
