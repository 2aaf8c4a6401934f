"""Refusal to compute in a process that was forked after JAX had started.

A fork copies one thread of a process. JAX's other threads are missing in the child, so a computation would wait for
them for ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import cast

import jax


class ForkedProcess(RuntimeError):
    """Raised when something is computed in a process that was forked after JAX had started."""


class _History:
    """The history of this process and of those that it was forked from."""

    jax_had_started = False  # before the last fork
    is_stranded = False  # forked after JAX had started


def require_threads() -> None:
    """Raise `ForkedProcess` in a process that has lost JAX's threads."""
    if _History.is_stranded:
        raise ForkedProcess(
            "this process was forked after JAX had started, so JAX cannot compute in it; start processes with "
            'context="spawn" or "forkserver", as AsyncVectorEnv takes it, or step many environments with make_vec'
        )


def _jax_has_started() -> bool:
    """Return whether JAX has started a backend, which it does not say, except by refusing to change this option."""
    option, update = "jax_num_cpu_devices", cast(Callable[[str, int], None], jax.config.update)
    present = jax.config.values[option]
    try:
        update(option, present - 1 if present < 0 else present + 1)  # all negative numbers mean the same
        update(option, present)
    except RuntimeError:
        return True
    return False


def _before_fork() -> None:
    _History.jax_had_started = _jax_has_started()


def _after_fork() -> None:
    _History.is_stranded |= _History.jax_had_started


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
