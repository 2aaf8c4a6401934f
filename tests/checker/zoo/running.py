"""Broken in their numbers: seen only by running them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.spaces import Box, Discrete

from .line import Line, Point, gives


@gives("observation-outside-space")
class Escapes(Line):
    """It walks out of its space."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x + jnp.where(action == 1, self.speed, -self.speed))


@gives("observation-outside-space")
class StartsOutside(Line):
    """It starts out of its space."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=jax.random.uniform(key) + 2)

    def terminal(self, state: Any) -> Any:
        return state.x < -1


@gives("not-finite")
class DividesByZero(Line):
    """0 / 0 for one of the actions."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=jnp.clip(state.x + 0.0 / jnp.where(action == 1, self.speed, 0.0), -1.0, 1.0))

    @property
    def observation_space(self) -> Any:
        return Box(-np.inf, np.inf, (1,))


@gives("reward-not-finite")
class InfiniteReward(Line):
    """One action costs everything."""

    differentiable = False

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return jnp.where(action == 1, -jnp.inf, 0.0)


@gives("starts-ended")
class StartsEnded(Line):
    """Many of its episodes are over before they begin."""

    def terminal(self, state: Any) -> Any:
        return state.x < 0.25


@gives("gradient-not-finite")
class RootOfZero(Line):
    """The derivative of a root at 0."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return jnp.sqrt(jnp.maximum(state.x * 0, 0))


@gives("gradient-not-finite")
class PromisesGradients(RootOfZero):
    """The same, with a promise."""

    differentiable = True


@gives("gradient-fails")
class LoopsWithoutGradient(Line):
    """A loop that reverse mode cannot undo."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        moved = super().transition(state, action, key)
        return Point(x=jax.lax.while_loop(lambda x: x > 0.9, lambda x: x - 0.1, moved.x))


@gives("action-undefined")
class BlowsUp(Line):
    """An unknown action breaks it."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        moved = super().transition(state, action, key)
        return Point(x=jnp.where(action > 1, jnp.nan, moved.x))


@gives("action-undefined")
class UnclippedForce(Line):
    """An unknown action carries it out of its space."""

    @property
    def action_space(self) -> Any:
        return Box(-0.1, 0.1, ())

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x * 0.5 + self.speed * action.astype(state.x.dtype))


@gives("end-undefined")
class BreaksAfterTheEnd(Line):
    """It knows nothing after the end."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        moved = super().transition(state, action, key)
        return Point(x=jnp.where(self.terminal(state), jnp.nan, moved.x))


class EmptySpace(Discrete):
    """It draws 0, which it does not contain."""

    def contains(self, x: Any) -> Any:
        return super().contains(x) & (x > 0)


@gives("action-outside-space")
class DrawsStrangers(Line):
    """Its actions are not in its action space."""

    @property
    def action_space(self) -> Any:
        return EmptySpace(2)


@gives("action-outside-space")
class TooFar(funcenv.Wrapper[Any, Any, Any]):
    """Promises three actions of an environment that has two."""

    env: Any = Line()

    @property
    def action_space(self) -> Any:
        return Discrete(3)
