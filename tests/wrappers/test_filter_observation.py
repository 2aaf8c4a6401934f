"""Parts of observations against Gymnasium's."""

import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.spaces import Box, Dict, Discrete, Tuple
from funcenv.wrappers import FilterObservation

PUSHES = np.arange(20) % 2


class Parts(funcenv.Wrapper):
    """Shows a tuple: a number, a flag and a pair."""

    @property
    def observation_space(self):
        return Tuple([Discrete(5), Discrete(2), Box(-1, 1, (2,))])

    def observation(self, state, key):
        del state, key
        return jnp.int32(4), jnp.int32(1), jnp.zeros(2)


@pytest.mark.parametrize("keys", [["time"], ["time", "obs"], ("obs",)])
def test_of_a_dict_as_gymnasium(compare_alike, keys):
    compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.FilterObservation(
            wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 30), flatten=False), keys
        ),
        PUSHES,
    )


def test_of_a_tuple():
    env = FilterObservation(Parts(CartPole()), [2, 0])
    assert env.observation_space == Tuple([Box(-1, 1, (2,)), Discrete(5)])
    pair, number = env.reset(funcenv.key(0))[1].observation
    assert pair.shape == (2,)
    assert number == 4
    assert FilterObservation(Parts(CartPole()), [-1]).observation_space == Tuple([Box(-1, 1, (2,))])


def test_of_a_dict_whose_order_is_its_own():
    class Named(Parts):
        @property
        def observation_space(self):
            return Dict([("z", Discrete(5)), ("a", Discrete(2))])

        def observation(self, state, key):
            return {"z": jnp.int32(1), "a": jnp.int32(0)}

    env = FilterObservation(Named(CartPole()), ["a"])
    assert env.observation_space == Dict(a=Discrete(2))
    assert bool(env.observation_space.contains(env.reset(funcenv.key(0))[1].observation))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: FilterObservation(CartPole(), ["x"]), TypeError, r"needs a Dict or Tuple of observations, got Box"),
        (lambda: FilterObservation(Parts(CartPole()), "time"), TypeError, r"filter_keys must be a sequence"),
        (lambda: FilterObservation(Parts(CartPole()), {0}), TypeError, r"filter_keys must be a sequence"),
        (lambda: FilterObservation(Parts(CartPole()), ["x"]), TypeError, r"must hold int .* got 'x'"),
        (lambda: FilterObservation(Parts(CartPole()), [3]), ValueError, r"names 3, which is not among"),
        (lambda: FilterObservation(Parts(CartPole()), [1, 1]), ValueError, r"none twice, got \(1, 1\)"),
        (lambda: FilterObservation(Parts(CartPole()), []), ValueError, r"at least one entry"),
    ],
)
def test_wrong_arguments_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
