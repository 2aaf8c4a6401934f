"""The command `funcenv play [ENV_ID] [--terminal]`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import tyro

from funcenv.adapters.playing.play import play, play_in_terminal
from funcenv.adapters.registration import make
from funcenv.func_env import AnyEnv


@dataclasses.dataclass(frozen=True)
class PlayOptions:
    """Options of the command."""

    env_id: tyro.conf.Positional[str] = "CartPole-v1"
    """id of the environment"""
    terminal: bool = False
    """play in this terminal, for example over SSH, instead of in a window"""
    fps: float | None = None
    """steps per second; by default the environment's own frame rate"""
    zoom: float = 1.0
    """size of the window relative to a frame"""
    seed: int | None = None
    """seed of the first episode"""
    wait: bool | None = None
    """step only when a key is pressed; by default if no observation is continuous"""


def run(arguments: Sequence[str]) -> int:
    """Play until the player leaves, and return the exit status."""
    about = "Play with the keyboard, until the window is closed or escape is pressed."
    options = tyro.cli(PlayOptions, prog="funcenv play", description=about, args=arguments)
    with make(options.env_id, render_mode="ansi" if options.terminal else "rgb_array") as env:
        wait = is_turn_based(env.get_wrapper_attr("func_env")) if options.wait is None else options.wait
        if options.terminal:
            play_in_terminal(env, fps=options.fps, seed=options.seed, wait_on_player=wait)
        else:
            play(env, fps=options.fps, zoom=options.zoom, seed=options.seed, wait_on_player=wait)
    return 0


def is_turn_based(env: AnyEnv) -> bool:
    """Check whether an environment's observations have no continuous part, as in board and card games.

    >>> import funcenv
    >>> is_turn_based(funcenv.make("Blackjack-v1")), is_turn_based(funcenv.make("Pendulum-v1"))
    (True, False)
    """
    leaves = jax.tree.leaves(env.unwrapped.observation_space.abstract_member())
    return not any(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves)
