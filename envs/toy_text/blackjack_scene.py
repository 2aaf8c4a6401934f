"""The drawing of Blackjack."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import Camera, Line, Rectangle, Repeat, Scene, Shape, Sprite, Text, digits, letters, palette, rgba
from funcenv.struct import NDArray

MAX_CARDS = 6
"""The cards of a hand that are drawn."""

_DEALER_Y, _PLAYER_Y = 1.08, -1.08  # centres of the two rows of cards
_FIRST_X, _ROW_WIDTH, _WIDEST_STEP = -2.05, 2.6, 1.1  # centre of the first card; from it to the last; card to card
_COUNT_X = 1.88
_CARD_SIZE = 0.98, 1.38
_HALF_ADVANCE = 3 / 7  # half the distance from one letter to the next, for letters of height 1
_SUITS = (  # hearts, spades, diamonds, clubs
    """
    .##...##.
    ####.####
    #########
    #########
    #########
    .#######.
    ..#####..
    ...###...
    ....#....
    """,
    """
    ....#....
    ...###...
    ..#####..
    .#######.
    #########
    #########
    .###.###.
    ....#....
    ..#####..
    """,
    """
    ....#....
    ...###...
    ..#####..
    .#######.
    #########
    .#######.
    ..#####..
    ...###...
    ....#....
    """,
    """
    ...###...
    ..#####..
    ..#####..
    .##.#.##.
    #########
    #########
    .##.#.##.
    ....#....
    ..#####..
    """,
)


class VisibleHand(NamedTuple):
    """The visible part of a hand."""

    count: Any
    ranks: Any  # [MAX_CARDS] from the first card, 1 (an ace) to 10; 0: no card
    num_open: Any  # cards that lie face up, from the first one


def draw_blackjack(player: VisibleHand, dealer: VisibleHand, usable_ace: Any, payoff: Any, over: Any) -> Scene:
    """Return the table with both hands, their counts and the result.

    Suits have no meaning in the game. A card's suit follows from its rank and place.

    Args:
        player: hand of the player.
        dealer: hand of the dealer; its count appears when the game is over.
        usable_ace: whether the player has an ace that counts 11.
        payoff: payoff of the game, whose sign tells who won.
        over: whether the game is over.

    >>> hand = VisibleHand(jnp.int32(17), jnp.array([1, 6, 0, 0, 0, 0]), jnp.int32(2))
    >>> len(draw_blackjack(hand, hand, True, jnp.float32(0.0), jnp.array(False)).shapes)
    8
    """
    usable, over = jnp.float32(usable_ace), jnp.float32(over)
    return Scene(
        camera=Camera((0.0, 0.0), 6.0, 5.0),
        shapes=(
            *_cards((dealer, player), (_DEALER_Y, _PLAYER_Y)),
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


def _cards(hands: tuple[VisibleHand, VisibleHand], rows: tuple[float, float]) -> tuple[Shape, ...]:
    """Return all cards, their ranks and their suits; cards that lie face down are blue."""
    cards, ranks, pips = [], [], []
    for number, (hand, y) in enumerate(zip(hands, rows, strict=True)):
        count = jnp.sum(hand.ranks > 0)
        step = jnp.minimum(_WIDEST_STEP, _ROW_WIDTH / jnp.maximum(jnp.float32(count) - 1, 1))
        for i in range(MAX_CARDS):
            rank, x = hand.ranks[i], _FIRST_X + i * step
            there, is_open = i < count, i < hand.num_open
            suit = (rank + i + 2 * number) % 4
            ink = rgba(jnp.where(suit % 2 == 0, palette.RED, palette.INK), there & is_open)
            whole = (i == count - 1) | (step >= _WIDEST_STEP)  # no other card lies on it
            paper = jnp.where(is_open, palette.WHITE, palette.BLUE)
            edge = jnp.where(is_open, palette.STONE, palette.WHITE)
            cards.append(
                Rectangle((x, y), _CARD_SIZE, rgba(paper, there), None, 0.1, rgba(edge, there), 0.04),
            )
            ranks.append(Text((x - 0.42, y + 0.44), _rank_letters(rank), 0.3, ink, "left"))
            at = x + jnp.where(whole, 0.08, -0.3), y - jnp.where(whole, 0.2, -0.08)
            pips.append(Sprite(at, (jnp.where(whole, 0.56, 0.24),) * 2, _pips()[suit], ink[3]))
    return Repeat.stack(cards), Repeat.stack(ranks), Repeat.stack(pips)


def _rank_letters(rank: jax.Array) -> jax.Array:
    """Return A, or 2 to 10, as two characters."""
    ten = rank == 10
    left = jnp.where(ten, ord("1"), jnp.where(rank == 1, ord("A"), ord("0") + rank))
    return jnp.stack([left, jnp.where(ten, ord("0"), ord(" "))])


def _pips() -> jax.Array:
    """Return the images of the four suits."""
    return jnp.asarray(_pip_images())


@functools.cache
def _pip_images() -> NDArray:
    images = []
    for i, suit in enumerate(_SUITS):
        inked = np.array([[mark == "#" for mark in row] for row in suit.split()])
        color = (np.asarray(palette.INK if i % 2 else palette.RED) * 255).round().astype(np.uint8)
        images.append(np.where(inked[..., None], color, np.uint8(0)))
    return np.stack(images)


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
