"""Games for one player of pgx (Koyamada et al., 2023)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv._compile.options import default_promotion
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Discrete
from funcenv.spaces.space import AnySpace

MINIMUM = 2, 0


@default_promotion()
def from_pgx(env: Any) -> ImportedEnv:
    """Convert a game of pgx for one player.

    `info["action_mask"]` holds the legal actions, as int8. An illegal one ends the game with the penalty of pgx.

    Args:
        env: a game, or its id, such as "minatar-breakout".

    Raises:
        ModuleNotFoundError: pgx is not installed.
        ImportError: its version is older than 2.0.
        ValueError: pgx does not know the id, or the game has several players.
    """
    pgx, identity = import_library("pgx", MINIMUM), identity_of(env)
    env = pgx.make(env) if isinstance(env, str) else env
    if env.num_players != 1:
        raise ValueError(f"{env.id} has {env.num_players} players; from_pgx takes games for one, such as 2048")
    return ImportedEnv(None, _Pgx(env, _observation_space(env), Discrete(env.num_actions), identity))


class _Pgx(Source):
    undrawn = "draws SVG, and no image"

    def reset(self, params: Any, key: jax.Array) -> Outcome:
        del params
        return _outcome(self.env.init(key))

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del params
        return _outcome(self.env.step(state, action, key))


def _outcome(state: Any) -> Outcome:
    info = {"action_mask": state.legal_action_mask.astype(jnp.int8)}
    return Outcome(state, state.observation, state.rewards[0], state.terminated, state.truncated, info)


def _observation_space(env: Any) -> AnySpace:
    shape = jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0))).observation
    if shape.dtype == bool:
        return Box(0, 1, shape.shape, jnp.uint8)
    return Box(-jnp.inf, jnp.inf, shape.shape, shape.dtype)
