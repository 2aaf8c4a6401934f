"""Blackjack against a dealer with a fixed rule, from an infinite deck.

Example 5.1 of Sutton and Barto, "Reinforcement Learning: An Introduction", 2nd edition, 2018. Cards count their number,
pictures 10, and an ace 11 unless that would bust the hand, else 1; they are dealt with replacement, so 10 is four times
as likely as any other. The dealer shows one of two cards, and draws to 17. Rules and rewards are Gymnasium 1.4.0's
`Blackjack-v1`. There, steps after the end draw on; here they change nothing and pay 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.envs.toy_text.blackjack_scene import CardsShown, blackjack_scene
from funcenv.func_env import FuncEnv
from funcenv.scene import Scene
from funcenv.spaces import Discrete, Tuple
from funcenv.struct import PyTreeNode, field

MAX_DEALER_DRAWS = 10
"""No dealer draws more: the longest hands go A A, four more aces, 6, and five more aces."""

_CARDS_PER_WORD = 4  # a 32-bit number modulo 13**4 is uniform to within 13**4 / 2**32 < 7e-6 of each probability


class Hand(PyTreeNode):
    """What counts of the cards that somebody holds."""

    total: Int[Array, ""]  # with every ace as 1
    has_ace: Bool[Array, ""]
    num_cards: Int[Array, ""]

    @classmethod
    def of(cls, *cards: Int[Array, ""]) -> Hand:
        """The hand of some cards, each 1 (ace) to 10.

        >>> hand = Hand.of(jnp.int32(1), jnp.int32(6))
        >>> int(hand.value), bool(hand.usable_ace)
        (17, True)
        """
        hand = cls(total=jnp.zeros((), jnp.int32), has_ace=jnp.zeros((), bool), num_cards=jnp.zeros((), jnp.int32))
        for card in cards:
            hand = hand.draw(card, jnp.ones((), bool))
        return hand

    def draw(self, card: Int[Array, ""], condition: Bool[Array, ""]) -> Hand:
        """The hand with one more card, where the condition holds."""
        return Hand(
            total=self.total + jnp.where(condition, card, 0),
            has_ace=self.has_ace | (condition & (card == 1)),
            num_cards=self.num_cards + condition.astype(jnp.int32),
        )

    @property
    def usable_ace(self) -> Bool[Array, ""]:
        """An ace counts 11."""
        return self.has_ace & (self.total + 10 <= 21)

    @property
    def value(self) -> Int[Array, ""]:
        """The best count."""
        return self.total + jnp.where(self.usable_ace, 10, 0)

    @property
    def is_bust(self) -> Bool[Array, ""]:
        """Above 21."""
        return self.total > 21

    @property
    def score(self) -> Int[Array, ""]:
        """The best count, or 0 above 21."""
        return jnp.where(self.is_bust, 0, self.value)

    @property
    def is_natural(self) -> Bool[Array, ""]:
        """An ace and a 10, as dealt."""
        return (self.num_cards == 2) & (self.value == 21)


class BlackjackState(PyTreeNode):
    """The two hands."""

    player: Hand
    dealer: Hand  # both cards, though only one shows
    dealer_card: Int[Array, ""]  # the one that shows, 1 (ace) to 10
    over: Bool[Array, ""]  # the player stuck or is bust


class Blackjack(FuncEnv[BlackjackState, Int[Array, ""], tuple[Int[Array, ""], Int[Array, ""], Int[Array, ""]]]):
    """Blackjack.

    Observation: three int32 `[]`: the player's count (4 to 31), the card that the dealer shows (1 to 10), and whether
        the player has a usable ace (0 or 1).

    Action: 0 sticks, and the dealer plays; anything else hits.

    Reward: at the end 1 for the higher count, 0 for equal ones, -1 for the lower one or a bust; before it, and for
        steps after it, 0. A player who sticks on a natural (an ace and a 10) is paid 1.5 for a win with `natural`, and
        with `sab` wins against everything but a dealer's natural.

    Termination: the player sticks, or is bust.

    Initial state: two random cards each.

    Args:
        natural: a natural that wins pays 1.5.
        sab: the rules of Sutton and Barto; `natural` then plays no part. `Blackjack-v1` is registered with it.

    >>> import funcenv
    >>> env = Blackjack(sab=True)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 0, funcenv.key(1))
    >>> bool(timestep.terminated), float(timestep.reward) in (-1.0, 0.0, 1.0)
    (True, True)
    """

    natural: bool = field(pytree_node=False, default=False)
    sab: bool = field(pytree_node=False, default=False)

    def initial(self, key: jax.Array) -> BlackjackState:
        """Four cards."""
        shown, hidden, first, second = deal(key, 4)
        return BlackjackState(
            player=Hand.of(first, second),
            dealer=Hand.of(shown, hidden),
            dealer_card=shown,
            over=jnp.zeros((), bool),
        )

    def transition(self, state: BlackjackState, action: Int[Array, ""], key: jax.Array) -> BlackjackState:
        """One card for the player, or as many as the dealer takes."""
        hits, sticks = (action != 0) & ~state.over, (action == 0) & ~state.over
        cards = deal(key, MAX_DEALER_DRAWS)
        player, dealer = state.player.draw(cards[0], hits), state.dealer
        for card in cards:
            dealer = dealer.draw(card, sticks & (dealer.value < 17))
        return state.replace(player=player, dealer=dealer, over=state.over | sticks | player.is_bust)

    def observation(
        self, state: BlackjackState, key: jax.Array
    ) -> tuple[Int[Array, ""], Int[Array, ""], Int[Array, ""]]:
        """What the player sees."""
        del key
        return state.player.value, state.dealer_card, state.player.usable_ace.astype(jnp.int32)

    def reward(self, state: BlackjackState, action: Int[Array, ""], next_state: BlackjackState) -> Float[Array, ""]:
        """The outcome, at the step that ends the game."""
        del action
        return jnp.where(next_state.over & ~state.over, self._payoff(next_state), 0.0)

    def terminal(self, state: BlackjackState) -> Bool[Array, ""]:
        """The game is over."""
        return state.over

    @property
    def observation_space(self) -> Tuple:
        """Gymnasium's sizes, each a little larger than needed."""
        return Tuple([Discrete(32), Discrete(11), Discrete(2)])

    @property
    def action_space(self) -> Discrete:
        """Stick or hit."""
        return Discrete(2)

    @property
    def render_fps(self) -> float:
        """Steps shown a second, as Gymnasium shows them."""
        return 4

    @property
    def reward_range(self) -> tuple[float, float]:
        """What a loss and the best win pay."""
        return -1.0, 1.5 if self.natural and not self.sab else 1.0

    def get_keys_to_action(self) -> dict[Any, Any]:
        """S sticks, H hits."""
        return {"s": 0, "h": 1}

    def scene(self, state: BlackjackState) -> Scene:
        """The table; the dealer's count and the outcome show at the end."""
        player, dealer = state.player, state.dealer
        return blackjack_scene(
            player=CardsShown(player.value, player.num_cards, jnp.where(player.usable_ace, 1, 0)),
            dealer=CardsShown(dealer.value, dealer.num_cards, state.dealer_card),
            payoff=self._payoff(state),
            over=state.over,
        )

    def _payoff(self, state: BlackjackState) -> Float[Array, ""]:
        """Of a game that is over."""
        player, dealer = state.player, state.dealer
        payoff = jnp.sign(player.score - dealer.score).astype(float)
        if self.sab:
            payoff = jnp.where(player.is_natural & ~dealer.is_natural, 1.0, payoff)
        elif self.natural:
            payoff = jnp.where(player.is_natural & (payoff > 0), 1.5, payoff)
        return payoff


def deal(key: jax.Array, num_cards: int) -> list[Int[Array, ""]]:
    """Independent cards, each int32: 1 (ace) to 9 with probability 1/13 each, 10 with 4/13.

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
