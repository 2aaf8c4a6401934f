"""Arcade games that are computed by JAX alone."""

from funcenv.envs.arcade.asterix import Asterix, AsterixState
from funcenv.envs.arcade.atari_breakout import AtariBreakout, AtariBreakoutState
from funcenv.envs.arcade.breakout import Breakout, BreakoutState
from funcenv.envs.arcade.freeway import Freeway, FreewayState
from funcenv.envs.arcade.pong import Pong, PongState
from funcenv.envs.arcade.seaquest import Seaquest, SeaquestState
from funcenv.envs.arcade.space_invaders import SpaceInvaders, SpaceInvadersState

__all__ = [
    "Asterix",
    "AsterixState",
    "AtariBreakout",
    "AtariBreakoutState",
    "Breakout",
    "BreakoutState",
    "Freeway",
    "FreewayState",
    "Pong",
    "PongState",
    "Seaquest",
    "SeaquestState",
    "SpaceInvaders",
    "SpaceInvadersState",
]
