"""The rules for what `reset`, `step` and `render` of a stateful environment return.

The rules are those of Gymnasium 1.4.0 (`gymnasium.utils.passive_env_checker`) and two more: arrays are writeable, and
rewards are in `reward_range`. Each check raises `EnvCheckError` for a broken rule. `check_step_result` also yields a
message for each result that works but is probably unintended.
"""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.adapters.env import Env
from funcenv.checker.findings import EnvCheckError
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

_NOTHING = object()
_REWARD_TOLERANCE = 1e-5  # relative above 1, for rounding in float32


def require(holds: Any, rule: str, given: Any = _NOTHING, remedy: str = "") -> None:
    """Raise `EnvCheckError` with the rule, what was given and the remedy, unless `holds` is true.

    >>> require(False, "reset() must return a tuple", 3)
    Traceback (most recent call last):
        ...
    funcenv.checker.findings.EnvCheckError: reset() must return a tuple, got 3 of type int
    """
    if not holds:
        got = "" if given is _NOTHING else f", got {_describe(given)}"
        raise EnvCheckError(rule + got + (remedy and f"; {remedy}"))


def check_reset_result(env: Env[Any, Any], result: Any, where: str = "reset()") -> None:
    """Check what `reset` returned: an observation and an info."""
    is_pair = isinstance(result, tuple) and len(result) == 2
    remedy = "return observation, info, or wrap an environment for old Gym with EnvCompatibility(env)"
    require(is_pair, f"{where} must return a tuple of observation and info", result, remedy)
    observation, info = result
    check_observation(env, observation, where)
    require(isinstance(info, dict), f"the info of {where} must be a dict", info)


def check_step_result(env: Env[Any, Any], result: Any) -> Iterator[str]:
    """Check what `step` returned: observation, reward, terminated, truncated and info."""
    require(isinstance(result, tuple), "step() must return a tuple", result)
    require(
        len(result) != 4,
        "step() must return 5 values, got 4: Gymnasium tells `terminated` from `truncated`",
        remedy="return observation, reward, terminated, truncated, info, or wrap it with EnvCompatibility(env)",
    )
    five = "observation, reward, terminated, truncated and info"
    require(len(result) == 5, f"step() must return {five}, got {len(result)} values")
    observation, reward, terminated, truncated, info = result
    check_observation(env, observation, "step()")
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        require(isinstance(flag, (bool, np.bool_)), f"{name} of step() must be a bool", flag)
        if isinstance(flag, np.bool_):
            yield f"{name} of step() is a numpy bool, for which `is True` fails; return bool({name})"
    is_number = isinstance(reward, (int, float, np.integer, np.floating)) and not isinstance(reward, bool)
    require(is_number, "the reward of step() must be a number", reward, "return float(reward)")
    require(math.isfinite(reward), f"the reward of step() must be finite, got {reward}")
    low, high = env.reward_range
    tolerance = _REWARD_TOLERANCE * max(1.0, abs(reward))
    require(
        low - tolerance <= reward <= high + tolerance,
        f"the reward of step() must lie in reward_range, {env.reward_range}, got {reward}",
    )
    require(isinstance(info, dict), "the info of step() must be a dict", info)


def check_observation(env: Env[Any, Any], observation: Any, where: str) -> None:
    """Check that an observation has the types of the observation space and is a member of it."""
    arrays: type[Any] = jax.Array if env.metadata.get("jax", False) else np.ndarray
    if env.metadata.get("torch", False):
        observation = _without_torch(observation, where)
    _check_types(env.observation_space, observation, f"the observation of {where}", arrays)
    require(
        observation in env.observation_space,
        f"the observation of {where} is not in {env.observation_space!r}: {observation!r}",
    )


def check_frame(mode: str, frame: Any) -> None:
    """Check that what `render` returned has the type that the render mode promises.

    >>> check_frame("ansi", "a map")
    """
    rule = f"render_mode {mode!r} must give"
    if mode.endswith("_list"):
        require(isinstance(frame, list), f"{rule} a list of frames", frame)
        for one in frame:
            check_frame(mode.removesuffix("_list"), one)
    elif mode == "human":
        require(frame is None, "render_mode 'human' must show a window and return None", frame)
    elif mode in ("ansi", "ascii"):
        require(isinstance(frame, (str, io.StringIO)), f"{rule} a string", frame)
    elif mode == "rgb_array":
        is_image = isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3
        require(is_image, f"{rule} a uint8 array [height, width, 3]", frame)
    elif mode == "depth_array":
        require(isinstance(frame, np.ndarray) and frame.ndim == 2, f"{rule} an array [height, width]", frame)


def _check_types(space: Any, value: Any, what: str, arrays: type) -> None:
    """Check the Python types and dtypes of a member; `arrays` is the class of its arrays."""
    if isinstance(space, Tuple):
        require(isinstance(value, tuple), f"{what} must be a tuple", value)
        require(len(value) == len(space), f"{what} must have {len(space)} entries, got {len(value)}")
        for i, part in enumerate(value):
            _check_types(space.spaces[i], part, f"entry {i} of {what}", arrays)
    elif isinstance(space, Dict):
        require(isinstance(value, dict), f"{what} must be a dict", value)
        require(value.keys() == space.keys(), f"{what} must have the keys {list(space)}, got {list(value)}")
        for key, part in value.items():
            _check_types(space.spaces[key], part, f"entry {key!r} of {what}", arrays)
    elif isinstance(space, Discrete):
        is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        is_jax = arrays is jax.Array and isinstance(value, jax.Array)
        require(is_integer or is_jax, f"{what} must be an int", value)
    elif isinstance(space, (MultiBinary, MultiDiscrete)) or (isinstance(space, Box) and space.shape != ()):
        require(isinstance(value, arrays), f"{what} must be an array", value)
        has_dtype = value.dtype == space.dtype or not isinstance(space, Box)
        require(has_dtype, f"{what} must have the dtype of its space, {space.dtype}, got {value.dtype}")
        is_writeable = isinstance(value, jax.Array) or value.flags.writeable
        require(is_writeable, f"{what} is a read-only array", remedy="return a copy that its user may change")


def _without_torch(observation: Any, where: str) -> Any:
    """Return an observation whose tensors are NumPy arrays, and check that it holds no NumPy arrays itself."""
    tensor = importlib.import_module("torch").Tensor

    def convert(leaf: Any) -> Any:
        remedy = 'return tensors, or leave "torch" out of metadata'
        rule = f"the observation of {where} must hold tensors of torch"
        require(not isinstance(leaf, np.ndarray), rule, leaf, remedy)
        return leaf.numpy(force=True).copy() if isinstance(leaf, tensor) else leaf

    return jax.tree.map(convert, observation)


def _describe(value: Any) -> str:
    if isinstance(value, (np.ndarray, jax.Array)):
        return f"{type(value).__name__} {value.dtype}{list(value.shape)}"
    return f"{value!r} of type {type(value).__name__}"
