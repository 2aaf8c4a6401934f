"""A probe between the wrappers and the environment, which notes what actions reach it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from funcenv.func_env import FuncEnv
from funcenv.struct import PyTreeNode
from funcenv.wrappers import Wrapper


class ProbeState(PyTreeNode):
    """The state of the environment, and whether every action of the episode was a member of its action space."""

    env_state: Any
    inside: Bool[Array, ""]


class Probe(Wrapper[ProbeState, Any, Any]):
    """Stands around the innermost environment and changes nothing.

    >>> import funcenv
    >>> env = with_probe(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, _ = env.step(state, 7, funcenv.key(1))
    >>> bool(all_inside(state))
    False
    """

    def inner(self, state: ProbeState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> ProbeState:
        """The first state: no action yet."""
        return ProbeState(self.env.initial(key), jnp.ones((), bool))

    def transition(self, state: ProbeState, action: Any, key: jax.Array) -> ProbeState:
        """The inner transition."""
        inside = state.inside & self.env.action_space.contains(action)
        return ProbeState(self.env.transition(state.env_state, action, key), inside)


def with_probe(env: FuncEnv[Any, Any, Any]) -> FuncEnv[Any, Any, Any]:
    """The same stack of wrappers around a probe around the environment; without wrappers, the environment itself."""
    if not isinstance(env, Wrapper):
        return env
    return env.replace(env=with_probe(env.env) if isinstance(env.env, Wrapper) else Probe(env.env))


def without_probe(state: Any) -> Any:
    """A state of the stack as it was without a probe."""
    return jax.tree.map(lambda node: node.env_state if _is_probe(node) else node, state, is_leaf=_is_probe)


def all_inside(state: Any) -> jax.Array:
    """Whether all actions that reached the environment since the reset were members; True without a probe."""
    probes = [node.inside for node in jax.tree.leaves(state, is_leaf=_is_probe) if _is_probe(node)]
    return jnp.stack([jnp.ones((), bool), *probes]).all()


def _is_probe(node: Any) -> bool:
    return isinstance(node, ProbeState)
