"""Whether a program compiled as one function does what the plain one does.

Steps are played one at a time by the program, and from the same states by a plain program that shares none of its
special compilation: until some episode has ended and begun anew, or a fair number of steps is over. Single steps are
compared because trajectories of a chaotic system that differ by a rounding part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv._compile.lazy_reset import take
from funcenv._compile.rollout.program import Outcome, Rules, Situation
from funcenv._compile.rollout.step import Policy, advance
from funcenv._compile.single_kernel import agree, quick_options
from funcenv.vector import VectorState, map_batched

_MOST_STEPS = 256
_MOST_ENV_STEPS = 2**20
_MOST_ROWS = 256

Program = Callable[[Situation, VectorState[Any], Any, Any, Any], Outcome]  # `program.play_on` with its rules


def is_faithful(
    program: Program, rules: Rules, situation: Situation, vstate: VectorState[Any], anew: bool, num_steps: int
) -> bool:
    """Whether single steps from `vstate` on, or anew, `num_steps` of them at most, are those of the plain program.

    Integers and flags must be equal, floats equal to rounding.
    """
    num_envs = situation.venv.num_envs
    most = max(min(num_steps, _MOST_STEPS, _MOST_ENV_STEPS // num_envs), 1)
    if anew:
        vstate = program(situation, vstate, np.True_, np.uint32(0), np.int32(0)).vstate
    reference: Callable[..., Outcome] | None = None
    for number in range(most):
        outcome = program(situation, vstate, np.False_, np.uint32(number), np.int32(1))
        ended = _ended(vstate, outcome.vstate)
        if number < 2 or ended.any() or number == most - 1:
            some = _rows(ended)
            args = situation, vstate, np.uint32(number), some
            if reference is None:
                plain = jax.jit(functools.partial(_one_step, rules))
                reference = plain.lower(*args).compile(compiler_options=quick_options())
            if not agree(_shown(outcome, some), reference(*args)):
                return False
            if ended.any() and number >= 2:
                break
        vstate = outcome.vstate
    return True


def _one_step(
    rules: Rules, situation: Situation, vstate: VectorState[Any], number: jax.Array, some: jax.Array
) -> Outcome:
    """A plain step of some environments."""
    env = map_batched(situation.venv.env, situation.venv.num_envs, lambda leaf: take(leaf, some))
    venv = situation.venv.replace(env=env, num_envs=some.size, reset_strategy="select")
    keys, policy_keys, vstate = take((situation.keys, situation.policy_keys, vstate), some)
    vstate = vstate.replace(key=keys)
    carry = vstate, venv.observation(vstate), rules.play.start(venv, vstate)
    policy = Policy(rules.function, situation.policy)
    (vstate, _, totals), shown = advance(rules.play, venv, policy, carry, policy_keys, number)
    kept = None if rules.collect is None else rules.collect(*shown)
    return Outcome(vstate.replace(key=None), kept, totals)


def _shown(outcome: Outcome, some: Any) -> Outcome:
    """Of a single step of all environments, what it left of some."""
    vstate, kept, totals = jax.device_get(outcome)
    whole = some.size == vstate.done.size

    def pick(tree: Any) -> Any:
        return tree if whole else jax.tree.map(lambda leaf: leaf[some], tree)

    return Outcome(pick(vstate), pick(jax.tree.map(lambda leaf: leaf[0], kept)), pick(totals))


def _ended(before: VectorState[Any], after: VectorState[Any]) -> np.ndarray[Any, Any]:
    """Where an episode ended or began."""
    return np.asarray(after.done) | (np.asarray(after.num_calls) - np.asarray(before.num_calls) > 1)


def _rows(ended: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All environments, or the first that ended and others from everywhere."""
    if ended.size <= _MOST_ROWS:
        return np.arange(ended.size, dtype=np.int32)
    first = np.flatnonzero(ended)[: _MOST_ROWS // 2]
    others = np.linspace(0, ended.size - 1, _MOST_ROWS - first.size)
    return np.concatenate([first, others.astype(int)]).astype(np.int32)
