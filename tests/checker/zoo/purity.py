"""Impure, or careless with keys."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .line import Line, Point, gives

_calls = [0]
_kept: dict[str, Any] = {}


@gives("key-reuse")
class KeyUsedTwice(Line):
    """Two draws from one key."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=0.5 * jax.random.uniform(key) - 0.5 * jax.random.uniform(key))


@gives("key-in-state")
class KeyInState(Line):
    """It keeps its key."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=(jnp.zeros(()), key))

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return state

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x[0][None]

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x[0] * self.speed

    def terminal(self, state: Any) -> Any:
        return state.x[0] > 1


@gives("key-ignored")
class IgnoresKey(Line):
    """It draws, and throws the draw away."""

    def initial(self, key: jax.Array) -> Any:
        jax.random.uniform(key)
        return Point(x=jnp.zeros((), float))


@gives("impure-trace")
class Counter(Line):
    """It counts its calls in a global."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        _calls[0] += 1
        return super().transition(Point(x=state.x * (1 + 1e-3 * _calls[0])), action, key)


@gives("impure-trace")
class Clock(Line):
    """It pays by the clock."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x + time.perf_counter()


@gives("tracer-leak")
class KeepsState(Line):
    """It keeps the last state in a global."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        _kept["state"] = super().transition(state, action, key)
        return _kept["state"]


@gives("impure-result")
class CallsPython(Line):
    """It asks Python for every reward."""

    differentiable = False

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        def draw(x: Any) -> Any:
            _calls[0] += 1
            return np.float32(_calls[0])

        return jax.pure_callback(draw, jax.ShapeDtypeStruct((), np.float32), next_state.x, vmap_method="sequential")


@gives("jit-differs")
class AsksWhetherTraced(Line):
    """It pays more when compiled."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x + float(isinstance(next_state.x, jax.core.Tracer))


@gives("jit-differs")
class TracedOnly(Line):
    """It refuses to be called plainly."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        if not isinstance(state.x, jax.core.Tracer):
            raise RuntimeError("call me under jit")
        return super().observation(state, key)
