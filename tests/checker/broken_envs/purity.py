"""Environments that are impure or misuse keys."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .line import Line, Point, expect

_calls = [0]
_kept: dict[str, Any] = {}


@expect("key-reuse")
class KeyUsedTwice(Line):
    """Two draws from one key."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=0.5 * jax.random.uniform(key) - 0.5 * jax.random.uniform(key))


@expect("key-in-state")
class KeyInState(Line):
    """A state that holds its key."""

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


@expect("key-ignored")
class IgnoresKey(Line):
    """An initial state that does not use what it draws."""

    def initial(self, key: jax.Array) -> Any:
        jax.random.uniform(key)
        return Point(x=jnp.zeros((), float))


@expect("impure-trace")
class Counter(Line):
    """A transition that counts its calls in a global."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        _calls[0] += 1
        return super().transition(Point(x=state.x * (1 + 1e-3 * _calls[0])), action, key)


@expect("impure-trace")
class Clock(Line):
    """A reward that reads the clock."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x + time.perf_counter()


@expect("tracer-leak")
class KeepsState(Line):
    """A transition that stores the state in a global."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        _kept["state"] = super().transition(state, action, key)
        return _kept["state"]


@expect("impure-result")
class CallsPython(Line):
    """A reward computed by a callback to Python."""

    differentiable = False

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        def draw(x: Any) -> Any:
            _calls[0] += 1
            return np.float32(_calls[0])

        return jax.pure_callback(draw, jax.ShapeDtypeStruct((), np.float32), next_state.x, vmap_method="sequential")


@expect("jit-differs")
class AsksWhetherTraced(Line):
    """A reward that is higher when traced."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x + float(isinstance(next_state.x, jax.core.Tracer))


@expect("jit-differs")
class TracedOnly(Line):
    """An observation that raises outside of a trace."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        if not isinstance(state.x, jax.core.Tracer):
            raise RuntimeError("call me under jit")
        return super().observation(state, key)


@expect("argument-changed")
class ChangesItsState(Line):
    """A transition that writes into the dict that it is given."""

    def initial(self, key: jax.Array) -> Any:
        return {"x": super().initial(key).x}

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        state["x"] = super().transition(Point(**state), action, key).x
        return state

    def observation(self, state: Any, key: jax.Array) -> Any:
        return super().observation(Point(**state), key)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return super().reward(state, action, Point(**next_state))

    def terminal(self, state: Any) -> Any:
        return super().terminal(Point(**state))
