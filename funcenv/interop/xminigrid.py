"""Grid worlds of XLand-MiniGrid (Nikulin et al., 2023)."""

from __future__ import annotations

from typing import Any

import jax

from funcenv._compile.options import default_promotion
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Dict, Discrete
from funcenv.spaces.space import AnySpace

MINIMUM = 0, 9


@default_promotion()
def from_xminigrid(env: Any, params: Any = None, **arguments: Any) -> ImportedEnv:
    """Convert an environment of XLand-MiniGrid.

    The last step of an episode is a termination if its discount is zero, and else a truncation.

    Args:
        env: an environment, or its id, such as "MiniGrid-Empty-8x8".
        params: its parameters; by default `env.default_params()`.
        **arguments: those of `xminigrid.make`, if `env` is an id.

    Raises:
        ModuleNotFoundError: xminigrid is not installed.
        ImportError: its version is older than 0.9.
        ValueError: xminigrid does not know the id.
    """
    xminigrid, identity = import_library("xminigrid", MINIMUM), identity_of(env, arguments)
    if isinstance(env, str):
        env, made = xminigrid.make(env, **arguments)
        params = made if params is None else params
    params = env.default_params() if params is None else params
    spaces = _observation_space(env, params), Discrete(env.num_actions(params))
    return ImportedEnv(params, _XMiniGrid(env, *spaces, identity))


class _XMiniGrid(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        timestep = self.env.reset(params, key)
        return Outcome(timestep, timestep.observation)

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del key
        timestep = self.env.step(params, state, action)
        has_ended = timestep.discount == 0
        last = timestep.last()
        return Outcome(timestep, timestep.observation, timestep.reward, last & has_ended, last & ~has_ended)

    def image(self, params: Any, state: Any, size: tuple[int, int] | None) -> Any:
        del size
        return self.env.render(params.replace(render_mode="rgb_array"), state)


def _observation_space(env: Any, params: Any) -> AnySpace:
    shapes = jax.eval_shape(env.reset, params, jax.eval_shape(lambda: jax.random.key(0))).observation

    def space(shape: Any) -> AnySpace:
        if isinstance(shape, dict):
            return Dict({name: space(part) for name, part in shape.items()})
        return Box(0, 255, shape.shape, shape.dtype)

    return space(shapes)
