"""Environments of Craftax (Matthews et al., 2024)."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import jax
import numpy as np

from funcenv._compile.options import default_promotion
from funcenv.interop.gymnax import space_from_gymnax
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library

MINIMUM = 1, 6
_SPACES = "craftax.environment_base.spaces"
_NEVER = np.iinfo(np.int32).max


@default_promotion()
def from_craftax(env: Any, params: Any = None, **changes: Any) -> ImportedEnv:
    """Convert an environment of Craftax.

    Its `reset_env` and `step_env` get the keys of `initial` and `transition`. Its flag `done` includes the time limit,
    `max_timesteps`; here a termination is what ends the game without that limit, and reaching the limit a truncation.

    Args:
        env: an environment, or its name, such as "Craftax-Classic-Symbolic-v1".
        params: its parameters; by default `env.default_params`.
        **changes: parameters to change, such as `max_timesteps=500`.

    Raises:
        ModuleNotFoundError: Craftax is not installed.
        ImportError: its version is older than 1.6.
        ValueError: Craftax does not know the name.
        TypeError: there is no such parameter, or a space has no counterpart.
    """
    import_library("craftax", MINIMUM)
    identity = identity_of(env)
    if isinstance(env, str):
        env = importlib.import_module("craftax.craftax_env").make_craftax_env_from_name(env, auto_reset=False)
    params = (env.default_params if params is None else params).replace(**changes)
    observation_space = space_from_gymnax(env.observation_space(params), _SPACES)
    action_space = space_from_gymnax(env.action_space(params), _SPACES)
    return ImportedEnv(params, _Craftax(env, observation_space, action_space, identity))


class _Craftax(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        observation, state = self.env.reset_env(key, params)
        return Outcome(state, observation)

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        observation, state, reward, _, info = self.env.step_env(key, state, action, params)
        terminated = self.env.is_terminal(state, params.replace(max_timesteps=_NEVER))
        return Outcome(state, observation, reward, terminated, state.timestep >= params.max_timesteps, info)

    def image(self, params: Any, state: Any, size: tuple[int, int] | None) -> Any:
        del params, size
        game = ".".join(type(self.env).__module__.split(".")[:2])  # craftax.craftax or craftax.craftax_classic
        return _renderer(f"{game}.renderer")(state)


@functools.lru_cache(maxsize=4)
def _renderer(module: str) -> Any:
    """Return Craftax's function that draws a state in blocks of 16 pixels."""
    return jax.jit(importlib.import_module(module).make_craftax_pixel_renderer(16))
