"""Which programs run an environment, why the faster ones do not, and where compiled programs are kept."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import jax

from funcenv import adapters
from funcenv._compile import disk_cache
from funcenv._compile.disk_cache import CacheInfo, cache_info, clear_cache
from funcenv._compile.single_kernel import STATEFUL_PROGRAM
from funcenv._compile.verified import Choice, recorded_choices
from funcenv.func_env import AnyEnv
from funcenv.parameters import parameter_axes
from funcenv.random import key as new_key
from funcenv.registry import make
from funcenv.rollout import evaluate, random_policy, rollout
from funcenv.vector import AnyVectorEnv, FuncVectorEnv

__all__ = ["CacheInfo", "Choice", "cache_info", "clear_cache", "enable_cache", "explain", "recorded_choices"]

_NUM_STEPS = 256  # as many as a kernel is compared for at most


def enable_cache(folder: str | os.PathLike[str] | None = None) -> pathlib.Path | None:
    """Keep compiled programs on disk, so that later processes neither compile nor trace them again.

    Call it once, before the first environment is made. The programs of environments, wrappers, policies and algorithms
    of this package are found by the source of the package, the versions below it, the parameters and the shapes, so an
    old program is never used after a change of any of them. Programs that hold code of your own are kept by JAX's
    persistent cache, which is enabled as well: they are traced anew, and not compiled. Do not enable the cache in a
    program that replaces functions of the package while it runs.

    The cache is for one CPU device; elsewhere JAX's own cache works alone. Commands such as `funcenv train` enable it
    by themselves, and `funcenv cache` shows it.

    Args:
        folder: Where to keep programs. By default where JAX does, if it does (`JAX_COMPILATION_CACHE_DIR`), or else in
            the user's cache folder.

    Returns:
        The folder, or None if it cannot be written or if others may write to it; nothing is kept then.

    >>> enable_cache("/dev/null/programs") is None  # not a place for a folder
    True
    """
    return disk_cache.enable_disk_cache(folder)


def explain(env: AnyEnv | AnyVectorEnv | str, num_envs: int = 8) -> list[Choice]:
    """Tell which programs run an environment: a fast one, or the plain one and why.

    Every entry is called once with a random policy, and compiles what it compiles for any caller. A rollout with a
    policy or a trajectory of your own may choose otherwise; call it within `recorded_choices` to see.

    Args:
        env: an environment, a vector environment, or an id.
        num_envs: the size of the batch, unless `env` is a vector environment.

    Returns:
        A choice for `rollout`, for `evaluate`, for both and for `FuncVectorEnv.step` in a traced function, and for the
        steps of `adapters.FunctionalVectorEnv` and `adapters.FunctionalEnv`. The last two are left out for a batch of
        environments with parameters of their own.

    >>> for entry, num_envs, refusal in explain("CartPole-v1", num_envs=2)[-2:]:
    ...     print(f"{entry} of {num_envs}: {refusal or 'a kernel'}")
    FunctionalVectorEnv.step of 2: ...
    FunctionalEnv.step of 1: ...
    """
    env = make(env) if isinstance(env, str) else env
    venv = env if isinstance(env, FuncVectorEnv) else FuncVectorEnv(env, num_envs)
    policy, key = random_policy(venv), new_key(0)

    def step(key: jax.Array) -> None:
        actions = jax.vmap(venv.single_action_space.sample)(jax.random.split(key, venv.num_envs))
        venv.step(venv.reset(key)[0], actions)

    def play(key: jax.Array) -> None:
        rollout(venv, policy, key, _NUM_STEPS, collect=None)
        evaluate(venv.env, policy, venv.num_envs, key, max_steps=_NUM_STEPS)

    with recorded_choices() as choices:
        play(key)
        jax.eval_shape(play, key)
        jax.eval_shape(step, key)
    if not jax.tree.leaves(parameter_axes(venv.env, venv.num_envs)):
        choices.append(_step_of(adapters.FunctionalVectorEnv(venv.env, venv.num_envs), venv.num_envs))
        choices.append(_step_of(adapters.FunctionalEnv(venv.env), 1))
    return choices


def _step_of(env: Any, num_envs: int) -> Choice:
    """Return the choice of the program of a step of a stateful environment."""
    env.reset(seed=0)
    with recorded_choices() as choices:
        env.step(env.action_space.sample())
    refusals = [choice.refusal for choice in choices if choice.entry == STATEFUL_PROGRAM]
    env.close()
    return Choice(f"{type(env).__name__}.step", num_envs, refusals[0] if refusals else None)
