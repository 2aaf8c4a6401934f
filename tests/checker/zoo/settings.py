"""Broken under another setting of JAX, under a transformation, or away from home."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

import funcenv
from funcenv.scene import Camera, Circle, Scene, rgba

from .line import Line, Point, gives


@jax.custom_batching.custom_vmap
def _centred(x: jax.Array) -> jax.Array:
    return x


@_centred.def_vmap
def _centred_batch(axis_size: int, in_batched: Any, x: jax.Array) -> Any:
    return x - x.mean(), in_batched[0]


@gives("vmap-differs")
class LooksAtNeighbours(Line):
    """It subtracts the mean over the batch."""

    differentiable = False

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return _centred(next_state.x)


@gives("vmap-differs")
class StartsAmongNeighbours(Line):
    """It starts relative to the others in its batch."""

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


@gives("vmap-fails")
class CannotBatch(Line):
    """It refuses large batches."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return _alone(next_state.x)


@gives("dtype-promotion")
class MixedDtypes(Line):
    """An integer times a float."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=jnp.clip(state.x + self.speed * (2 * action - 1), -1.0, 1.0))


@gives("rank-promotion")
class MixedRanks(Line):
    """A vector plus a matrix."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return (next_state.x[None] + jnp.zeros((2, 2))).sum()


@gives("x64-drift")
class NarrowUnderX64(Line):
    """Its second state is always float32."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=super().transition(state, action, key).x.astype(jnp.float32))


@gives("x64-dtype")
class ObservationFollowsX64(Line):
    """Its observation is wider than its space."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x[None]


@gives("x64-fails")
class FailsUnderX64(Line):
    """It multiplies by a float32, whatever the state is."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return super().transition(Point(x=jax.lax.mul(state.x, jnp.float32(0.5))), action, key)


@gives("pickle-fails")
class LambdaField(Line):
    """A function without a name as a field."""

    shape: Any = funcenv.field(pytree_node=False, default=lambda x: x)


@gives("scene-fails")
class BrokenScene(Line):
    """Its picture needs a number."""

    def scene(self, state: Any) -> Any:
        return float(state.x)


@gives("scene-fails")
class ChangingScene(Line):
    """It leaves out a shape where there is nothing to show."""

    def scene(self, state: Any) -> Any:
        dot = Circle((state.x, 0.0), 0.1, rgba("#203040"))
        return Scene(Camera((0.0, 0.0), 2.0, 2.0), (dot, dot) if state.x > 0 else (dot,))


@gives("scene-fails")
class TransparentScene(Line):
    """A colour without an opacity."""

    def scene(self, state: Any) -> Any:
        return Scene(Camera((0.0, 0.0), 2.0, 2.0), (Circle((state.x, 0.0), 0.1, (1.0, 0.0, 0.0)),))


@gives("scene-fails")
class NoScene(Line):
    """Shapes without a scene around them."""

    def scene(self, state: Any) -> Any:
        return (Circle((state.x, 0.0), 0.1, rgba("#203040")),)
