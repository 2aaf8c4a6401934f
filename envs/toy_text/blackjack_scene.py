"""The picture of Blackjack: a table, what is known of the cards on it, both counts, and how it ended."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import Camera, Line, Rectangle, Repeat, Scene, Shape, Text, digits, letters, palette, rgba

_DEALER, _PLAYER = 1.08, -1.08  # heights of the middles of the two rows
_FIRST, _SECOND, _APART = -1.75, -0.55, 0.25  # across: the first two cards, and from there on each to the next
_COUNT = 1.75  # across: the counts
_MOST = 5  # cards of a hand that are drawn
_CARD = 0.98, 1.38
_HALF_LETTER = 3 / 7  # half the way from one letter to the next, for letters of height 1


class CardsShown(NamedTuple):
    """What the picture shows of a hand."""

    count: Any
    num_cards: Any
    rank: Any  # of the first card, 1 (an ace) to 10; 0 leaves it face down


def blackjack_scene(player: CardsShown, dealer: CardsShown, payoff: Any, over: Any) -> Scene:
    """The table. Cards whose rank the state does not hold lie face down; of a hand, at most five are drawn.

    Args:
        player: the first card is a usable ace, or face down.
        dealer: the count shows once the game is `over`.
        payoff: its sign tells who won.
        over: whether the game is.

    >>> hand = CardsShown(jnp.int32(17), jnp.int32(2), jnp.int32(1))
    >>> len(blackjack_scene(hand, hand, jnp.float32(0.0), jnp.array(False)).shapes)
    10
    """
    usable, over = jnp.float32(player.rank > 0), jnp.float32(over)
    return Scene(
        camera=Camera((0.0, 0.0), 6.0, 5.0),
        shapes=(
            _cards(dealer, player),
            *_face(dealer.rank, _DEALER, 1.0),
            *_face(player.rank, _PLAYER, usable),
            _labels(usable),
            _count(jnp.where(over > 0, digits(dealer.count, 2), letters(" ?")), _DEALER),
            _count(digits(player.count, 2), _PLAYER),
            *_outcome(player.count > 21, payoff, over),
        ),
        backdrop=(
            Rectangle((0.0, 0.0), (5.7, 4.7), palette.FELT, None, 0.5, palette.EARTH, 0.14),
            Line((-2.4, 0.0), (2.4, 0.0), 0.03, rgba(palette.LEAF, 0.35)),
        ),
        background=palette.PAPER,
    )


def _cards(dealer: CardsShown, player: CardsShown) -> Repeat:
    """White face up, blue face down."""
    across = (_FIRST, _SECOND, *(_SECOND + _APART * i for i in range(1, _MOST - 1)))
    cards = [
        Rectangle(
            (x, row),
            _CARD,
            rgba(jnp.where((hand.rank > 0) & (i == 0), palette.WHITE, palette.BLUE), i < hand.num_cards),
            corner_radius=0.1,
            outline=rgba(palette.WHITE, i < hand.num_cards),
            outline_width=0.07,
        )
        for row, hand in ((_DEALER, dealer), (_PLAYER, player))
        for i, x in enumerate(across)
    ]
    return Repeat(jax.tree.map(lambda *leaves: jnp.stack([jnp.float32(leaf) for leaf in leaves]), *cards))


def _labels(usable: jax.Array) -> Repeat:
    """As one shape, so that they compile fast."""
    return Repeat(
        Text(
            position=np.array([(_COUNT, _DEALER + 0.7), (_COUNT, _PLAYER + 0.7), (_COUNT, _PLAYER - 0.7)], np.float32),
            codes=np.stack([letters(text) for text in ("DEALER", "PLAYER", "ACE=11")]),
            height=np.full(3, 0.2, np.float32),
            color=jnp.stack([palette.LEAF, palette.LEAF, rgba(palette.YELLOW, usable)]),
        )
    )


def _face(rank: jax.Array, row: float, alpha: Any) -> tuple[Shape, ...]:
    """A diamond, and A or 2 to 10, in the middle whether it has one letter or two."""
    height, ten = 0.52, rank == 10
    left = jnp.where(ten, ord("1"), jnp.where(rank == 1, ord("A"), ord("0") + rank))
    right = jnp.where(ten, ord("0"), ord(" "))
    x = _FIRST + jnp.where(ten, 0.0, _HALF_LETTER * height)
    color = rgba(palette.RED, alpha)
    return (
        Rectangle((_FIRST, row - 0.36), (0.24, 0.24), color, angle=math.pi / 4),
        Text((x, row + 0.22), jnp.stack([left, right]), height, color),
    )


def _count(codes: jax.Array, row: float) -> Text:
    """Two characters; if the first is blank, the other one is in the middle."""
    height = 0.75
    x = _COUNT - jnp.where(codes[0] == ord(" "), _HALF_LETTER * height, 0.0)
    return Text((x, row), codes, height, palette.WHITE)


def _outcome(bust: jax.Array, payoff: jax.Array, over: jax.Array) -> tuple[Shape, ...]:
    """WIN, DRAW, LOSE or BUST, on a plate between the rows."""
    won, drawn = payoff > 0, payoff == 0
    text = jnp.where(
        won, letters(" WIN"), jnp.where(drawn, letters("DRAW"), jnp.where(bust, letters("BUST"), letters("LOSE")))
    )
    color = jnp.where(won, palette.YELLOW, jnp.where(drawn, palette.CLOUD, palette.RED))
    ink = jnp.where(won | drawn, palette.INK, palette.WHITE)
    height = 0.3
    x = -0.75 - jnp.where(won, _HALF_LETTER * height, 0.0)
    plate = Rectangle((-0.75, 0.0), (1.7, 0.56), rgba(color, over), corner_radius=0.28)
    return plate, Text((x, 0.0), text, height, rgba(ink, over))
