"""Environments of jumanji (Bonnet et al., 2024)."""

from __future__ import annotations

import copy
import dataclasses
import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.options import default_promotion
from funcenv.interop.figures import figure_image, shown_nowhere
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Dict, Discrete, MultiDiscrete
from funcenv.spaces.space import AnySpace

MINIMUM = 1, 0


@default_promotion()
def from_jumanji(env: Any, **arguments: Any) -> ImportedEnv:
    """Convert an environment of jumanji.

    Its observations are named tuples, which become dictionaries. The last step of an episode is a termination if its
    discount is zero, and else a truncation. Its state carries random numbers of its own; steps do not use
    their keys.

    Args:
        env: an environment, or its id, such as "Game2048-v1".
        **arguments: those of `jumanji.make`, if `env` is an id.

    Raises:
        ModuleNotFoundError: jumanji is not installed.
        ImportError: its version is older than 1.0.
        ValueError: jumanji does not know the id.
        TypeError: a space has no counterpart.
    """
    jumanji, identity = import_library("jumanji", MINIMUM), identity_of(env, arguments)
    env = jumanji.make(env, **arguments) if isinstance(env, str) else env
    spaces = space_from_spec(env.observation_spec), space_from_spec(env.action_spec)
    return ImportedEnv(None, _Jumanji(env, *spaces, identity))


class _Jumanji(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        del params
        state, timestep = self.env.reset(key)
        return Outcome(state, plain_observation(timestep.observation))

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del params, key
        state, timestep = self.env.step(state, action)
        has_ended = jnp.all(timestep.discount == 0)
        info = timestep.extras or {}
        observation = plain_observation(timestep.observation)
        return Outcome(
            state, observation, timestep.reward, timestep.last() & has_ended, timestep.last() & ~has_ended, info
        )

    def image(self, params: Any, state: Any, size: tuple[int, int] | None) -> Any:
        del params, size
        viewer = copy.copy(self.env.unwrapped._viewer)  # jumanji has no other way to it
        viewer._name, viewer._display = f"{self.env} as an array", figure_image
        with shown_nowhere():
            return viewer.render(state)


def space_from_spec(spec: Any) -> AnySpace:
    """Return the counterpart of a specification of jumanji.

    Raises:
        TypeError: there is none.
    """
    specs = importlib.import_module("jumanji.specs")

    if isinstance(spec, specs.DiscreteArray):
        return Discrete(int(spec.num_values), dtype=spec.dtype)
    if isinstance(spec, specs.MultiDiscreteArray):
        return MultiDiscrete(np.asarray(spec.num_values), dtype=spec.dtype)
    if isinstance(spec, specs.BoundedArray):
        low, high = (np.asarray(bound, _box_dtype(spec.dtype)) for bound in (spec.minimum, spec.maximum))
        return Box(low, high, spec.shape, _box_dtype(spec.dtype))
    if isinstance(spec, specs.Array):
        return Box(*_limits(spec.dtype), spec.shape, _box_dtype(spec.dtype))
    if isinstance(spec, specs.Spec) and spec._specs:
        return Dict({name: space_from_spec(part) for name, part in spec._specs.items()})
    raise TypeError(f"{spec!r} of jumanji has no counterpart in funcenv.spaces; wrap the environment to change it")


def _box_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of a box that holds numbers of a dtype: flags become bytes."""
    return np.dtype(np.uint8) if np.dtype(dtype) == bool else np.dtype(dtype)


def _limits(dtype: Any) -> tuple[Any, Any]:
    if np.dtype(dtype) == bool:
        return 0, 1
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return -np.inf, np.inf


def plain_observation(observation: Any) -> Any:
    """Return dictionaries in place of named tuples and dataclasses."""
    if hasattr(observation, "_asdict"):
        return {name: plain_observation(part) for name, part in observation._asdict().items()}
    if dataclasses.is_dataclass(observation):
        entries = [entry.name for entry in dataclasses.fields(observation)]
        return {name: plain_observation(getattr(observation, name)) for name in entries}
    return observation
