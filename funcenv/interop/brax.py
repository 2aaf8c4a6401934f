"""Environments of brax (Freeman et al., 2021) and of MuJoCo Playground, which has the same interface."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import jax.numpy as jnp

from funcenv._compile.options import default_promotion
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Dict
from funcenv.spaces.space import AnySpace

MINIMUM = 0, 12


@default_promotion()
def from_brax(env: Any, **arguments: Any) -> ImportedEnv:
    """Convert an environment of brax or MuJoCo Playground.

    Convert the bare environment, without brax's wrappers for training: time limits and resets are those of funcenv. If
    there is an `EpisodeWrapper`, its `info["truncation"]` is read. The state carries brax's own random numbers, so the
    keys of steps are not used.

    Args:
        env: an environment, or the name of one of brax's, such as "ant".
        **arguments: those of `brax.envs.get_environment`, if `env` is a name.

    Raises:
        ModuleNotFoundError: `env` is a name, and brax is not installed.
        ImportError: brax is older than 0.12.
    """
    identity = identity_of(env, arguments)
    if isinstance(env, str):
        import_library("brax", MINIMUM)
        env = importlib.import_module("brax.envs").get_environment(env, **arguments)
    return ImportedEnv(None, _Brax(env, _observation_space(env), Box(-1.0, 1.0, (env.action_size,)), identity))


class _Brax(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        del params
        return _outcome(self.env.reset(key))

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del params, key
        return _outcome(self.env.step(state, action))


def _outcome(state: Any) -> Outcome:
    done, truncated = state.done != 0, jnp.asarray(state.info.get("truncation", 0)) != 0
    return Outcome(state, state.obs, state.reward, done & ~truncated, truncated, state.metrics)


def _observation_space(env: Any) -> AnySpace:
    """Return boxes without bounds: brax states none."""
    shapes = jax.eval_shape(env.reset, jax.eval_shape(lambda: jax.random.key(0))).obs

    def space(shape: Any) -> AnySpace:
        if isinstance(shape, dict):
            return Dict({name: space(part) for name, part in shape.items()})
        return Box(-jnp.inf, jnp.inf, shape.shape, shape.dtype)

    return space(shapes)
