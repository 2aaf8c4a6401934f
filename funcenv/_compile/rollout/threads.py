"""Shards of a batch of environments, played at the same time on one thread each.

A rollout that is a single kernel keeps one core busy. Environments are independent, so each core can play a shard of
them with the same program, and the results are concatenated. Concatenation copies: a rollout that keeps a trajectory is
therefore not sharded, which would need its memory twice.
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

from funcenv._compile.chunks import MAX_CHUNK_ENVS
from funcenv._compile.rollout.program import RolloutArgs, RolloutResult
from funcenv._jax import uses_64_bits
from funcenv.vector import VectorState

_MIN_SHARDED_ENV_STEPS = 2**18  # A rollout of this size takes milliseconds; starting threads takes a tenth of one.

Shard = tuple[RolloutArgs, VectorState[Any] | None]


def num_threads() -> int:
    """Return how many threads XLA's CPU backend uses: `PJRT_NPROC` if that is set, else one for each available core.

    >>> num_threads() >= 1
    True
    """
    chosen = os.environ.get("PJRT_NPROC", "")
    if chosen.isdecimal() and int(chosen) > 0:
        return int(chosen)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def num_shards(num_envs: int, num_steps: int, threads: int) -> int:
    """Return how many equal shards a rollout is cut into, at most one for each thread and one for each full chunk.

    >>> num_shards(4096, 1000, threads=8), num_shards(4096, 1, threads=8), num_shards(256, 10**6, threads=8)
    (8, 1, 1)
    """
    if num_envs * num_steps < _MIN_SHARDED_ENV_STEPS:
        return 1
    max_shards = min(threads, num_envs // MAX_CHUNK_ENVS)
    return max((shards for shards in range(1, max_shards + 1) if num_envs % shards == 0), default=1)


def cut_shards(args: RolloutArgs, vstate: VectorState[Any] | None, number: int) -> list[Shard]:
    """Cut the arguments of a rollout into `number` equal shards, in order."""
    if number == 1:
        return [(args, vstate)]
    size = args.venv.num_envs // number
    shards: list[Shard] = []
    for start in range(0, args.venv.num_envs, size):
        keys, policy_keys, rows = _rows((args.keys, args.policy_keys, vstate), start, size)
        venv = args.venv.subset(size, operator.itemgetter(slice(start, start + size)))
        shards.append((RolloutArgs(venv, args.policy, keys, policy_keys), rows))
    return shards


def run_shards(run: Callable[..., RolloutResult], shards: list[Shard], keys: jax.Array) -> RolloutResult:
    """Play all shards at the same time, and concatenate their results.

    Args:
        run: plays one shard, by a program that is compiled already.
        shards: in order.
        keys: of all environments.
    """
    if len(shards) == 1:
        return run(*shards[0])
    start, wide = threading.Barrier(len(shards)), uses_64_bits()

    def play(shard: Shard) -> RolloutResult:
        start.wait()
        with jax.enable_x64(wide):  # A new thread has the settings of the process, not those of a `with` block.
            return run(*shard)

    # JAX computes in sequence what one thread dispatches, so each shard needs a thread of its own.
    with concurrent.futures.ThreadPoolExecutor(len(shards)) as pool:
        results = list(pool.map(play, shards))
    result: RolloutResult = _concatenate([r._replace(vstate=r.vstate.replace(key=None)) for r in results])
    return result._replace(vstate=result.vstate.replace(key=keys))


@functools.partial(jax.jit, static_argnums=2)
def _rows(tree: Any, start: jax.Array, size: int) -> Any:
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, size), tree)


@jax.jit
def _concatenate(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *trees)
