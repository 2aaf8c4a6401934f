"""A debug mode: report a bad action, a NaN, or a step after the end from inside compiled code, with its cause.

JAX cannot raise from inside `jit` or `scan`, but `jax.experimental.checkify` can return the first error of a program
beside its results. `checked(env)` adds the checks:

    env = funcenv.checked(funcenv.make("CartPole-v1"))
    step = jax.jit(checkify.checkify(env.step))
    error, (state, timestep) = step(state, action, key)
    error.throw()           # raises, with the message of the first check that failed

`checkify.checkify` works for everything that steps the environment, `rollout` included. The message does not say which
row of a batch failed. JAX refuses to compile a checked environment without `checkify`. Outside of `jit`, a check that
fails raises at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import checkify

from funcenv.func_env import Action, FuncEnv, Obs
from funcenv.struct import field
from funcenv.wrappers import Wrapper
from funcenv.wrappers.base import resetting_layer


class Checked(Wrapper[Any, Action, Obs]):
    """An environment with the checks of `checked` in `initial` and `transition`."""

    after_end: bool = field(pytree_node=False, default=True)

    def initial(self, key: jax.Array) -> Any:
        """Return the first state; check that it holds no NaN."""
        state = self.env.initial(key)
        for name, leaf in _float_leaves(state):
            checkify.check(~jnp.isnan(leaf).any(), f"state{name} is NaN after a reset: {{value}}", value=leaf)
        return state

    def transition(self, state: Any, action: Action, key: jax.Array) -> Any:
        """Return the next state; check the action, that the episode has not ended, and that there is no NaN."""
        leaves = _leaves(action)
        values: dict[str, Any] = {f"action_{i}": leaf for i, (_, leaf) in enumerate(leaves)}
        shown = ", ".join(f"{name} = {{action_{i}}}".removeprefix(" = ") for i, (name, _) in enumerate(leaves))
        is_member = self.action_space.contains(action)
        checkify.check(is_member, f"action {shown} is not in {_escape_braces(self.action_space)}", **values)
        if self.after_end:
            terminal, truncated = self.env.terminal(state), self.env.truncated(state)
            message = "a step was taken after the end of an episode (terminal: {terminal}, truncated: {truncated}): "
            message += "reset first"
            checkify.check(~(terminal | truncated), message, terminal=terminal, truncated=truncated)
        next_state = self.env.transition(state, action, key)
        for (name, before), (_, after) in zip(_float_leaves(state), _float_leaves(next_state), strict=True):
            message = f"state{name} is NaN: {{after}}, was {{before}} before action {shown}"
            checkify.check(~jnp.isnan(after).any(), message, after=after, before=before, **values)
        return next_state


def checked(env: FuncEnv[Any, Action, Obs], *, after_end: bool = True) -> Checked[Action, Obs]:
    """Add checks that report errors from compiled code; states and time steps stay the same.

    Every action must be a member of `action_space`; no step may be taken after the end of an episode; and no state may
    hold a NaN (the message names the leaf, its value before, and the action). The first check that fails is reported.
    Apply `checked` after all wrappers and before `FuncVectorEnv`.

    Args:
        env: the environment.
        after_end: whether a step after the end is an error. Pass False for `evaluate` and for the autoreset modes
            NEXT_STEP and DISABLED, which step environments that have ended and discard the results. An environment
            that resets itself (`Autoreset`) has no end and needs no False.

    Returns:
        The environment with checks, to be compiled inside `checkify.checkify`.

    >>> import funcenv, jax
    >>> from jax.experimental import checkify
    >>> env = checked(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> error, _ = jax.jit(checkify.checkify(env.step))(state, 7, funcenv.key(1))
    >>> error.get()
    'action 7 is not in Discrete(2) (`check` failed)'
    """
    return Checked(env, after_end=after_end and resetting_layer(env) is None)


def _leaves(tree: Any) -> list[tuple[str, jax.Array]]:
    """Return the leaves with their names, which can be part of a format string."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [(_escape_braces(jax.tree_util.keystr(path)), jnp.asarray(leaf)) for path, leaf in leaves]


def _float_leaves(tree: Any) -> list[tuple[str, jax.Array]]:
    return [(name, leaf) for name, leaf in _leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]


def _escape_braces(text: Any) -> str:
    return str(text).replace("{", "{{").replace("}", "}}")
