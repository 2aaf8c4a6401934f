"""Stand-ins for what has not happened yet: the zero of a space, and the outcome of no step."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import FuncEnv
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from funcenv.wrappers.single import abstract


@functools.singledispatch
def zero(space: Space[Any]) -> Any:
    """The member of a space that is closest to zero, as Gymnasium pads with: the smallest of a `Discrete`.

    Raises:
        TypeError: a kind of space that Gymnasium has no zero for.

    >>> from funcenv.spaces import Box, Discrete
    >>> zero(Box(1, 3, (2,))), zero(Discrete(3, start=-1))
    (Array([1., 1.], dtype=float32), Array(-1, dtype=int32))
    """
    raise TypeError(f"no member of {space!r} stands for zero; pad with a member of your own choice")


@zero.register(Box)
def _(space: Box) -> jax.Array:
    return jnp.clip(jnp.zeros(space.shape, space.dtype), jnp.asarray(space.low), jnp.asarray(space.high))


@zero.register(Discrete)
def _(space: Discrete) -> jax.Array:
    return jnp.asarray(space.start, space.dtype)


@zero.register(MultiDiscrete)
def _(space: MultiDiscrete) -> jax.Array:
    return jnp.asarray(space.start, space.dtype)


@zero.register(MultiBinary)
def _(space: MultiBinary) -> jax.Array:
    return jnp.zeros(space.shape, space.dtype)


@zero.register(Tuple)
def _(space: Tuple) -> tuple[Any, ...]:
    return tuple(zero(entry) for entry in space.spaces)


@zero.register(Dict)
def _(space: Dict) -> dict[Any, Any]:
    return {name: zero(entry) for name, entry in space.spaces.items()}


def no_outcome(env: FuncEnv[Any, Any, Any], env_state: Any) -> tuple[jax.Array, dict[str, Any]]:
    """A reward of 0 and zeros for `transition_info`, of the types that a step from this state gives.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> no_outcome(env, env.initial(funcenv.key(0)))
    (Array(0., dtype=float32), {})
    """

    def outcome(env_state: Any, action: Any) -> Any:
        both = env.reward(env_state, action, env_state), env.transition_info(env_state, action, env_state)
        return jax.tree.map(jnp.asarray, both)

    return zeros_of(jax.eval_shape(outcome, env_state, abstract(env.action_space)))


def zeros_of(shapes: Any) -> Any:
    """Zeros for a pytree of arrays or of `jax.ShapeDtypeStruct`s.

    >>> zeros_of(jax.ShapeDtypeStruct((2,), bool))
    Array([False, False], dtype=bool)
    """
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
