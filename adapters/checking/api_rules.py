"""What `reset`, `step` and `render` of a stateful environment must return.

The rules are those of Gymnasium 1.4.0 (`gymnasium.utils.passive_env_checker`), and two of our own: arrays can be
written to, and rewards lie in `reward_range`. Each function here raises `EnvCheckError` where one is broken, and yields
advice about what works but is probably not meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.adapters.single.env import Env
from funcenv.checker.findings import EnvCheckError
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple


def require(holds: Any, problem: str) -> None:
    """Raise `EnvCheckError` unless something holds.

    >>> require(False, "reset() must return a tuple")
    Traceback (most recent call last):
        ...
    funcenv.checker.findings.EnvCheckError: reset() must return a tuple
    """
    if not holds:
        raise EnvCheckError(problem)


def check_started(env: Env[Any, Any], started: Any, where: str = "reset()") -> Iterator[str]:
    """What `reset` returned: an observation and an info."""
    require(
        isinstance(started, tuple) and len(started) == 2,
        f"{where} must return a tuple of observation and info, got {_shown(started)}",
    )
    observation, info = started
    check_observation(env, observation, where)
    require(isinstance(info, dict), f"the info of {where} must be a dict, got {_shown(info)}")
    yield from ()


def check_stepped(env: Env[Any, Any], stepped: Any) -> Iterator[str]:
    """What `step` returned: observation, reward, terminated, truncated, info."""
    require(isinstance(stepped, tuple), f"step() must return a tuple, got {_shown(stepped)}")
    require(
        len(stepped) != 4,
        "step() must return 5 values, got 4: Gymnasium tells `terminated` from `truncated`; "
        "wrap it with StepCompatibility(env, return_two_dones=True)",
    )
    require(
        len(stepped) == 5,
        f"step() must return observation, reward, terminated, truncated and info, got {len(stepped)} values",
    )
    observation, reward, terminated, truncated, info = stepped
    check_observation(env, observation, "step()")
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        require(isinstance(flag, (bool, np.bool_)), f"{name} of step() must be a bool, got {_shown(flag)}")
        if isinstance(flag, np.bool_):
            yield f"{name} of step() is a numpy bool, for which `is True` fails; return bool({name})"
    _check_reward(env, reward)
    require(isinstance(info, dict), f"the info of step() must be a dict, got {_shown(info)}")


def check_observation(env: Env[Any, Any], observation: Any, where: str) -> None:
    """The kinds and the values of an observation are those of the space."""
    arrays = (jax.Array,) if env.metadata.get("jax", False) else (np.ndarray,)
    _check_kind(env.observation_space, observation, f"the observation of {where}", arrays)
    require(
        observation in env.observation_space,
        f"the observation of {where} is not in {env.observation_space!r}: {observation!r}",
    )


def check_picture(mode: str, picture: Any) -> None:
    """What `render` returned is of the kind that the mode names.

    >>> check_picture("ansi", "a map")
    """
    if mode.endswith("_list"):
        require(isinstance(picture, list), f"render_mode {mode!r} must give a list of frames, got {_shown(picture)}")
        for frame in picture:
            check_picture(mode.removesuffix("_list"), frame)
    elif mode == "human":
        require(picture is None, f"render_mode 'human' must show a window and return None, got {_shown(picture)}")
    elif mode in ("ansi", "ascii"):
        require(isinstance(picture, str), f"render_mode {mode!r} must give a string, got {_shown(picture)}")
    elif mode == "rgb_array":
        require(
            _is_array(picture, 3) and picture.dtype == np.uint8 and picture.shape[2] == 3,
            f"render_mode 'rgb_array' must give a uint8 array [height, width, 3], got {_shown(picture)}",
        )
    elif mode == "depth_array":
        require(
            _is_array(picture, 2),
            f"render_mode 'depth_array' must give an array [height, width], got {_shown(picture)}",
        )


def _check_reward(env: Env[Any, Any], reward: Any) -> None:
    kinds = (int, float, np.integer, np.floating)
    require(
        isinstance(reward, kinds) and not isinstance(reward, bool),
        f"the reward of step() must be a number, got {_shown(reward)}; return float(reward)",
    )
    require(math.isfinite(reward), f"the reward of step() must be finite, got {reward}")
    lowest, highest = env.reward_range
    slack = 1e-5 * max(1.0, abs(reward))  # of float32
    require(
        lowest - slack <= reward <= highest + slack,
        f"the reward of step() must lie in reward_range, {env.reward_range}, got {reward}",
    )


def _check_kind(space: Any, value: Any, what: str, arrays: tuple[type, ...]) -> None:
    if isinstance(space, Tuple):
        require(isinstance(value, tuple), f"{what} must be a tuple, got {_shown(value)}")
        require(len(value) == len(space), f"{what} must have {len(space)} entries, got {len(value)}")
        for i, part in enumerate(value):
            _check_kind(space.spaces[i], part, f"entry {i} of {what}", arrays)
    elif isinstance(space, Dict):
        require(isinstance(value, dict), f"{what} must be a dict, got {_shown(value)}")
        require(value.keys() == space.keys(), f"{what} must have the keys {list(space)}, got {list(value)}")
        for key, part in value.items():
            _check_kind(space.spaces[key], part, f"entry {key!r} of {what}", arrays)
    elif isinstance(space, Discrete):
        is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        require(
            is_integer or isinstance(value, jax.Array) and jax.Array in arrays,
            f"{what} must be an int, got {_shown(value)}",
        )
    elif isinstance(space, (MultiBinary, MultiDiscrete)) or (isinstance(space, Box) and space.shape != ()):
        require(isinstance(value, arrays), f"{what} must be an array, got {_shown(value)}")
        require(
            value.dtype == space.dtype or not isinstance(space, Box),
            f"{what} must have the dtype of its space, {space.dtype}, got {value.dtype}",
        )
        require(
            isinstance(value, jax.Array) or value.flags.writeable,
            f"{what} is a read-only array; return a copy that its user may change",
        )


def _is_array(value: Any, ndim: int) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == ndim


def _shown(value: Any) -> str:
    if isinstance(value, (np.ndarray, jax.Array)):
        return f"{type(value).__name__} {value.dtype}{list(value.shape)}"
    return f"{value!r} of type {type(value).__name__}"
