"""Batches of actions are refused outside of the space, and cast to its dtype otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import spaces
from funcenv.adapters import FunctionalVectorEnv, make_vec
from funcenv.adapters.engine.batch_actions import batch_encoder
from funcenv.envs import CartPole

COMPOUND = spaces.Dict({"move": spaces.Discrete(3, start=-1), "keys": spaces.Tuple([spaces.MultiBinary(2)])})


@pytest.fixture(scope="module")
def envs():
    return FunctionalVectorEnv(CartPole(), 3)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 2, 1], r"action 2 at \[1\]"),
        ([0, -1, 1], r"action -1 at \[1\]"),
        (np.array([0, 1, 200], np.uint8), r"action 200 at \[2\]"),
        ([0, 1], r"shape \(3,\)"),
        ([0.5, 0, 1], "float64"),
        ([True, False, True], "bool"),
        (jnp.zeros((3, 1), jnp.int32), r"shape \(3,\)"),
        (jnp.zeros(3), "float32"),
    ],
)
def test_actions_outside_of_the_space_change_nothing(envs, actions, message):
    envs.reset(seed=0)
    before = envs.state
    with pytest.raises(ValueError, match=message):
        envs.step(actions)
    np.testing.assert_array_equal(envs.state.num_calls, before.num_calls)


def test_box_actions_are_checked_and_cast():
    envs = make_vec("Pendulum-v1", 2)
    envs.reset(seed=0)
    envs.step([[1], [2]])
    for bad in (np.nan, -np.nan):
        with pytest.raises(ValueError, match=r"at \[1\]"):
            envs.step(np.array([[0.0], [bad]]))


def test_compound_actions_are_checked_part_by_part():
    encode = batch_encoder(COMPOUND)
    actions = {"move": [-1, 1], "keys": (np.array([[True, False], [False, False]]).astype(np.int8),)}
    encoded = encode(actions, (2,))
    assert encoded["move"].dtype == np.int32 and encoded["keys"][0].shape == (2, 2)
    for bad in ({**actions, "move": [-2, 1]}, {**actions, "keys": ()}, {"move": [0, 0]}, [0, 1]):
        with pytest.raises(ValueError):
            encode(bad, (2,))


def test_spaces_without_arrays_of_their_own_are_checked_by_themselves():
    space = spaces.Text(4, charset="ab")
    encode = batch_encoder(space)
    drawn = spaces.batch_space(space, 2).sample(funcenv.key(0))
    assert encode(drawn, (2,)) is drawn
    with pytest.raises(ValueError, match="not all in"):
        encode(jax.tree.map(lambda leaf: leaf + 9, drawn), (2,))
    with pytest.raises(ValueError, match="leading"):
        encode(drawn, (3,))
