"""Environments of gymnax 1.0 (Lange, 2022)."""

from __future__ import annotations

import importlib
from typing import Any

import jax

from funcenv._compile.options import default_promotion
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Dict, Discrete, Tuple
from funcenv.spaces.space import AnySpace

MINIMUM = 1, 0


@default_promotion()
def from_gymnax(env: Any, params: Any = None, **changes: Any) -> ImportedEnv:
    """Convert an environment of gymnax.

    Its `reset_env` and `step_env` get the keys of `initial` and `transition`. It distinguishes termination from
    truncation since version 1.0, and so does the result; `max_steps_in_episode` is the time limit.

    Args:
        env: an environment, or its id, such as "CartPole-v1".
        params: its parameters; by default `env.default_params`.
        **changes: parameters to change, such as `gravity=1.6`.

    Raises:
        ModuleNotFoundError: gymnax is not installed.
        ImportError: its version is older than 1.0, in which `done` does not tell truncation from termination.
        ValueError: gymnax does not know the id.
        TypeError: there is no such parameter, or a space has no counterpart.
    """
    gymnax, identity = import_library("gymnax", MINIMUM), identity_of(env)
    if isinstance(env, str):
        env, _ = gymnax.make(env)
    params = (env.default_params if params is None else params).replace(**changes)
    spaces = space_from_gymnax(env.observation_space(params)), space_from_gymnax(env.action_space(params))
    return ImportedEnv(params, _Gymnax(env, *spaces, identity))


class _Gymnax(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        observation, state = self.env.reset_env(key, params)
        return Outcome(state, observation)

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        observation, state, reward, terminated, info = self.env.step_env(key, state, action, params)
        return Outcome(state, observation, reward, terminated, self.env.is_truncated(state, params), info)


def space_from_gymnax(space: Any) -> AnySpace:
    """Return the counterpart of a space of gymnax.

    Raises:
        TypeError: there is none.
    """
    spaces = importlib.import_module("gymnax.environments.spaces")

    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n), dtype=space.dtype)
    if isinstance(space, spaces.Box):
        low, high = jax.device_get((space.low, space.high))
        return Box(low, high, tuple(space.shape), space.dtype)
    if isinstance(space, spaces.Dict):
        return Dict({name: space_from_gymnax(part) for name, part in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return Tuple([space_from_gymnax(part) for part in space.spaces])
    raise TypeError(f"{space!r} of gymnax has no counterpart in funcenv.spaces; wrap the environment to change it")
