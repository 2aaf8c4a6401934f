"""`funcenv play [ENV_ID] [--terminal]`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import tyro

import funcenv
from funcenv.adapters.playing.play import play, play_in_terminal
from funcenv.adapters.registration import make
from funcenv.func_env import FuncEnv


@dataclasses.dataclass(frozen=True)
class PlayOptions:
    """How a game is played."""

    env_id: tyro.conf.Positional[str] = "CartPole-v1"
    """the environment"""
    terminal: bool = False
    """in this terminal, say over SSH, instead of a window"""
    fps: float | None = None
    """steps a second; by default the environment's own"""
    zoom: float = 1.0
    """how much larger the window is"""
    seed: int | None = None
    """of the first episode"""
    wait: bool | None = None
    """take a step only when a key is pressed; by default where nothing in the environment is continuous"""


def run(arguments: Sequence[str]) -> int:
    """Play until the player leaves; returns the exit status."""
    about = "Play with the keyboard, until the window is closed or escape is pressed."
    options = tyro.cli(PlayOptions, prog="funcenv play", description=about, args=arguments)
    with make(options.env_id, render_mode="ansi" if options.terminal else "rgb_array") as env:
        wait = is_played_in_turns(env.get_wrapper_attr("func_env")) if options.wait is None else options.wait
        if options.terminal:
            play_in_terminal(env, fps=options.fps, seed=options.seed, wait_on_player=wait)
        else:
            play(env, fps=options.fps, zoom=options.zoom, seed=options.seed, wait_on_player=wait)
    return 0


def is_played_in_turns(env: FuncEnv[Any, Any, Any]) -> bool:
    """Whether nothing that is observed is continuous, as on a board or at cards.

    >>> is_played_in_turns(funcenv.make("Blackjack-v1")), is_played_in_turns(funcenv.make("Pendulum-v1"))
    (True, False)
    """
    observation = jax.eval_shape(env.unwrapped.observation_space.sample, funcenv.key(0))
    return not any(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(observation))
