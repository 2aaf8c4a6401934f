"""The sound original, and how its broken variants say what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

import funcenv
from funcenv.spaces import Box, Discrete

Class = TypeVar("Class", bound=type)

EXHIBITS: list[tuple[type, tuple[str, ...]]] = []


def gives(*codes: str) -> Callable[[Class], Class]:
    """Put a class on show: the checker must find exactly these problems."""

    def show(cls: Class) -> Class:
        EXHIBITS.append((cls, codes))
        return cls

    return show


class Point(funcenv.PyTreeNode):
    """Where the point is."""

    x: Any


@gives()
class Line(funcenv.FuncEnv[Point, Any, Any]):
    """A point between -1 and 1 that is pushed left or right; nothing is wrong with it."""

    speed: float = 0.1

    @property
    def observation_space(self) -> Any:
        return Box(-1.0, 1.0, (1,))

    @property
    def action_space(self) -> Any:
        return Discrete(2)

    def initial(self, key: jax.Array) -> Any:
        return Point(x=jax.random.uniform(key, (), float, -0.5, 0.5))

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=jnp.clip(state.x + jnp.where(action == 1, self.speed, -self.speed), -1.0, 1.0))

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x[None].astype(jnp.float32)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x

    def terminal(self, state: Any) -> Any:
        return jnp.abs(state.x) >= 1


def make_line() -> Line:
    return Line(speed=0.2)
