"""A debug mode: report a bad action, a NaN, or a step after the end from inside compiled code, with its cause.

JAX cannot raise from inside `jit` or `scan`. `jax.experimental.checkify` can collect the first error of a program and
hand it out beside the results, and `checked(env)` puts the checks in place:

    env = funcenv.checked(funcenv.make("CartPole-v1"))
    step = jax.jit(checkify.checkify(env.step))
    error, (state, timestep) = step(state, action, key)
    error.throw()           # raises, with the message of the first check that failed

Everything that steps the environment can be wrapped by `checkify.checkify` likewise, `rollout` included; of a batch,
the message does not say which row it was. Compiled without `checkify`, JAX refuses a checked environment. Called
plainly, outside of `jit`, a check that fails raises at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import checkify

from funcenv.func_env import Action, FuncEnv, Obs
from funcenv.struct import field
from funcenv.wrappers import Wrapper
from funcenv.wrappers.base import layers


class Checked(Wrapper[Any, Action, Obs]):
    """The environment with checks in `initial` and `transition`; `checked` says which."""

    after_end: bool = field(pytree_node=False, default=True)

    def initial(self, key: jax.Array) -> Any:
        """The first state, which holds no NaN."""
        state = self.env.initial(key)
        for path, leaf in _floats(state):
            checkify.check(~jnp.isnan(leaf).any(), f"state{path} is NaN after a reset: {{value}}", value=leaf)
        return state

    def transition(self, state: Any, action: Action, key: jax.Array) -> Any:
        """The inner transition of a member of the action space, in an episode that goes on, to a state without NaN."""
        shown, values = _shown(action)
        inside = self.action_space.contains(action)
        checkify.check(inside, f"action {shown} is not in {_literal(self.action_space)}", **values)
        if self.after_end:
            _require_going_on(self.env.terminal(state), self.env.truncated(state))
        next_state = self.env.transition(state, action, key)
        for (path, before), (_, after) in zip(_floats(state), _floats(next_state), strict=True):
            message = f"state{path} is NaN: {{after}}, was {{before}} before action {shown}"
            checkify.check(~jnp.isnan(after).any(), message, after=after, before=before, **values)
        return next_state


def checked(env: FuncEnv[Any, Action, Obs], *, after_end: bool = True) -> Checked[Action, Obs]:
    """The environment in debug mode: the same states and time steps, and errors for what has none in compiled code.

    Every action must be a member of `action_space`; no step may be taken after the end of an episode; and no state may
    hold a NaN (the message names the leaf, its value before, and the action). The first failure in a program is the one
    that is reported. Put it outermost, around all wrappers; around it comes `FuncVectorEnv`.

    Args:
        env: the environment.
        after_end: whether a step after the end is an error. Pass False for `evaluate` and for the autoreset modes
            NEXT_STEP and DISABLED, which step environments that have ended and discard what they get. An environment
            that begins new episodes by itself (`Autoreset`) has no end, and needs no False.

    >>> import funcenv, jax
    >>> from jax.experimental import checkify
    >>> env = checked(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> error, _ = jax.jit(checkify.checkify(env.step))(state, 7, funcenv.key(1))
    >>> error.get()
    'action 7 is not in Discrete(2) (`check` failed)'
    """
    resets_itself = any(isinstance(layer, Wrapper) and layer.resets_itself for layer in layers(env))
    return Checked(env, after_end=after_end and not resets_itself)


def _require_going_on(terminal: jax.Array, truncated: jax.Array) -> None:
    checkify.check(
        ~(terminal | truncated),
        "a step was taken after the end of an episode (terminal: {terminal}, truncated: {truncated}): reset first",
        terminal=terminal,
        truncated=truncated,
    )


def _floats(tree: Any) -> list[tuple[str, jax.Array]]:
    """The leaves that can be NaN, with their paths."""
    leaves = [(_name(path), jnp.asarray(leaf)) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]
    return [(name, leaf) for name, leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)]


def _shown(action: Any) -> tuple[str, dict[str, Any]]:
    """A format for an action, and its leaves by name."""
    leaves = jax.tree_util.tree_leaves_with_path(action)
    parts = [f"{_name(path)} = {{action_{i}}}".removeprefix(" = ") for i, (path, _) in enumerate(leaves)]
    return ", ".join(parts), {f"action_{i}": jnp.asarray(leaf) for i, (_, leaf) in enumerate(leaves)}


def _name(path: Any) -> str:
    return _literal(jax.tree_util.keystr(path))


def _literal(text: Any) -> str:
    """Text as it must stand in a format."""
    return str(text).replace("{", "{{").replace("}", "}}")
