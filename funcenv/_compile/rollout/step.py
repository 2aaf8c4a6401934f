"""One step of playing: act, step every environment, keep totals. The same for every way to run it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.lazy_reset import (
    no_rows,
    replace_rows_in_turn,
    step_before_resets,
    with_flagged,
)
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep, call_key

_BLOCK = 16  # resets together; the lanes of a 512-bit register
_SMALL_BLOCK = 4  # in a small batch, where more than one end at a step is rare
_SMALL = 64


class Play(NamedTuple):
    """What is kept of a game beside the environments' states: totals, with a leading axis `[num_envs]`.

    All functions are made of operations on each environment by itself.
    """

    start: Callable[[FuncVectorEnv[Any, Any, Any], VectorState[Any]], Any]  # the totals before the first step
    add: Callable[[VectorTimestep[Any], Any], Any]  # the totals after a time step, from those before
    over: Callable[[Any], jax.Array] | None = None  # from the totals: whether there is nothing left to play
    idle_without_ends: bool = False  # whether `add` changes nothing where no episode ended


class Policy(NamedTuple):
    """A policy is a plain function, which is a part of a program, or a pytree, which is an argument."""

    function: Callable[[Any, jax.Array], Any] | None
    tree: Any

    @classmethod
    def of(cls, policy: Any) -> Policy:
        """From what users pass."""
        return cls(policy, None) if jax.tree_util.all_leaves([policy]) else cls(None, policy)

    def actions(self, observation: Any, policy_keys: jax.Array, number: jax.Array) -> Any:
        """What it does in every environment.

        Args:
            observation: what the environments show, `[num_envs, ...]`.
            policy_keys: of each environment.
            number: of the step, a uint32.
        """
        return _actions(self.function, self.tree, observation, policy_keys, number)

    def act(self, observation: Any, policy_key: jax.Array, number: jax.Array) -> Any:
        """What it does in one environment."""
        act: Any = self.function or self.tree
        key_of_step = getattr(act, "key_of_step", call_key)
        return act(observation, key_of_step(policy_key, number))

    def looks(self, observation: Any, policy_keys: jax.Array) -> bool:
        """Whether what it does depends on what it is shown, as far as is easy to see; arguments of a batch.

        >>> policy = Policy.of(lambda observation, key: observation > 0)
        >>> policy.looks(jax.numpy.zeros(3), jax.random.split(jax.random.key(0), 3))
        True
        """
        kinds = jax.tree.map(jax.typeof, (observation, policy_keys))
        shape_of: Any = jax.ShapeDtypeStruct  # for which JAX has no types
        single = jax.tree.map(lambda kind: shape_of(kind.shape[1:], kind.dtype), kinds)
        jaxpr = jax.make_jaxpr(self.act)(*single, shape_of((), np.uint32)).jaxpr
        used = [*jaxpr.outvars, *(variable for equation in jaxpr.eqns for variable in equation.invars)]
        seen = jaxpr.invars[: len(jax.tree.leaves(observation))]
        return any(variable in seen for variable in used)


def advance(
    play: Play,
    venv: FuncVectorEnv[Any, Any, Any],
    policy: Policy,
    carry: tuple[VectorState[Any], Any, Any],
    policy_keys: jax.Array,
    number: jax.Array,
    one_function: bool = False,
    unseen: bool = False,
) -> tuple[tuple[VectorState[Any], Any, Any], tuple[VectorTimestep[Any], Any]]:
    """Step number `number`.

    Args:
        play: the totals.
        venv: the environments.
        policy: of one environment.
        carry: the vector state, what the environments show, and the totals.
        policy_keys: of each environment.
        number: of the step, a uint32.
        one_function: whether the program becomes one function (`funcenv._compile.single_kernel`), where short loops cost nothing.
        unseen: whether nobody, the policy included, looks at what the environments show. It is then not kept up to date
            in a program that becomes one function, where XLA does not find out by itself.

    Returns:
        The next carry; the time step and the actions.
    """
    vstate, observation, totals = carry
    actions = policy.actions(observation, policy_keys, number)
    if not one_function:
        vstate, timestep = _step(venv, vstate, actions)
        return (vstate, timestep.observation, play.add(timestep, totals)), (timestep, actions)
    vstate, timestep, any_ended = _step_in_one(venv, vstate, actions, unseen)
    if play.idle_without_ends and venv.autoreset_mode is not AutoresetMode.DISABLED:  # there, ended is ended for long
        totals = _add_where_any_ended(play, timestep, totals, any_ended)
    else:
        totals = play.add(timestep, totals)
    return (vstate, observation if unseen else timestep.observation, totals), (timestep, actions)


def _add_where_any_ended(play: Play, timestep: VectorTimestep[Any], totals: Any, any_ended: jax.Array) -> Any:
    """The totals after a time step, which stay as they are where no episode ended.

    All environments are gone through, even for a single end: to find the places of its totals costs as much as that. A
    loop that runs once or not at all changes them in place, which a branch may not.
    """
    times = any_ended.astype(jnp.int32)
    return jax.lax.fori_loop(0, times, lambda _, totals: play.add(timestep, totals), totals)


# Traced once for arguments of one kind, however many programs they become a part of.


@functools.partial(jax.jit, static_argnums=0, inline=True)
def _actions(function: Any, tree: Any, observation: Any, policy_keys: jax.Array, number: jax.Array) -> Any:
    return jax.vmap(Policy(function, tree).act, in_axes=(0, 0, None))(observation, policy_keys, number)


@functools.partial(jax.jit, inline=True)
def _step(venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any], actions: Any) -> Any:
    return venv.step(vstate, actions)


def _step_in_one(
    venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any], actions: Any, unseen: bool
) -> tuple[VectorState[Any], VectorTimestep[Any], jax.Array]:
    """A step, and whether an episode ended in it."""
    if venv.reset_strategy == "select" or venv.autoreset_mode is AutoresetMode.DISABLED:
        vstate, timestep = venv.step(vstate, actions)
        return vstate, timestep, timestep.done.any()
    block = min(_BLOCK if venv.num_envs > _SMALL else _SMALL_BLOCK, venv.num_envs)
    step = step_before_resets(venv, vstate, actions)
    if unseen:
        step = step._replace(names=tuple(name for name in step.names if name not in ("observation", "info")))
    listed = with_flagged(no_rows(venv.num_envs, block), step.anew)
    replaced = replace_rows_in_turn(step.anew, step.overwritten(), step.fresh, block, listed)
    same_step = venv.autoreset_mode is AutoresetMode.SAME_STEP  # what begins anew has just ended, and is listed
    return *step.finished(*replaced), listed.length > 0 if same_step else step.timestep.done.any()
