"""Environments that fail with strict promotion or with 64-bit numbers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .line import Line, Point, expect


@expect("dtype-promotion")
class MixedDtypes(Line):
    """A product of an integer and a float."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=jnp.clip(state.x + self.speed * (2 * action - 1), -1.0, 1.0))


@expect("rank-promotion")
class MixedRanks(Line):
    """A sum of a vector and a matrix."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return (next_state.x[None] + jnp.zeros((2, 2))).sum()


@expect("x64-drift")
class NarrowUnderX64(Line):
    """A transition that always returns float32."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=super().transition(state, action, key).x.astype(jnp.float32))


@expect("x64-dtype")
class ObservationFollowsX64(Line):
    """An observation that has the dtype of the state, which x64 changes."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x[None]


@expect("x64-fails")
class FailsUnderX64(Line):
    """A multiplication by a float32, whatever the dtype of the state."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return super().transition(Point(x=jax.lax.mul(state.x, jnp.float32(0.5))), action, key)
