"""Whole episodes of a large batch, of which only the unfinished ones are played on.

A program that plays every environment until the longest episode ends spends most steps on episodes that are over: with
random actions, an episode of LunarLander has 93 steps on average, and one of 1,500 lasts until the time limit of 1,000.
Here the unfinished episodes are gathered in chunks, and played on for a slice of steps, until none is left. All of them
have played the same number of steps, so policies see the step indices that they see otherwise.

    slice 0   [0 1 2 3] [4 5 6 7] [8 9 . .]    10 episodes in chunks of 4
    slice 1   [1 2 4 8] [9 . . .]              5 of them are unfinished
    slice 2   [4 . . .]
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from funcenv._compile.rollout.program import RolloutArgs, RolloutResult
from funcenv._compile.rollout.step import Accumulator, policy_step
from funcenv.vector import VectorState
from funcenv.vector_step import take

_SLICE_STEPS = 16  # an episode waits for half of them on average, and each costs a copy of the states


def unfinished_steps(
    accumulator: Accumulator, args: RolloutArgs, vstate: VectorState[Any], num_steps: int, chunk: int
) -> RolloutResult:
    """Play until every environment is finished, or for `num_steps` steps, in any program on one device.

    Args:
        accumulator: which totals to keep. Its `is_finished` must be true of all totals exactly if it is of each row.
        args: environments, policy and keys.
        vstate: the state to start from, with its keys.
        num_steps: at least 1.
        chunk: how many environments are played together.

    Returns:
        The result. The states of finished environments are those of some step after their end.
    """
    num_chunks = -(-args.venv.num_envs // chunk)
    carry: Any = vstate.replace(key=None), args.venv.observation(vstate), accumulator.init(args.venv, vstate)

    def play_slice(loop: Any) -> Any:
        start, unfinished, carry = loop
        (rows,) = jnp.nonzero(unfinished, size=num_chunks * chunk, fill_value=unfinished.size)

        def play_chunk(index: jax.Array, carry: Any) -> Any:
            chosen = jax.lax.dynamic_slice_in_dim(rows, index * chunk, chunk)
            played = _play_rows(accumulator, args, carry, chosen, start, num_steps)
            return jax.tree.map(lambda old, new: old.at[chosen].set(new, mode="drop"), carry, played)

        used = (unfinished.sum(dtype=jnp.int32) + (chunk - 1)) // chunk
        carry = jax.lax.fori_loop(0, used, play_chunk, carry)
        return start + _SLICE_STEPS, _unfinished(accumulator, carry), carry

    def goes_on(loop: Any) -> jax.Array:
        start, unfinished, _ = loop
        return (start < num_steps) & unfinished.any()

    loop = jnp.zeros((), jnp.uint32), _unfinished(accumulator, carry), carry
    last, _, totals = jax.lax.while_loop(goes_on, play_slice, loop)[2]
    return RolloutResult(last.replace(key=vstate.key), None, totals)


def _unfinished(accumulator: Accumulator, carry: Any) -> jax.Array:
    """Return which environments are unfinished, `[num_envs]`."""
    assert accumulator.is_finished is not None  # narrows the type for mypy
    return ~jax.vmap(accumulator.is_finished)(carry[2])


def _play_rows(
    accumulator: Accumulator,
    args: RolloutArgs,
    carry: Any,
    rows: Int[Array, "chunk"],
    start: jax.Array,
    num_steps: int,
) -> Any:
    """Play a slice of steps in some environments; a row beyond the last one stands for the last one."""
    rows = jnp.minimum(rows, args.venv.num_envs - 1)
    venv = args.venv.subset(rows.size, lambda leaf: take(leaf, rows))
    (vstate, observation, totals), keys, policy_keys = take((carry, args.keys, args.policy_keys), rows)
    end = jnp.minimum(start + _SLICE_STEPS, num_steps)

    def goes_on(loop: Any) -> jax.Array:
        step_index, carry = loop
        return (step_index < end) & _unfinished(accumulator, carry).any()

    def step(loop: Any) -> Any:
        step_index, (vstate, observation, totals) = loop
        carry = vstate.replace(key=keys), observation, totals
        (vstate, observation, totals), _ = policy_step(venv, args.policy, policy_keys, accumulator, carry, step_index)
        return step_index + 1, (vstate.replace(key=None), observation, totals)

    return jax.lax.while_loop(goes_on, step, (start, (vstate, observation, totals)))[1]
