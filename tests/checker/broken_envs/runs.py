"""Environments whose defects show only when they run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.host import host_call
from funcenv.spaces import Box, Discrete

from .line import Line, Point, expect


@expect("observation-outside-space")
class Escapes(Line):
    """A state that leaves the space."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x + jnp.where(action == 1, self.speed, -self.speed))


@expect("noise-bounds")
class NoisyBetweenBounds(Line):
    """A transition that uses all of its noise, where only a comparison is declared."""

    noise_bounds = (0.5,)

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        push = jnp.where(action == 1, self.speed, -self.speed)
        return Point(x=jnp.clip(state.x + push * jax.random.uniform(key, (), float), -1.0, 1.0))


@expect()
class NoisyBeyondBounds(Line):
    """A transition that compares its noise with what is declared."""

    noise_bounds = (0.5,)

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        is_pushed = (action == 1) & (jax.random.uniform(key, (), float) >= 0.5)
        return Point(x=jnp.clip(state.x + jnp.where(is_pushed, self.speed, -self.speed), -1.0, 1.0))


@expect("observation-outside-space")
class StartsOutside(Line):
    """A first state outside of the space."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=jax.random.uniform(key) + 2)

    def terminal(self, state: Any) -> Any:
        return state.x < -1


@expect("not-finite")
class DividesByZero(Line):
    """A division of 0 by 0 for one action."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=jnp.clip(state.x + 0.0 / jnp.where(action == 1, self.speed, 0.0), -1.0, 1.0))

    @property
    def observation_space(self) -> Any:
        return Box(-np.inf, np.inf, (1,))


@expect("reward-not-finite")
class InfiniteReward(Line):
    """A reward of minus infinity for one action."""

    differentiable = False

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return jnp.where(action == 1, -jnp.inf, 0.0)


@expect("starts-ended")
class StartsEnded(Line):
    """First states that are often terminal."""

    def terminal(self, state: Any) -> Any:
        return state.x < 0.25


@expect("gradient-not-finite")
class RootOfZero(Line):
    """A reward with an infinite derivative, that of a root at 0."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return jnp.sqrt(jnp.maximum(state.x * 0, 0))


@expect("gradient-not-finite")
class PromisesGradients(RootOfZero):
    """The same derivative, in an environment that declares `differentiable = True`."""

    differentiable = True


@expect("gradient-fails")
class LoopsWithoutGradient(Line):
    """A loop that has no reverse-mode derivative."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        moved = super().transition(state, action, key)
        return Point(x=jax.lax.while_loop(lambda x: x > 0.9, lambda x: x - 0.1, moved.x))


@expect("action-undefined")
class BlowsUp(Line):
    """A state that is NaN after an action outside the space."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        moved = super().transition(state, action, key)
        return Point(x=jnp.where(action > 1, jnp.nan, moved.x))


@expect("action-undefined")
class UnclippedForce(Line):
    """An observation that leaves its space after an action outside the space."""

    @property
    def action_space(self) -> Any:
        return Box(-0.1, 0.1, ())

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x * 0.5 + self.speed * action.astype(state.x.dtype))


def _checked(action: Any) -> Any:
    if action.max() > 1:
        raise ValueError("no such action")
    return action


@expect("action-undefined")
class RaisesOnTheHost(Line):
    """A simulator that raises an exception at an action outside the space."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        action = jnp.asarray(action)
        checked = host_call(_checked, jax.ShapeDtypeStruct(action.shape, action.dtype), action)
        return super().transition(state, checked, key)


@expect("end-undefined")
class BreaksAfterTheEnd(Line):
    """A state that is NaN after the end of the episode."""

    differentiable = False

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        moved = super().transition(state, action, key)
        return Point(x=jnp.where(self.terminal(state), jnp.nan, moved.x))


class EmptySpace(Discrete):
    """A space that draws 0 but does not contain it."""

    def contains(self, x: Any) -> Any:
        return super().contains(x) & (x > 0)


@expect("action-outside-space")
class DrawsNonMembers(Line):
    """An action space that draws actions which it does not contain."""

    @property
    def action_space(self) -> Any:
        return EmptySpace(2)


@expect("action-outside-space")
class TooFar(funcenv.Wrapper[Any, Any, Any]):
    """A wrapper that declares three actions around an environment with two."""

    env: Any = Line()

    @property
    def action_space(self) -> Any:
        return Discrete(3)


@jax.custom_batching.custom_vmap
def _centred(x: jax.Array) -> jax.Array:
    return x


@_centred.def_vmap
def _centred_batch(axis_size: int, in_batched: Any, x: jax.Array) -> Any:
    return x - x.mean(), in_batched[0]


@expect("vmap-differs")
class SubtractsBatchMean(Line):
    """A reward minus its mean over the batch."""

    differentiable = False

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return _centred(next_state.x)


@expect("vmap-differs")
class StartsRelativeToBatch(Line):
    """A first state minus its mean over the batch."""

    differentiable = False

    def initial(self, key: jax.Array) -> Any:
        return Point(x=_centred(super().initial(key).x))


@jax.custom_batching.custom_vmap
def _alone(x: jax.Array) -> jax.Array:
    return x


@_alone.def_vmap
def _alone_batch(axis_size: int, in_batched: Any, x: jax.Array) -> Any:
    if axis_size > 2:
        raise RuntimeError("one at a time")
    return x, in_batched[0]


@expect("vmap-fails")
class CannotBatch(Line):
    """A reward that refuses large batches."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return _alone(next_state.x)
