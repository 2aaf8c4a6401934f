"""The name `gym.vector`. Vector environments have the interface of Gym 0.26: `step` returns five values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcenv.adapters import vector
from funcenv.adapters.registration import make_vec
from funcenv.adapters.vector import *  # noqa: F403  # every public name
from funcenv.adapters.vector_env import VectorEnv

__all__ = [*vector.__all__, "make"]


def make(
    id: str,
    num_envs: int = 1,
    asynchronous: bool = True,
    wrappers: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
    **arguments: Any,
) -> VectorEnv[Any, Any]:
    """Build a vector environment from an id, as `funcenv.adapters.make_vec` does.

    Args:
        id: As for `funcenv.adapters.make_vec`.
        num_envs: Number of environments.
        asynchronous: Ignored, because one compiled program steps all environments.
        wrappers: A wrapper, or several, of each environment.
        **arguments: The other arguments of `funcenv.adapters.make_vec`.

    >>> envs = make("CartPole-v1", num_envs=3)
    >>> envs.reset(seed=0)[0].shape
    (3, 4)
    """
    del asynchronous
    chosen = () if wrappers is None else (wrappers,) if callable(wrappers) else tuple(wrappers)
    return make_vec(id, num_envs, wrappers=chosen, **arguments)
