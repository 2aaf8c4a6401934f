"""The games that `ale-py` contains, and the ids that Gymnasium has for them.

A step of `-v0` and `-v4` lasts for 2 to 4 frames at random, of `NoFrameskip` for 1, of `-v5` for 4. In `-v0` and `-v5`,
every frame repeats the action of the frame before it with a probability of 0.25 ("sticky actions").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_OLD = """
    adventure air_raid alien amidar assault asterix asteroids atlantis bank_heist battle_zone beam_rider berzerk
    bowling boxing breakout carnival centipede chopper_command crazy_climber defender demon_attack double_dunk
    elevator_action enduro fishing_derby freeway frostbite gopher gravitar hero ice_hockey jamesbond journey_escape
    kangaroo krull kung_fu_master montezuma_revenge ms_pacman name_this_game phoenix pitfall pong pooyan private_eye
    qbert riverraid road_runner robotank seaquest skiing solaris space_invaders star_gunner tennis time_pilot
    tutankham up_n_down venture video_pinball wizard_of_wor yars_revenge zaxxon
"""
_NEW = """
    atlantis2 backgammon basic_math blackjack casino crossbow darkchambers donkey_kong earthworld entombed et
    flag_capture frogger galaxian hangman haunted_house human_cannonball kaboom keystone_kapers king_kong klax
    koolaid laser_gates lost_luggage mario_bros miniature_golf mr_do othello pacman pitfall2 sir_lancelot space_war
    superman surround tetris tic_tac_toe_3d trondead turmoil video_checkers video_chess video_cube word_zapper
"""
OLD_GAMES = tuple(_OLD.split())  # games with ids of the versions 0 and 4 as well
GAMES = tuple(sorted((*OLD_GAMES, *_NEW.split())))
MAX_NUM_FRAMES = 108_000  # length of an episode at most: half an hour


def game_ids() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the ids, and the parameters of each.

    >>> ids = dict(game_ids())
    >>> len(ids), ids["PongNoFrameskip-v4"]["frameskip"]
    (352, 1)
    """
    for game in GAMES:
        yield f"ALE/{_title(game)}-v5", _parameters(game, 0.25, 4)
    for game in OLD_GAMES:
        for suffix, frameskip in (("", (2, 5)), ("NoFrameskip", 1)):
            for version, probability in ((0, 0.25), (4, 0.0)):
                yield f"{_title(game)}{suffix}-v{version}", _parameters(game, probability, frameskip)


def _title(game: str) -> str:
    """Return the name of a game in ids.

    >>> _title("space_invaders"), _title("pitfall2"), _title("tic_tac_toe_3d")
    ('SpaceInvaders', 'Pitfall2', 'TicTacToe3D')
    """
    return game.title().replace("_", "")


def _parameters(game: str, probability: float, frameskip: int | tuple[int, int]) -> dict[str, Any]:
    return {
        "game": game,
        "repeat_action_probability": probability,
        "frameskip": frameskip,
        "max_num_frames_per_episode": MAX_NUM_FRAMES,
    }
