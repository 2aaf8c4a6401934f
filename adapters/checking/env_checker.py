"""A checker that finds faults of a stateful environment before a training run does."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcenv.adapters.checking.api_rules import (
    check_frame,
    check_observation,
    check_reset_result,
    check_step_result,
    require,
)
from funcenv.adapters.checking.space_rules import check_spaces
from funcenv.adapters.env import Env
from funcenv.adapters.registration import EnvSpec
from funcenv.adapters.rendering.display import can_open_window
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.func_env import FuncEnv

SEED = 123  # for checks that compare two runs
_SEED_REMEDY = "call super().reset(seed=seed) first in reset"


def check_env(env: Env[Any, Any], warn: bool = True, skip_render_check: bool = True) -> None:
    """Check a stateful environment, in particular a handwritten one, for broken rules.

    The checks are those of `gymnasium.utils.env_checker.check_env` (1.4.0): spaces, signatures and results of `reset`
    and `step`, seeding, determinism, memory that two results share, metadata, frames, and closing. In addition, rewards
    outside `reward_range` and read-only arrays are faults. For functional environments use `funcenv.check_func_env`,
    which checks much more.

    The checks reset and step the environment, so its state and its generator change.

    Args:
        env: Environment to check.
        warn: Whether to emit a `UserWarning` for what works but is probably unintended.
        skip_render_check: Whether to skip rendering. Otherwise the environment renders, and if `env.spec` is known,
            another environment is made for each render mode.

    Raises:
        EnvCheckError: A rule is broken; the message names the rule, what was found and the remedy.
        TypeError: `env` is not a stateful environment.

    >>> from funcenv import adapters
    >>> check_env(adapters.make("MountainCarContinuous-v0").unwrapped)
    """
    if isinstance(env, FuncEnv):
        raise TypeError(f"check_env checks a stateful Env, got the pure {type(env).__name__}; use check_func_env")
    if not isinstance(env, Env):
        raise TypeError(f"check_env checks an Env of funcenv.adapters, got {type(env).__name__}; subclass adapters.Env")
    for check in CHECKS if skip_render_check else (*CHECKS, _check_rendering):
        for message in check(env) or ():
            if warn:
                warnings.warn(message, UserWarning, stacklevel=2)


def _check_layers(env: Env[Any, Any]) -> Iterator[str]:
    if isinstance(env, Wrapper):
        yield f"{env} has wrappers, which may hide faults or cause their own; check env.unwrapped as well"


def _check_signatures(env: Env[Any, Any]) -> Iterator[str]:
    is_wrapper = isinstance(env, Wrapper)  # which pass on what old Gym takes
    if type(env).seed is not Env.seed and not is_wrapper:
        yield "the method seed() belongs to old Gym and is never called; use reset(seed=...)"
    parameters = inspect.signature(env.reset).parameters
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in ("seed", "options"):
        signature = "write def reset(self, *, seed=None, options=None), or wrap it with EnvCompatibility(env)"
        require(name in parameters or takes_any, f"reset must take {name}=", remedy=signature)
    if "seed" in parameters and parameters["seed"].default is not None:
        default = parameters["seed"].default
        yield f"the default of reset(seed=...) is {default!r}, so every episode is the same; let it be None"
    if "return_info" in parameters and not is_wrapper:
        yield "reset(return_info=...) belongs to old Gym; reset always returns observation and info"


def _check_metadata(env: Env[Any, Any]) -> Iterator[str]:
    modes = env.metadata.get("render_modes")
    if modes is None:
        yield 'metadata has no "render_modes"; set it to [] if there is nothing to render'
        return
    is_list = isinstance(modes, (list, tuple)) and all(isinstance(mode, str) for mode in modes)
    require(is_list, f'metadata["render_modes"] must be a list of strings, got {modes!r}')
    rule = f"render_mode must be None or one of {list(modes)}, got {env.render_mode!r}"
    require(env.render_mode is None or env.render_mode in modes, rule)
    fps = env.metadata.get("render_fps")
    if modes and fps is None:
        yield 'metadata has no "render_fps", so videos have no defined speed; add it'
    is_rate = fps is None or (isinstance(fps, (int, float, np.number)) and fps > 0)
    require(is_rate, f'metadata["render_fps"] must be a number above 0, got {fps!r}')


def _check_reset(env: Env[Any, Any]) -> None:
    check_reset_result(env, env.reset())
    check_reset_result(env, env.reset(options={}), "reset(options={})")


def _check_seeding(env: Env[Any, Any]) -> Iterator[str]:
    starts = [_start(env, seed) for seed in (SEED, None, SEED, None, SEED + 1)]
    (first, first_generator), (second, _), (third, third_generator), (fourth, _), (_, other_generator) = starts
    remedy = f"{_SEED_REMEDY}, and draw from self.np_random only"
    yield from _compare(first, third, f"the observations of two reset(seed={SEED})", remedy)
    yield from _compare(second, fourth, f"the observations of reset() after two reset(seed={SEED})", remedy)
    require(first_generator == third_generator, f"two reset(seed={SEED}) leave np_random in two states", remedy=remedy)
    require(first_generator != other_generator, "reset with two seeds leaves np_random in one state", remedy=remedy)


def _start(env: Env[Any, Any], seed: int | None) -> tuple[Any, Any]:
    """Reset, and return copies of the observation and of the generator's state."""
    observation, _ = env.reset(seed=seed)
    check_observation(env, observation, f"reset(seed={seed})")
    generator = env.unwrapped._np_random
    require(generator is not None, "reset(seed=...) made no generator", remedy=_SEED_REMEDY)
    return copy.deepcopy(observation), copy.deepcopy(env.np_random.bit_generator.state)


def _check_step(env: Env[Any, Any]) -> Iterator[str]:
    env.action_space.seed(SEED)
    action = env.action_space.sample()
    runs = []
    for _ in range(2):
        env.reset(seed=SEED)
        result = env.step(action)
        yield from check_step_result(env, result)
        if result[3]:
            yield "the first step truncates the episode; is a time limit of 1 step intended?"
        runs.append((copy.deepcopy(result), copy.deepcopy(env.np_random.bit_generator.state)))
    (first, first_generator), (second, second_generator) = runs
    remedy = "draw from self.np_random only, and reinitialize all state in reset"
    names = ("observation", "reward", "terminated", "truncated", "info")
    for name, one, other in zip(names, first, second, strict=True):
        yield from _compare(one, other, f"{name} of the same step after reset(seed={SEED})", remedy)
    require(first_generator == second_generator, "the same step leaves np_random in two states", remedy=remedy)


def _check_reuse(env: Env[Any, Any]) -> None:
    env.action_space.seed(SEED)
    results: list[tuple[str, Any, Any]] = [("reset()", *env.reset(seed=SEED))]
    for number in (1, 2):
        observation, _, terminated, truncated, info = env.step(env.action_space.sample())
        results.append((f"step() number {number}", observation, info))
        if terminated or truncated:
            break
    results.append(("the next reset()", *env.reset(seed=SEED)))
    for (where, observation, info), (elsewhere, another, another_info) in itertools.combinations(results, 2):
        for name, one, other in (("observation", observation, another), ("info", info, another_info)):
            rule = f"{name} of {where} and of {elsewhere} share memory, and users keep what they are given"
            require(not _share_memory(one, other), rule, remedy="return copies")


def _check_closing(env: Env[Any, Any]) -> None:
    if isinstance(env.spec, EnvSpec):
        another = env.spec.make()
        another.close()
        another.close()  # an exception here is the finding


def _check_rendering(env: Env[Any, Any]) -> Iterator[str]:
    if env.render_mode is not None:
        _check_frames(env, env.render_mode)
    if not isinstance(env.spec, EnvSpec):
        yield f"render modes other than {env.render_mode!r} were not checked: {env} was not made by adapters.make"
        return
    for mode in env.metadata.get("render_modes", []):
        if mode == "human" and not can_open_window():
            yield "render mode 'human' was not checked: there is no display; SDL_VIDEODRIVER=dummy works without one"
            continue
        with env.spec.make(render_mode=mode) as another:
            require(another.render_mode == mode, f"made with render_mode={mode!r}, it has {another.render_mode!r}")
            _check_frames(another, mode)


def _check_frames(env: Env[Any, Any], mode: str) -> None:
    env.reset()
    first = env.render()
    check_frame(mode, first)
    rule = f"two frames of render_mode {mode!r} share memory, and users keep what they are given"
    require(not _share_memory(first, env.render()), rule, remedy="return copies")


CHECKS: tuple[Callable[[Env[Any, Any]], Iterator[str] | None], ...] = (
    _check_layers,
    check_spaces,
    _check_signatures,
    _check_metadata,
    _check_reset,
    _check_seeding,
    _check_step,
    _check_reuse,
    _check_closing,
)


def _compare(one: Any, other: Any, what: str, remedy: str) -> Iterator[str]:
    """Yield a message for nearly equal values; raise an error for different ones."""
    require(_same(one, other, exact=False), f"{what} differ: {one!r} and {other!r}", remedy=remedy)
    if not _same(one, other, exact=True):
        yield f"{what} are similar, but not equal: {one!r} and {other!r}; {remedy}"


def _same(one: Any, other: Any, exact: bool) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], exact) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(_same(a, b, exact) for a, b in zip(one, other, strict=True))
    if hasattr(one, "dtype") and hasattr(one, "shape"):
        a, b = np.asarray(one), np.asarray(other)
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        is_real = a.dtype.kind == "f"
        return np.array_equal(a, b, equal_nan=is_real) if exact or not is_real else np.allclose(a, b, 1e-5, 1e-5, True)
    if isinstance(one, float) and not exact:
        return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-5)
    return bool(one == other)


def _share_memory(one: Any, other: Any) -> bool:
    """Check whether two results share memory or mutable containers."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.shares_memory(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one is other or any(_share_memory(one[key], other[key]) for key in one.keys() & other.keys())
    if isinstance(one, list) and one is other:
        return True
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return any(_share_memory(a, b) for a, b in zip(one, other, strict=False))
    return False
