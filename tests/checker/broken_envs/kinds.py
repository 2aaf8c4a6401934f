"""Environments whose functions are missing, do not trace, or return the wrong structure, shape or dtype."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

import funcenv
from funcenv.scene import Camera, Circle, Scene, rgba
from funcenv.spaces import Box

from .line import Line, Point, expect


@expect("space-missing")
class NoSpace(Line):
    """An observation space that is a string."""

    observation_space = "a line"


@expect("function-missing")
class NoDynamics(Line):
    """No transition."""

    transition = funcenv.FuncEnv.transition


@expect("function-fails")
class WrongAttribute(Line):
    """A reward that reads a field which the state does not have."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.y


@expect("not-traceable")
class PythonBranch(Line):
    """A Python branch on the action."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x if action == 1 else -state.x)


@expect("flag-not-bool")
class FloatFlag(Line):
    """A flag that is 0.0 or 1.0."""

    def terminal(self, state: Any) -> Any:
        return (state.x >= 1).astype(float)


@expect("flag-not-scalar")
class VectorFlag(Line):
    """A flag with an axis."""

    def truncated(self, state: Any) -> Any:
        return state.x[None] >= 1


@expect("reward-not-scalar")
class VectorReward(Line):
    """A reward with an axis."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return next_state.x[None]


@expect("reward-not-float")
class IntegerReward(Line):
    """An integer reward."""

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return jnp.where(self.speed > 1, 2, 1)


@expect("info-not-dict")
class ListInfo(Line):
    """An info that is a list."""

    def state_info(self, state: Any) -> Any:
        return [state.x]


@expect("info-clash")
class InfoClash(Line):
    """Two infos with an entry of the same name."""

    def state_info(self, state: Any) -> Any:
        return {"age": state.x}

    def transition_info(self, state: Any, action: Any, next_state: Any) -> Any:
        return {"age": jnp.zeros((), jnp.int32)}


@expect("reset-fails", "step-fails")
class InfoOfMixedNames(Line):
    """Infos whose names JAX cannot sort."""

    def state_info(self, state: Any) -> Any:
        return {0: state.x}

    def transition_info(self, state: Any, action: Any, next_state: Any) -> Any:
        return {"age": jnp.zeros((), jnp.int32)}


@expect("observation-kind")
class WideObservation(Line):
    """An observation of two numbers in a space of one."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return jnp.stack([state.x, state.x]).astype(jnp.float32)


@expect("observation-kind")
class IntegerObservation(Line):
    """An integer observation in a space of floats."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x[None].astype(jnp.int32)


@expect("observation-kind")
class TupleObservation(Line):
    """A tuple observation in a space of arrays."""

    def observation(self, state: Any, key: jax.Array) -> Any:
        return (state.x[None].astype(jnp.float32),)


class BrokenSampleSpace(Box):
    """A box whose `sample` raises."""

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Any:
        raise RuntimeError("no generator")


@expect("space-broken")
class BrokenSpace(Line):
    """An observation space whose `sample` raises."""

    @property
    def observation_space(self) -> Any:
        return BrokenSampleSpace(-1.0, 1.0, (1,))


@expect("state-drift")
class DtypeDrift(Line):
    """A state that is an integer after reset and a float afterwards."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=jax.random.randint(key, (), 0, 1))

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x * jnp.float32(0.5))


@expect("state-drift")
class ShapeDrift(Line):
    """A state that loses its axis in the first step."""

    def initial(self, key: jax.Array) -> Any:
        return Point(x=jax.random.uniform(key, (1,)))

    def observation(self, state: Any, key: jax.Array) -> Any:
        return state.x.reshape(1).astype(jnp.float32)

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=state.x.reshape(()))

    def terminal(self, state: Any) -> Any:
        return jnp.zeros((), bool)


@expect("state-drift")
class StructureDrift(Line):
    """A state that becomes a tuple in the first step."""

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return Point(x=(state.x,))

    def observation(self, state: Any, key: jax.Array) -> Any:
        return jax.tree.leaves(state)[0][None].astype(jnp.float32)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return -1.0

    def terminal(self, state: Any) -> Any:
        return jnp.zeros((), bool)


@expect("state-weak-type")
class WeakState(Line):
    """A first state that is a Python number."""

    fixed_start = True

    def initial(self, key: jax.Array) -> Any:
        return Point(x=0.5)


@expect("scene-fails")
class BrokenScene(Line):
    """A scene that converts a traced array to float."""

    def scene(self, state: Any) -> Any:
        return float(state.x)


@expect("scene-fails")
class ChangingScene(Line):
    """A scene with fewer shapes in some states."""

    def scene(self, state: Any) -> Any:
        dot = Circle((state.x, 0.0), 0.1, rgba("#203040"))
        return Scene(Camera((0.0, 0.0), 2.0, 2.0), (dot, dot) if state.x > 0 else (dot,))


@expect("scene-fails")
class TransparentScene(Line):
    """A scene with a color that has no opacity."""

    def scene(self, state: Any) -> Any:
        return Scene(Camera((0.0, 0.0), 2.0, 2.0), (Circle((state.x, 0.0), 0.1, (1.0, 0.0, 0.0)),))


@expect("scene-fails")
class NoScene(Line):
    """Shapes that are not in a `Scene`."""

    def scene(self, state: Any) -> Any:
        return (Circle((state.x, 0.0), 0.1, rgba("#203040")),)
