"""Grid worlds of NAVIX (Pignatelli et al., 2024)."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np

from funcenv._compile.options import default_promotion
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Discrete
from funcenv.spaces.space import AnySpace

MINIMUM = 0, 7


@default_promotion()
def from_navix(env: Any, **arguments: Any) -> ImportedEnv:
    """Convert an environment of NAVIX.

    Its state carries random numbers of its own; the keys of steps are not used. Its info, which is
    the return so far, is left out.

    Args:
        env: an environment, or its id, such as "Navix-Empty-8x8-v0".
        **arguments: those of `navix.make`, if `env` is an id.

    Raises:
        ModuleNotFoundError: navix is not installed.
        ImportError: its version is older than 0.7.
        TypeError: a space has no counterpart.
    """
    navix = import_library("navix", MINIMUM)
    identity = identity_of(env, arguments)
    env = navix.make(env, **arguments) if isinstance(env, str) else env
    return ImportedEnv(None, _Navix(env, _space(env.observation_space), _space(env.action_space), identity))


class _Navix(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        del params
        timestep = self.env.reset(key)
        return Outcome(timestep, timestep.observation)

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del params, key
        state = state.replace(info=dict(state.info))  # NAVIX writes into the dict
        timestep = self.env._step(state, action)  # `step` resets after an end
        return Outcome(
            timestep, timestep.observation, timestep.reward, timestep.is_termination(), timestep.is_truncation()
        )

    def image(self, params: Any, state: Any, size: tuple[int, int] | None) -> Any:
        del params, size
        return importlib.import_module("navix.observations").rgb(state.state)


def _space(space: Any) -> AnySpace:
    low, high = (np.asarray(bound) for bound in (space.minimum, space.maximum))
    if type(space).__name__ == "Discrete" and space.shape == ():
        return Discrete(int(high) + 1)
    return Box(np.broadcast_to(low, space.shape), np.broadcast_to(high, space.shape), space.shape, space.dtype)
