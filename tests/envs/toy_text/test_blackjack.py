"""Blackjack: one step against Gymnasium with the same cards, the deck, and the end."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.toy_text.blackjack import BlackjackEnv

import funcenv
from funcenv.envs import Blackjack, BlackjackState
from funcenv.envs.toy_text.blackjack import MAX_DEALER_DRAWS, Hand, deal
from tests.support.tables import chi_square

STICK, HIT = 0, 1
RULES = [
    pytest.param({"natural": False, "sab": False}, id="plain"),
    pytest.param({"natural": True, "sab": False}, id="natural"),
    pytest.param({"natural": True, "sab": True}, id="sab"),
]
CHANCES = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4]) / 13


class Stacked:
    """Stands for NumPy's generator and deals the cards it is given."""

    def __init__(self) -> None:
        self.cards: list[int] = []

    def choice(self, deck: list[int]) -> int:
        return self.cards.pop(0)


def random_hands(rng: np.random.Generator, count: int, most: int) -> list[list[int]]:
    """Hands that are not bust, of two cards or more."""
    hands = []
    while len(hands) < count:
        hand = list(rng.choice(11, rng.integers(2, most + 1), p=CHANCES))
        if sum(hand) <= 21:
            hands.append([int(card) for card in hand])
    return hands


def stack_hands(hands: list[list[int]]) -> Hand:
    return Hand(
        total=jnp.asarray([sum(hand) for hand in hands], jnp.int32),
        has_ace=jnp.asarray([1 in hand for hand in hands]),
        cards=jnp.asarray(
            [sum(card << 4 * i for i, card in enumerate(reversed(hand[-8:]))) for hand in hands], jnp.uint32
        ),
    )


@jax.jit
def play(env: Any, states: Any, actions: jax.Array, keys: jax.Array) -> Any:
    def step(state: Any, action: jax.Array, key: jax.Array) -> Any:
        next_state = env.transition(state, action, key)
        observation = env.observation(next_state, key)
        cards = jnp.stack(deal(key, MAX_DEALER_DRAWS))
        return next_state, observation, env.reward(state, action, next_state), env.terminal(next_state), cards

    return jax.vmap(step)(states, actions, keys)


@pytest.mark.parametrize("rules", RULES)
def test_one_step_is_gymnasiums_with_the_same_cards(rules: dict[str, bool]) -> None:
    rng = np.random.default_rng(8)
    count = 10_000
    players, dealers = random_hands(rng, count, 6), random_hands(rng, count, 2)
    for i in range(0, 1_000, 2):  # naturals are rare, and matter
        players[i] = [1, 10] if i % 4 else [10, 1]
        dealers[i] = [[1, 10], [10, 1], [10, 10], [10, 6], [1, 5]][i % 5]
    actions = rng.integers(2, size=count)
    states = BlackjackState(
        player=stack_hands(players),
        dealer=stack_hands(dealers),
        dealer_card=jnp.asarray([hand[0] for hand in dealers], jnp.int32),
        over=jnp.zeros(count, bool),
    )
    outputs = play(Blackjack(**rules), states, jnp.asarray(actions, jnp.int32), jax.random.split(funcenv.key(1), count))
    next_states, observations, rewards, terminations, cards = jax.tree.map(np.asarray, outputs)
    assert [part.dtype for part in observations] == [np.int32] * 3

    reference = BlackjackEnv(**rules)
    reference.np_random = stacked = Stacked()
    paid = set()
    for i in range(count):
        reference.player, reference.dealer = players[i], dealers[i]
        stacked.cards = [int(card) for card in cards[i]]
        observation, reward, terminated, _, _ = reference.step(int(actions[i]))
        assert tuple(int(part[i]) for part in observations) == observation
        assert (rewards[i], terminations[i]) == (reward, terminated)
        assert next_states.dealer.total[i] == sum(dealers[i])
        dealt = [int(next_states.dealer.cards[i]) >> 4 * place & 15 for place in range(8)]
        assert dealt[: len(dealers[i])] == dealers[i][::-1][:8]
        paid.add(reward)
    assert paid == {-1.0, 0.0, 1.0} | ({1.5} if rules["natural"] and not rules["sab"] else set())


def test_no_dealer_draws_more_cards_than_are_dealt() -> None:
    def most_draws(total: int, has_ace: bool) -> int:
        value = total + 10 if has_ace and total <= 11 else total
        if value >= 17:
            return 0
        return 1 + max(most_draws(total + card, has_ace or card == 1) for card in range(1, 11))

    hands = [(a + b, 1 in (a, b)) for a in range(1, 11) for b in range(1, 11)]
    assert max(most_draws(*hand) for hand in hands) == MAX_DEALER_DRAWS


def test_cards_are_dealt_with_their_chances() -> None:
    cards = np.stack(jax.jit(jax.vmap(lambda key: deal(key, 10)))(jax.random.split(funcenv.key(2), 50_000)))
    assert len(cards) == 10
    for place in range(10):
        assert chi_square(np.bincount(cards[place], minlength=11), CHANCES) > 0.001
    for first, second in (0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (4, 8):
        pairs = np.bincount(cards[first] * 11 + cards[second], minlength=121)
        assert chi_square(pairs, np.outer(CHANCES, CHANCES).ravel()) > 0.001


def test_games_begin_with_four_cards() -> None:
    keys = jax.random.split(funcenv.key(3), 50_000)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"), jax.debug_key_reuse(True):
        _, timestep = jax.jit(jax.vmap(Blackjack().reset))(keys)
    value, card, ace = (np.asarray(part) for part in timestep.observation)
    expected = np.zeros((22, 11, 2))
    for a in range(1, 11):
        for b in range(1, 11):
            usable = 1 in (a, b)
            expected[a + b + 10 * usable, :, int(usable)] += CHANCES[a] * CHANCES[b] * CHANCES
    counts = np.bincount(np.ravel_multi_index((value, card, ace), expected.shape), minlength=expected.size)
    assert chi_square(counts, expected.ravel()) > 0.01
    assert repr(Blackjack().observation_space) == repr(BlackjackEnv().observation_space)


def test_nothing_happens_after_the_end() -> None:
    env = Blackjack()
    step = jax.jit(env.step)
    for action in STICK, HIT:
        for seed in range(5):
            state, _ = env.reset(funcenv.key(seed))
            for number in range(25):
                state, timestep = step(state, jnp.int32(action), funcenv.key(100 + number))
                if bool(timestep.terminated):
                    break
            for after in STICK, HIT, HIT:
                later, again = step(state, jnp.int32(after), funcenv.key(200))
                jax.tree.map(np.testing.assert_array_equal, later, state)
                assert float(again.reward) == 0
                assert bool(again.terminated)
                assert bool(env.observation_space.contains(again.observation))


def test_any_other_action_hits() -> None:
    env = Blackjack()
    state, _ = env.reset(funcenv.key(0))
    for action in (-1, 2, 50):
        jax.tree.map(
            np.testing.assert_array_equal,
            env.transition(state, jnp.int32(action), funcenv.key(1)),
            env.transition(state, jnp.int32(HIT), funcenv.key(1)),
        )
