"""Calls and results of `reset`, `step` and `render` in Gymnasium's interface and in those of old Gym."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.adapters.rendering.modes import LIST_SUFFIX

_TRUNCATED_KEY = "TimeLimit.truncated"


def observation_and_info(reset_returns: Any) -> tuple[Any, dict[str, Any]]:
    """Convert the result of `reset` to observation and info; old Gym returned the observation alone.

    >>> observation_and_info(3), observation_and_info((3, {"a": 1}))
    ((3, {}), (3, {'a': 1}))
    """
    return reset_returns if returns_info(reset_returns) else (reset_returns, {})


def returns_info(reset_returns: Any) -> bool:
    """Return whether a result of `reset` is a tuple of observation and info."""
    return isinstance(reset_returns, tuple) and len(reset_returns) == 2 and isinstance(reset_returns[1], dict)


def call_reset(env: Any, seed: int | None, options: dict[str, Any] | None, return_info: bool | None = None) -> Any:
    """Reset an environment with Gymnasium's interface or one of old Gym's, and return what its `reset` returns.

    Arguments that its `reset` does not take are left out. A seed that `reset` does not take is passed to `env.seed`.

    Args:
        env: Environment, whose `reset` may take no arguments.
        seed: Seed of the episode, or None.
        options: Options of the episode, or None.
        return_info: Whether an environment for Gym 0.22 to 0.25 is asked for its `info`; by default it is not told.

    Raises:
        TypeError: There are options, which `reset` does not take.
    """
    taken = _reset_arguments(getattr(env.reset, "__func__", env.reset))
    if taken is None or {"seed", "options"} <= taken:
        old = {} if return_info is None or taken is None or "return_info" not in taken else {"return_info": return_info}
        return env.reset(seed=seed, options=options, **old)
    if options and "options" not in taken:
        raise TypeError(f"reset of {env} takes no options, got {options!r}; leave them out")
    if seed is not None and "seed" not in taken:
        if not callable(env.seed):
            raise TypeError(f"{env} cannot be seeded; give it a method seed(seed), or let reset take seed=")
        generator = env._np_random
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # where the environment has only `Env.seed`
            env.seed(seed)
        if env._np_random is generator:  # the environment has a generator of its own kind
            env._set_seed(seed)
    given = {"seed": seed, "options": options, "return_info": return_info}
    return env.reset(**{name: value for name, value in given.items() if name in taken and value is not None})


def call_render(env: Any, mode: str | None = None) -> Any:
    """Render an environment with Gymnasium's interface, or one of old Gym's, in a mode; by default in its own.

    Raises:
        ValueError: The environment does not have the mode.
    """
    if mode is None:
        return env.render()
    if "mode" in inspect.signature(env.render).parameters:
        return env.render(mode=mode)
    own_mode, metadata = env.render_mode, env.metadata
    modes = [known for known in metadata.get("render_modes", []) if not known.endswith(LIST_SUFFIX)]
    if mode not in [*modes, own_mode]:
        raise ValueError(f"mode must be one of {modes}, the render modes of {env}, got {mode!r}")
    env.render_mode = mode
    try:
        return env.render()
    finally:
        env.render_mode = own_mode


@functools.lru_cache(maxsize=256)
def _reset_arguments(reset: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names of the arguments that a function `reset` takes, or None if it takes any."""
    parameters = inspect.signature(reset).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    return frozenset(parameters)


def step_api_compatibility(
    step_returns: tuple[Any, ...], output_truncation_bool: bool = True, is_vector_env: bool = False
) -> tuple[Any, ...]:
    """Convert the result of `step` to one flag or two, without changing the arguments.

    Args:
        step_returns: `(observation, reward, terminated, truncated, info)` or `(observation, reward, done, info)`.
        output_truncation_bool: Whether to return two flags.
        is_vector_env: Whether flags are arrays, and `info` is a dict of arrays or a list of dicts.

    Returns:
        The result with the requested flags. The conversion to one flag adds `info["TimeLimit.truncated"]` where an
        episode ended; the conversion to two flags reads and removes it.

    Raises:
        ValueError: There are neither four nor five values.

    >>> step_api_compatibility((3, 1.0, False, True, {}), output_truncation_bool=False)
    (3, 1.0, True, {'TimeLimit.truncated': True})
    >>> step_api_compatibility((3, 1.0, True, {"TimeLimit.truncated": True}))
    (3, 1.0, False, True, {})
    """
    if len(step_returns) not in (4, 5):
        raise ValueError(f"step must return 4 values, or 5 with two flags, got {len(step_returns)}")
    if len(step_returns) == (5 if output_truncation_bool else 4):
        return step_returns
    if output_truncation_bool:
        observation, reward, done, info = step_returns
        info, truncated = _pop_truncated(info, len(done) if is_vector_env else None)
        if not is_vector_env:
            return observation, reward, bool(done and not truncated), bool(done and truncated), info
        return observation, reward, done & ~truncated, done & truncated, info
    observation, reward, terminated, truncated, info = step_returns
    done = np.logical_or(terminated, truncated)
    only_truncated = np.logical_and(truncated, np.logical_not(terminated))
    if not is_vector_env:
        done, only_truncated = bool(done), bool(only_truncated)
    return observation, reward, done, _add_truncated(info, done, only_truncated)


def _pop_truncated(info: Any, num_envs: int | None) -> tuple[Any, Any]:
    """Return the info without the entry, and the entry, which is False if it is missing."""
    if isinstance(info, list):
        pairs = [_pop_truncated(one, None) for one in info]
        return [rest for rest, _ in pairs], np.array([truncated for _, truncated in pairs], bool)
    rest = {name: value for name, value in info.items() if name != _TRUNCATED_KEY}
    truncated = info.get(_TRUNCATED_KEY, False if num_envs is None else np.zeros(num_envs, bool))
    return rest, truncated if num_envs is None else np.asarray(truncated, bool)


def _add_truncated(info: Any, done: Any, truncated: Any) -> Any:
    """Return the info with the entry for the episodes that ended."""
    if isinstance(info, list):
        return [_add_truncated(*row) for row in zip(info, done, truncated.tolist(), strict=True)]
    return {**info, _TRUNCATED_KEY: truncated} if np.any(done) else info
