"""Blackjack: mean returns against exact ones, and the exact ones against the literature.

The exact values come from a recursion over hands in plain Python. It is held against two publications: the expected
returns for an infinite deck and a dealer who stands on a soft 17 in appendix 1 of the Wizard of Odds, and the value in
example 5.4 of Sutton and Barto (2nd edition, 2018).
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import Blackjack, BlackjackState
from funcenv.envs.toy_text.blackjack import Hand, deal
from tests.support.tables import check_mean

CARDS = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}
RULES = [
    pytest.param({"natural": False, "sab": False}, id="plain"),
    pytest.param({"natural": True, "sab": False}, id="natural"),
    pytest.param({"natural": False, "sab": True}, id="sab"),
]

# Rows: the player's total. Columns: the card that the dealer shows, 2 to 9; with an ace or a 10 the published table
# supposes that the dealer has no natural.
PUBLISHED_STICK = {
    16: (-0.2928, -0.2523, -0.2111, -0.1672, -0.1537, -0.4754, -0.5105, -0.5431),
    17: (-0.1530, -0.1172, -0.0806, -0.0449, 0.0117, -0.1068, -0.3820, -0.4232),
    18: (0.1217, 0.1483, 0.1759, 0.1996, 0.2834, 0.3996, 0.1060, -0.1832),
    19: (0.3863, 0.4044, 0.4232, 0.4395, 0.4960, 0.6160, 0.5939, 0.2876),
    20: (0.6400, 0.6503, 0.6610, 0.6704, 0.7040, 0.7732, 0.7918, 0.7584),
    21: (0.8820, 0.8853, 0.8888, 0.8918, 0.9028, 0.9259, 0.9306, 0.9392),
}
PUBLISHED_HIT_ON_4 = (-0.1149, -0.0826, -0.0494, -0.0124, 0.0111, -0.0883, -0.1593)

Strategy = Callable[[int, int, bool], float]  # the chance to hit, of count, dealer's card and usable ace


def count(total: int, has_ace: bool) -> int:
    return total + 10 if has_ace and total <= 11 else total


@functools.cache
def dealer_ends(total: int, has_ace: bool, num_cards: int) -> dict[tuple[int, bool], float]:
    """Chances of the dealer's score (0 for a bust) and of a natural."""
    value = count(total, has_ace)
    if num_cards >= 2 and value >= 17:
        return {(value if value <= 21 else 0, num_cards == 2 and value == 21): 1.0}
    ends: dict[tuple[int, bool], float] = {}
    for card, chance in CARDS.items():
        for end, later in dealer_ends(total + card, has_ace or card == 1, num_cards + 1).items():
            ends[end] = ends.get(end, 0.0) + chance * later
    return ends


class Exact:
    """Expected returns under some rules, for a strategy or for the best one."""

    def __init__(self, natural: bool = False, sab: bool = False, strategy: Strategy | None = None) -> None:
        self.natural, self.sab, self.strategy = natural, sab, strategy
        self.value = functools.cache(self._value)

    def stick(self, total: int, has_ace: bool, num_cards: int, shown: int) -> float:
        mine = count(total, has_ace)
        dealt = mine == 21 and num_cards == 2
        expected = 0.0
        for (score, natural), chance in dealer_ends(shown, shown == 1, 1).items():
            payoff = float((mine > score) - (mine < score))
            if self.sab and dealt and not natural:
                payoff = 1.0
            if self.natural and not self.sab and dealt and payoff == 1:
                payoff = 1.5
            expected += chance * payoff
        return expected

    def hit(self, total: int, has_ace: bool, num_cards: int, shown: int) -> float:
        return sum(
            chance * self.value(total + card, has_ace or card == 1, min(num_cards + 1, 3), shown)
            for card, chance in CARDS.items()
        )

    def _value(self, total: int, has_ace: bool, num_cards: int, shown: int) -> float:
        if total > 21:
            return -1.0
        stick, hit = (choice(total, has_ace, num_cards, shown) for choice in (self.stick, self.hit))
        if self.strategy is None:
            return max(stick, hit)
        chance = self.strategy(count(total, has_ace), shown, has_ace and total <= 11)
        return chance * hit + (1 - chance) * stick

    def start(self) -> float:
        return sum(
            CARDS[a] * CARDS[b] * CARDS[shown] * self.value(a + b, 1 in (a, b), 2, shown)
            for a in CARDS
            for b in CARDS
            for shown in CARDS
        )


def basic_strategy(value: Any, shown: Any, ace: Any) -> Any:
    """Hit or stick; Thorp, "Beat the Dealer", 1966, without doubling and splitting. For numbers and for arrays."""
    weak = (shown >= 2) & (shown <= 6)
    hard = (value <= 11) | ((value == 12) & ~((shown >= 4) & (shown <= 6))) | ((value <= 16) & (value > 12) & ~weak)
    soft = (value <= 17) | ((value == 18) & ((shown == 1) | (shown >= 9)))
    return (ace & soft) | (~ace & hard)


def exact_basic_strategy(value: int, shown: int, ace: bool) -> float:
    return float(basic_strategy(np.int32(value), np.int32(shown), np.bool_(ace)))


def play_basic_strategy(observation: Any, key: jax.Array) -> jax.Array:
    del key
    value, shown, ace = observation
    return basic_strategy(value, shown, ace == 1).astype(jnp.int32)


def hit_below_20(observation: Any, key: jax.Array) -> jax.Array:
    del key
    return (observation[0] < 20).astype(jnp.int32)


class FromExample54(funcenv.Wrapper[BlackjackState, Any, Any]):
    """Games that begin with an ace and a 2 against a 2."""

    def initial(self, key: jax.Array) -> BlackjackState:
        ace, two = jnp.int32(1), jnp.int32(2)
        return BlackjackState(
            player=Hand.of(ace, two), dealer=Hand.of(two, *deal(key, 1)), dealer_card=two, over=jnp.zeros((), bool)
        )


def test_the_recursion_gives_the_published_returns() -> None:
    exact = Exact()
    for total, row in PUBLISHED_STICK.items():
        for shown, published in enumerate(row, start=2):
            assert exact.stick(total, False, 3, shown) == pytest.approx(published, abs=6e-5)
    for shown, published in enumerate(PUBLISHED_HIT_ON_4, start=2):
        assert exact.hit(4, False, 2, shown) == pytest.approx(published, abs=6e-5)

    soft_13 = Exact(strategy=lambda value, shown, ace: float(value < 20)).value(3, True, 2, 2)
    assert soft_13 == pytest.approx(-0.27726, abs=3e-4)  # from 10**8 games there


def test_example_5_4_has_the_published_value() -> None:
    evaluation = funcenv.evaluate(FromExample54(Blackjack(sab=True)), hit_below_20, 100_000, funcenv.key(12))
    check_mean(evaluation, -0.27726, 3)


@pytest.mark.parametrize("rules", RULES)
def test_the_basic_strategy_earns_its_exact_return(rules: dict[str, bool]) -> None:
    exact = Exact(**rules, strategy=exact_basic_strategy).start()
    assert exact == pytest.approx(Exact(**rules).start(), abs=1e-12)  # nothing earns more
    evaluation = funcenv.evaluate(Blackjack(**rules), play_basic_strategy, 200_000, funcenv.key(13))
    check_mean(evaluation, exact, 3)


def test_random_play_earns_its_exact_return() -> None:
    env = funcenv.make("Blackjack-v1")
    exact = Exact(sab=True, strategy=lambda value, shown, ace: 0.5).start()
    check_mean(funcenv.evaluate(env, funcenv.random_policy(env), 10_000, funcenv.key(14)), exact, 3)
