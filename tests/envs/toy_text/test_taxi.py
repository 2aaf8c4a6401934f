"""Taxi: numbering, fickle passengers and parameters. The rules for steadfast ones are checked in test_tabular.py."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv

import funcenv
from funcenv.envs import Taxi
from tests.support.tables import check_mean, chi_square, reference

EVERY_STEP = np.array([(s, a, f) for s in range(500) for a in range(6) for f in (0, 1)], np.int32).T


class Chosen:
    """Stands for NumPy's generator: the straight road, and a choice of destinations that is written down."""

    def __init__(self) -> None:
        self.choices: list[list[int]] = []

    def random(self) -> float:
        return 0.0

    def choice(self, options: list[int]) -> int:
        self.choices.append(options)
        return options[0]


def test_numbers_are_gymnasiums() -> None:
    env, reference = Taxi(), TaxiEnv()
    states = jax.vmap(env.decode)(jnp.arange(500))
    ours = np.stack([states.row, states.column, states.passenger, states.destination], axis=1)
    np.testing.assert_array_equal(ours, [reference.decode(number) for number in range(500)])
    assert len(np.unique(ours, axis=0)) == 500
    np.testing.assert_array_equal(jax.vmap(env.encode)(states), np.arange(500))


def test_a_fickle_passenger_changes_their_mind_when_gymnasiums_does() -> None:
    env, reference = Taxi(fickle_passenger=True), TaxiEnv(fickle_passenger=True)
    numbers, actions, fickle = EVERY_STEP

    @jax.jit
    @jax.vmap
    def step(number: jax.Array, action: jax.Array, fickle: jax.Array, key: jax.Array) -> Any:
        state, timestep = env.step(env.decode(number).replace(fickle=fickle == 1), action, key)
        return state, timestep

    outputs = step(numbers, actions, fickle, jax.random.split(funcenv.key(0), numbers.size))
    states, timestep = jax.tree.map(np.asarray, outputs)
    reference.np_random = chosen = Chosen()
    changes = 0
    for i, (number, action) in enumerate(zip(numbers, actions, strict=True)):
        reference.s, reference.fickle_step = number, bool(fickle[i])
        chosen.choices.clear()
        observation, reward, terminated, _, info = reference.step(action)
        if chosen.choices:
            changes += 1
            assert states.destination[i] in chosen.choices[0]
            assert timestep.observation[i] // 4 == observation // 4
        else:
            assert timestep.observation[i] == observation
        assert states.fickle[i] == reference.fickle_step
        assert (timestep.reward[i], timestep.terminated[i]) == (reward, terminated)
        assert timestep.info["prob"][i] == info["prob"]
    assert changes > 0


def test_the_new_destination_is_any_other() -> None:
    env = Taxi(fickle_passenger=True)
    state = env.decode(env.encode(env.decode(0).replace(row=2, column=2, passenger=4, destination=1)))
    state = state.replace(fickle=jnp.ones((), bool))
    step = jax.jit(jax.vmap(env.transition, in_axes=(None, None, 0)))
    states = step(state, jnp.int32(0), jax.random.split(funcenv.key(2), 9_000))
    assert not bool(states.fickle.any())
    assert chi_square(np.bincount(states.destination, minlength=4), np.array([1, 0, 1, 1])) > 0.01


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_passengers_are_fickle_with_the_given_probability(probability: float) -> None:
    env = Taxi(fickle_passenger=True, fickle_probability=probability)
    fickle = jax.vmap(env.initial)(jax.random.split(funcenv.key(4), 10_000)).fickle
    error = np.sqrt(probability * (1 - probability) / 10_000)
    assert abs(float(fickle.mean()) - probability) <= 3 * error
    assert not bool(jax.vmap(Taxi().initial)(jax.random.split(funcenv.key(4), 100)).fickle.any())


def test_random_play_with_a_fickle_passenger_in_the_rain_earns_the_exact_value() -> None:
    table = reference(TaxiEnv(is_rainy=True))
    numbers = np.arange(500)[:, None, None]
    moved = (table.next_state // 20 != numbers // 20) & (numbers // 4 % 5 == 4)
    others = [table.next_state // 4 * 4 + (numbers % 4 + turn) % 4 for turn in (1, 2, 3)]

    fickle, steadfast = np.zeros(500), np.zeros(500)  # values with a change of mind ahead, and without
    for _ in range(200):
        changed = np.mean([steadfast[other] for other in others], axis=0)
        later = np.where(moved, changed, fickle[table.next_state])
        future = ~table.terminated * later
        fickle, steadfast = (
            (table.probability * (table.reward + future)).sum(-1).mean(1),
            table.action_values(steadfast).mean(1),
        )
    exact = float(table.initial @ (0.3 * fickle + 0.7 * steadfast))

    env = funcenv.make("Taxi-v4", is_rainy=True, fickle_passenger=True)
    check_mean(funcenv.evaluate(env, funcenv.random_policy(env), 10_000, funcenv.key(6)), exact, 3)


def test_other_actions_are_a_step_without_effect() -> None:
    for env in Taxi(), Taxi(is_rainy=True):
        for action in (-1, 6, 99):
            for number in (0, 137, 499):
                _, timestep = env.step(env.decode(number), jnp.int32(action), funcenv.key(0))
                assert (int(timestep.observation), float(timestep.reward)) == (number, -1)
                assert float(timestep.info["prob"]) == 1


def test_parameters_can_be_batched() -> None:
    env = Taxi(illegal_reward=np.array([-10.0, -3.0], np.float32), step_reward=np.array([-1.0, 0.0], np.float32))
    venv = funcenv.FuncVectorEnv(env, 2)
    vstate, _ = venv.reset(funcenv.key(0))
    np.testing.assert_array_equal(venv.step(vstate, jnp.array([5, 5]))[1].reward, [-10, -3])
    np.testing.assert_array_equal(venv.step(vstate, jnp.array([0, 0]))[1].reward, [-1, 0])


@pytest.mark.parametrize("name", ["rainy_probability", "fickle_probability"])
def test_a_probability_beyond_0_to_1_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} must lie in \[0, 1\], got 1.2"):
        Taxi(**{name: 1.2})
