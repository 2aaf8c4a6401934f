"""Parts of a batch, played side by side: a thread for each, as many as XLA has.

A rollout that is one function keeps one core busy. Its environments do not know of each other, so a part of them plays
on each core, by one program, and what they leave is put together. That copies it; so a rollout that keeps a trajectory
stays whole, which would need its memory twice.
"""

from __future__ import annotations

import concurrent.futures
import functools
import operator
import os
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from funcenv._compile.rollout.program import Outcome, Situation
from funcenv.vector import VectorState, map_batched

_FEWEST_ENVS = 256  # of a part, which is a chunk
_FEWEST_ENV_STEPS = 2**18  # of a rollout: some milliseconds, where threads cost a tenth of one

Part = tuple[Situation, VectorState[Any] | None]


def num_threads() -> int:
    """How many threads XLA's CPU backend has: `PJRT_NPROC` if that is set, else one for each core it may use.

    >>> num_threads() >= 1
    True
    """
    chosen = os.environ.get("PJRT_NPROC", "")
    if chosen.isdecimal() and int(chosen) > 0:
        return int(chosen)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def num_parts(num_envs: int, num_steps: int, threads: int) -> int:
    """How many equal parts a rollout has, so that one program serves all; at most one for each thread.

    >>> num_parts(4096, 1000, threads=8), num_parts(4096, 1, threads=8), num_parts(256, 10**6, threads=8)
    (8, 1, 1)
    """
    if num_envs * num_steps < _FEWEST_ENV_STEPS:
        return 1
    most = min(threads, num_envs // _FEWEST_ENVS)
    return max((parts for parts in range(1, most + 1) if num_envs % parts == 0), default=1)


def parts_of(situation: Situation, vstate: VectorState[Any] | None, number: int) -> list[Part]:
    """So many equal parts, in order."""
    if number == 1:
        return [(situation, vstate)]
    venv, arrays = situation.venv, (situation.keys, situation.policy_keys, vstate)
    size = venv.num_envs // number
    parts: list[Part] = []
    for start in range(0, venv.num_envs, size):
        keys, policy_keys, some = _rows(arrays, start, size)
        env = map_batched(venv.env, venv.num_envs, operator.itemgetter(slice(start, start + size)))
        parts.append((Situation(venv.replace(env=env, num_envs=size), situation.policy, keys, policy_keys), some))
    return parts


def play_parts(run: Callable[..., Outcome], parts: list[Part], keys: jax.Array) -> Outcome:
    """Play all parts at once; what they leave, put together.

    Args:
        run: plays a part; its program is compiled already.
        parts: in order.
        keys: of all environments.
    """
    if len(parts) == 1:
        return run(*parts[0])
    start = threading.Barrier(len(parts))  # a thread for each: what one dispatches is computed one after the other
    wide: bool = jax.config.jax_enable_x64  # type: ignore[attr-defined]  # set by JAX

    def play(part: Part) -> Outcome:
        start.wait()
        with jax.enable_x64(wide):  # a new thread has the process's settings, not those of a `with`
            return run(*part)

    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
        outcomes = list(pool.map(play, parts))
    outcome: Outcome = _joined([outcome._replace(vstate=outcome.vstate.replace(key=None)) for outcome in outcomes])
    return outcome._replace(vstate=outcome.vstate.replace(key=keys))


@functools.partial(jax.jit, static_argnums=2)
def _rows(tree: Any, start: jax.Array, size: int) -> Any:
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, size), tree)


@jax.jit
def _joined(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *trees)
