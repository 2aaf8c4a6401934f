"""The drawing of Blackjack."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import Camera, Line, Rectangle, Repeat, Scene, Shape, Text, digits, letters, palette, rgba

_DEALER_Y, _PLAYER_Y = 1.08, -1.08  # centres of the two rows of cards
_FIRST_X, _SECOND_X, _CARD_STEP = (
    -1.75,
    -0.55,
    0.25,
)  # centres of the first two cards, and the offset of each further one
_COUNT_X = 1.75
_MAX_CARDS = 5  # drawn per hand
_CARD_SIZE = 0.98, 1.38
_HALF_ADVANCE = 3 / 7  # half the distance from one letter to the next, for letters of height 1


class VisibleHand(NamedTuple):
    """The visible facts about a hand."""

    count: Any
    num_cards: Any
    rank: Any  # of the first card, 1 (an ace) to 10; 0: face down


def draw_blackjack(player: VisibleHand, dealer: VisibleHand, payoff: Any, over: Any) -> Scene:
    """Return the table with both hands, their counts and the result.

    Cards whose rank is not in the state are face down. At most five cards of a hand are drawn.

    Args:
        player: hand of the player; its first card is a usable ace, or face down.
        dealer: hand of the dealer; its count appears when the game is over.
        payoff: payoff of the game, whose sign tells who won.
        over: whether the game is over.

    >>> hand = VisibleHand(jnp.int32(17), jnp.int32(2), jnp.int32(1))
    >>> len(draw_blackjack(hand, hand, jnp.float32(0.0), jnp.array(False)).shapes)
    10
    """
    usable, over = jnp.float32(player.rank > 0), jnp.float32(over)
    return Scene(
        camera=Camera((0.0, 0.0), 6.0, 5.0),
        shapes=(
            _cards(dealer, player),
            *_face(dealer.rank, _DEALER_Y, 1.0),
            *_face(player.rank, _PLAYER_Y, usable),
            _labels(usable),
            _count(jnp.where(over > 0, digits(dealer.count, 2), letters(" ?")), _DEALER_Y),
            _count(digits(player.count, 2), _PLAYER_Y),
            *_outcome(player.count > 21, payoff, over),
        ),
        backdrop=(
            Rectangle((0.0, 0.0), (5.7, 4.7), palette.FELT, None, 0.5, palette.EARTH, 0.14),
            Line((-2.4, 0.0), (2.4, 0.0), 0.03, rgba(palette.LEAF, 0.35)),
        ),
        background=palette.PAPER,
    )


def _cards(dealer: VisibleHand, player: VisibleHand) -> Repeat:
    """Return all cards: white ones are face up, blue ones face down."""
    across = (_FIRST_X, _SECOND_X, *(_SECOND_X + _CARD_STEP * i for i in range(1, _MAX_CARDS - 1)))
    cards = [
        Rectangle(
            (x, row),
            _CARD_SIZE,
            rgba(jnp.where((hand.rank > 0) & (i == 0), palette.WHITE, palette.BLUE), i < hand.num_cards),
            corner_radius=0.1,
            outline=rgba(palette.WHITE, i < hand.num_cards),
            outline_width=0.07,
        )
        for row, hand in ((_DEALER_Y, dealer), (_PLAYER_Y, player))
        for i, x in enumerate(across)
    ]
    return Repeat.stack(cards)


def _labels(usable: jax.Array) -> Repeat:
    """Return all labels as one shape, which compiles faster."""
    return Repeat(
        Text(
            position=np.array(
                [(_COUNT_X, _DEALER_Y + 0.7), (_COUNT_X, _PLAYER_Y + 0.7), (_COUNT_X, _PLAYER_Y - 0.7)], np.float32
            ),
            codes=np.stack([letters(text) for text in ("DEALER", "PLAYER", "ACE=11")]),
            height=np.full(3, 0.2, np.float32),
            color=jnp.stack([palette.LEAF, palette.LEAF, rgba(palette.YELLOW, usable)]),
        )
    )


def _face(rank: jax.Array, row: float, alpha: Any) -> tuple[Shape, ...]:
    """Return a diamond, and A or 2 to 10, centred whether it has one letter or two."""
    height, ten = 0.52, rank == 10
    left = jnp.where(ten, ord("1"), jnp.where(rank == 1, ord("A"), ord("0") + rank))
    right = jnp.where(ten, ord("0"), ord(" "))
    x = _FIRST_X + jnp.where(ten, 0.0, _HALF_ADVANCE * height)
    color = rgba(palette.RED, alpha)
    return (
        Rectangle((_FIRST_X, row - 0.36), (0.24, 0.24), color, angle=math.pi / 4),
        Text((x, row + 0.22), jnp.stack([left, right]), height, color),
    )


def _count(codes: jax.Array, row: float) -> Text:
    """Return two characters; if the first is blank, the second one is centred."""
    height = 0.75
    x = _COUNT_X - jnp.where(codes[0] == ord(" "), _HALF_ADVANCE * height, 0.0)
    return Text((x, row), codes, height, palette.WHITE)


def _outcome(bust: jax.Array, payoff: jax.Array, over: jax.Array) -> tuple[Shape, ...]:
    """Return WIN, DRAW, LOSE or BUST on a plate between the rows."""
    won, drawn = payoff > 0, payoff == 0
    text = jnp.where(
        won, letters(" WIN"), jnp.where(drawn, letters("DRAW"), jnp.where(bust, letters("BUST"), letters("LOSE")))
    )
    color = jnp.where(won, palette.YELLOW, jnp.where(drawn, palette.CLOUD, palette.RED))
    ink = jnp.where(won | drawn, palette.INK, palette.WHITE)
    height = 0.3
    x = -0.75 - jnp.where(won, _HALF_ADVANCE * height, 0.0)
    plate = Rectangle((-0.75, 0.0), (1.7, 0.56), rgba(color, over), corner_radius=0.28)
    return plate, Text((x, 0.0), text, height, rgba(ink, over))
