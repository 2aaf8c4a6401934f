"""Broken in what the functions are and return: seen without running them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

import funcenv
from funcenv.spaces import Box

from .line import Line, Point, gives


@gives("space-missing")
class NoSpace(Line):
    """Its observation space is a string."""

    observation_space = "a line"


@gives("function-missing")
class NoDynamics(Line):
    """It has no transition."""

    transition = funcenv.FuncEnv.transition


@gives("function-fails")
class WrongAttribute(Line):
    """It reads a field that the state does not have."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.y


@gives("not-traceable")
class PythonBranch(Line):
    """Python chooses a branch by the action."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x if action == 1 else -state.x)


@gives("flag-not-bool")
class FloatFlag(Line):
    """Done is 0.0 or 1.0."""

    def terminal(self, state: Any) -> Any:
        return (state.x >= 1).astype(float)


@gives("flag-not-scalar")
class VectorFlag(Line):
    """A flag with an axis."""

    def truncated(self, state: Any) -> Any:
        return state.x[None] >= 1


@gives("reward-not-scalar")
class VectorReward(Line):
    """A reward with an axis."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x[None]


@gives("reward-not-float")
class IntegerReward(Line):
    """It pays in integers."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return jnp.where(self.speed > 1, 2, 1)


@gives("info-not-dict")
class ListInfo(Line):
    """Its info is a list."""

    def state_info(self, state: Any) -> Any:
        return [state.x]


@gives("info-clash")
class InfoClash(Line):
    """Both infos use one name."""

    def state_info(self, state: Any) -> Any:
        return {"age": state.x}

    def transition_info(self, state: Any, action: Any, next_state: Any) -> Any:
        return {"age": jnp.zeros((), jnp.int32)}


@gives("reset-fails", "step-fails")
class InfoOfMixedNames(Line):
    """The names of its infos cannot be sorted, as JAX sorts them."""

    def state_info(self, state: Any) -> Any:
        return {0: state.x}

    def transition_info(self, state: Any, action: Any, next_state: Any) -> Any:
        return {"age": jnp.zeros((), jnp.int32)}


@gives("observation-kind")
class WideObservation(Line):
    """Two numbers where its space has one."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return jnp.stack([state.x, state.x]).astype(jnp.float32)


@gives("observation-kind")
class IntegerObservation(Line):
    """Integers where its space has floats."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x[None].astype(jnp.int32)


@gives("observation-kind")
class TupleObservation(Line):
    """A tuple where its space has an array."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return (state.x[None].astype(jnp.float32),)


class BrokenSampleSpace(Box):
    """A box that draws nothing."""

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Any:
        raise RuntimeError("no generator")


@gives("space-broken")
class BrokenSpace(Line):
    """Its space cannot draw a member."""

    @property
    def observation_space(self) -> Any:
        return BrokenSampleSpace(-1.0, 1.0, (1,))


@gives("state-drift")
class DtypeDrift(Line):
    """Integers at first, floats from then on."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=jax.random.randint(key, (), 0, 1))

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x * jnp.float32(0.5))


@gives("state-drift")
class ShapeDrift(Line):
    """An axis at first, none from then on."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=jax.random.uniform(key, (1,)))

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x.reshape(1).astype(jnp.float32)

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x.reshape(()))

    def terminal(self, state: Any) -> Any:
        return jnp.zeros((), bool)


@gives("state-drift")
class StructureDrift(Line):
    """A tuple from the second state on."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=(state.x,))

    def observation(self, state: Any, key: jax.Array) -> Any:
        return jax.tree.leaves(state)[0][None].astype(jnp.float32)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return -1.0

    def terminal(self, state: Any) -> Any:
        return jnp.zeros((), bool)


@gives("state-weak-type")
class WeakState(Line):
    """It starts from a Python number."""

    fixed_start = True

    def initial(self, key: jax.Array) -> Any:
        return Point(x=0.5)
