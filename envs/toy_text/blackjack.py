"""Play Blackjack against a dealer with a fixed rule, from an infinite deck.

Example 5.1 of Sutton and Barto, "Reinforcement Learning: An Introduction", 2nd edition, 2018. Number cards count their
number and face cards 10. An ace counts 11, or 1 if 11 would bust the hand. Cards are dealt with replacement, so 10 is
four times as likely as any other value. The dealer shows one of two cards, and draws to 17. Rules and rewards are those
of Gymnasium 1.4.0's `Blackjack-v1`. One thing differs: steps after the end draw more cards there; here they change
nothing and pay 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from funcenv.envs.toy_text.blackjack_scene import MAX_CARDS, VisibleHand, draw_blackjack
from funcenv.func_env import FuncEnv
from funcenv.scene import Scene
from funcenv.spaces import Discrete, Tuple
from funcenv.struct import PyTreeNode, field

MAX_DEALER_DRAWS = 10
"""The most cards that a dealer draws: the longest hand is A A, four more aces, a 6, and five more aces."""

_CARDS_PER_WORD = 4  # a 32-bit number modulo 13**4 is uniform to within 13**4 / 2**32 < 7e-6 of each probability


class Hand(PyTreeNode):
    """The cards of a hand, and what follows from them."""

    total: Int[Array, ""]  # sum of the cards, with every ace as 1
    has_ace: Bool[Array, ""]
    cards: UInt32[Array, ""]  # the last eight, 4 bits each, the newest in the lowest bits

    @classmethod
    def of(cls, *cards: Int[Array, ""]) -> Hand:
        """Return the hand of some cards, each 1 (ace) to 10.

        >>> hand = Hand.of(jnp.int32(1), jnp.int32(6))
        >>> int(hand.value), bool(hand.usable_ace)
        (17, True)
        """
        hand = cls(total=jnp.zeros((), jnp.int32), has_ace=jnp.zeros((), bool), cards=jnp.zeros((), jnp.uint32))
        for card in cards:
            hand = hand.draw(card, jnp.ones((), bool))
        return hand

    def draw(self, card: Int[Array, ""], condition: Bool[Array, ""]) -> Hand:
        """Return the hand with one more card where the condition holds, else the same hand."""
        return Hand(
            total=self.total + jnp.where(condition, card, 0),
            has_ace=self.has_ace | (condition & (card == 1)),
            cards=jnp.where(condition, self.cards << 4 | card.astype(jnp.uint32), self.cards),
        )

    @property
    def usable_ace(self) -> Bool[Array, ""]:
        """True if an ace counts 11."""
        return self.has_ace & (self.total + 10 <= 21)

    @property
    def value(self) -> Int[Array, ""]:
        """The best count, which may be above 21."""
        return self.total + jnp.where(self.usable_ace, 10, 0)

    @property
    def is_bust(self) -> Bool[Array, ""]:
        """True if the count is above 21."""
        return self.total > 21

    @property
    def score(self) -> Int[Array, ""]:
        """The best count, or 0 if it is above 21."""
        return jnp.where(self.is_bust, 0, self.value)

    @property
    def is_natural(self) -> Bool[Array, ""]:
        """True if the hand is an ace and a 10, as dealt."""
        return (self.cards < 1 << 8) & (self.value == 21)  # 21 takes two cards or more

    @property
    def ranks(self) -> list[Int[Array, ""]]:
        """The last eight cards, the newest first, 1 (ace) to 10; 0 where there are fewer."""
        return [(self.cards >> 4 * place & 15).astype(jnp.int32) for place in range(8)]

    @property
    def num_cards(self) -> Int[Array, ""]:
        """The number of cards, up to eight."""
        return sum(((rank > 0).astype(jnp.int32) for rank in self.ranks), jnp.zeros((), jnp.int32))


class BlackjackState(PyTreeNode):
    """Both hands, and whether the game is over."""

    player: Hand
    dealer: Hand  # both cards, of which one is visible
    dealer_card: Int[Array, ""]  # the visible card, 1 (ace) to 10
    over: Bool[Array, ""]  # the player has stuck or is bust


class Blackjack(FuncEnv[BlackjackState, Int[Array, ""], tuple[Int[Array, ""], Int[Array, ""], Int[Array, ""]]]):
    """Blackjack.

    Observation: three int32 `[]`: the player's count (4 to 31), the card that the dealer shows (1 to 10), and whether
        the player has a usable ace (0 or 1).

    Action: 0 sticks, after which the dealer plays; 1 hits, and so does any other integer.

    Reward: at the end, 1 for the higher count, 0 for equal counts, and -1 for the lower count or a bust; 0 for all
        other steps. A natural is an ace and a 10, as dealt. With `natural`, a win with a natural pays 1.5. With `sab`,
        the player's natural wins against everything but a natural of the dealer.

    Termination: the player sticks, or is bust.

    Initial state: two random cards each.

    Args:
        natural: whether a win with a natural pays 1.5.
        sab: whether to use the rules of Sutton and Barto, which ignore `natural`; true for `Blackjack-v1`.

    >>> import funcenv
    >>> env = Blackjack(sab=True)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 0, funcenv.key(1))
    >>> bool(timestep.terminated), float(timestep.reward) in (-1.0, 0.0, 1.0)
    (True, True)
    """

    natural: bool = field(pytree_node=False, default=False)
    sab: bool = field(pytree_node=False, default=False)

    render_fps = 4  # Gymnasium's value
    action_names = ("stick", "hit")

    def initial(self, key: jax.Array) -> BlackjackState:
        """Return two random cards for each player."""
        shown, hidden, first, second = deal(key, 4)
        return BlackjackState(
            player=Hand.of(first, second),
            dealer=Hand.of(shown, hidden),
            dealer_card=shown,
            over=jnp.zeros((), bool),
        )

    def transition(self, state: BlackjackState, action: Int[Array, ""], key: jax.Array) -> BlackjackState:
        """Deal one card to the player, or as many as the dealer draws."""
        hits, sticks = (action != 0) & ~state.over, (action == 0) & ~state.over
        cards = deal(key, MAX_DEALER_DRAWS)
        player, dealer = state.player.draw(cards[0], hits), state.dealer
        for card in cards:
            dealer = dealer.draw(card, sticks & (dealer.value < 17))
        return state.replace(player=player, dealer=dealer, over=state.over | sticks | player.is_bust)

    def observation(
        self, state: BlackjackState, key: jax.Array
    ) -> tuple[Int[Array, ""], Int[Array, ""], Int[Array, ""]]:
        """Return what the player can see."""
        del key
        return state.player.value, state.dealer_card, state.player.usable_ace.astype(jnp.int32)

    def reward(self, state: BlackjackState, action: Int[Array, ""], next_state: BlackjackState) -> Float[Array, ""]:
        """Return the payoff at the step that ends the game, else 0."""
        del action
        return jnp.where(next_state.over & ~state.over, self._payoff(next_state), 0.0)

    def terminal(self, state: BlackjackState) -> Bool[Array, ""]:
        """Return whether the game is over."""
        return state.over

    @property
    def observation_space(self) -> Tuple:
        """The spaces of Gymnasium, which are slightly larger than needed."""
        return Tuple([Discrete(32), Discrete(11), Discrete(2)])

    @property
    def action_space(self) -> Discrete:
        """Stick or hit."""
        return Discrete(2)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward: a loss and the best win."""
        return -1.0, 1.5 if self.natural and not self.sab else 1.0

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the keys: S sticks, H hits."""
        return {"s": 0, "h": 1}

    def scene(self, state: BlackjackState) -> Scene:
        """Draw the table; the dealer's other cards, count and the result appear at the end."""
        player, dealer = state.player, state.dealer
        return draw_blackjack(
            player=VisibleHand(player.value, _dealt_ranks(player), jnp.int32(MAX_CARDS)),
            dealer=VisibleHand(dealer.value, _dealt_ranks(dealer), jnp.where(state.over, MAX_CARDS, 1)),
            usable_ace=player.usable_ace,
            payoff=self._payoff(state),
            over=state.over,
        )

    def _payoff(self, state: BlackjackState) -> Float[Array, ""]:
        """Return the payoff of a game that is over."""
        player, dealer = state.player, state.dealer
        payoff = jnp.sign(player.score - dealer.score).astype(float)
        if self.sab:
            payoff = jnp.where(player.is_natural & ~dealer.is_natural, 1.0, payoff)
        elif self.natural:
            payoff = jnp.where(player.is_natural & (payoff > 0), 1.5, payoff)
        return payoff


def _dealt_ranks(hand: Hand) -> Int[Array, "6"]:
    """Return the ranks of the cards that are drawn, in the order in which they were dealt, and zeros after them."""
    ranks = jnp.stack(hand.ranks)
    places = hand.num_cards - 1 - jnp.arange(MAX_CARDS, dtype=jnp.int32)
    return jnp.where(places >= 0, ranks[jnp.maximum(places, 0)], 0)


def deal(key: jax.Array, num_cards: int) -> list[Int[Array, ""]]:
    """Return independent cards, each int32: 1 (ace) to 9 with probability 1/13 each, 10 with probability 4/13.

    >>> import funcenv
    >>> cards = deal(funcenv.key(0), 5)
    >>> len(cards), all(1 <= int(card) <= 10 for card in cards)
    (5, True)
    """
    cards: list[Int[Array, ""]] = []
    for word in jax.random.bits(key, (-(-num_cards // _CARDS_PER_WORD),), jnp.uint32):
        for _ in range(min(_CARDS_PER_WORD, num_cards - len(cards))):
            rank = (word % jnp.uint32(13)).astype(jnp.int32) + 1
            cards.append(jnp.minimum(rank, 10))
            word = word // jnp.uint32(13)
    return cards
