"""The sound environment that the broken ones vary, and the list of all of them with the findings to expect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

import funcenv
from funcenv.spaces import Box, Discrete

Class = TypeVar("Class", bound=type)

BROKEN_ENVS: list[tuple[type, tuple[str, ...]]] = []


def expect(*codes: str) -> Callable[[Class], Class]:
    """Add a class to `BROKEN_ENVS`: the checker must report exactly these codes."""

    def add(cls: Class) -> Class:
        BROKEN_ENVS.append((cls, codes))
        return cls

    return add


class Point(funcenv.PyTreeNode):
    """The position of the point."""

    x: Any


@expect()
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
