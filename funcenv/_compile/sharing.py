"""Sharing compiled programs between equal environments and spaces."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax

from funcenv._compile.switch import is_enabled

Programs = TypeVar("Programs")

MAX_SHARED_PROGRAMS = 64  # results that each function keeps


def share_programs(make: Callable[..., Programs]) -> Callable[..., Programs]:
    """Return a function that calls `make` once for equal arguments.

    Programs also depend on the precision of floats and on `FUNCENV_NO_FAST_PATH`, so `make` is called again when one of
    these has changed. Arguments that cannot be hashed, such as environments with array parameters, share nothing.

    Args:
        make: a function or class that compiles programs; its arguments are positional.

    >>> multiply_by = share_programs(lambda n: jax.jit(lambda x: n * x))
    >>> multiply_by(2) is multiply_by(2), multiply_by(2) is multiply_by(3)
    (True, False)
    """

    @functools.lru_cache(MAX_SHARED_PROGRAMS)
    def make_shared(args: Any, *settings: Any) -> Programs:
        del settings  # They only keep programs apart.
        return make(*args)

    def find(*args: Any) -> Programs:
        try:
            hash(args)
        except TypeError:
            return make(*args)
        return make_shared(args, jax.dtypes.canonicalize_dtype(float), is_enabled())

    return find
