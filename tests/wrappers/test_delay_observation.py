"""Late observations against Gymnasium's, and that noise is drawn once."""

import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.spaces import MultiBinary, Text, Tuple
from funcenv.wrappers import DelayObservation, TransformObservation
from tests.support.tiny_envs import Counter

PUSHES = np.arange(20) % 2


@pytest.mark.parametrize("delay", [0, 1, 4])
def test_as_gymnasium(compare_alike, delay):
    compare_alike("CartPole", lambda wrappers, env: wrappers.DelayObservation(env, delay), PUSHES)


def test_of_a_dict_as_gymnasium(compare_alike):
    compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.DelayObservation(
            wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 12), flatten=False), 3
        ),
        PUSHES,
    )


def test_of_a_tuple_of_flags():
    def flags(observation):
        return observation > 0, (observation < 0).astype(jnp.int8)

    space = Tuple([MultiBinary(4), MultiBinary(4)])
    kinds = [part.dtype for part in space]
    env = TransformObservation(
        CartPole(), lambda seen: tuple(flag.astype(kind) for flag, kind in zip(flags(seen), kinds, strict=True)), space
    )
    late = DelayObservation(env, 1)
    observation = late.reset(funcenv.key(0))[1].observation
    assert [part.dtype for part in observation] == kinds
    assert not any(part.any() for part in observation)


def test_what_is_late_is_what_was_shown(play):
    plain, late = DelayObservation(Counter(noise=1.0), 0), DelayObservation(Counter(noise=1.0), 2)
    actions, key = jnp.ones(8, jnp.int32), funcenv.key(0)
    shown, seen = (play(env, actions, key)[1].observation for env in (plain, late))
    np.testing.assert_array_equal(seen[2:], shown[:-2])
    assert not np.any(seen[:2])


def test_rewards_and_flags_are_not_late(play):
    _, timesteps = play(DelayObservation(Counter(goal=3), 2), jnp.ones(4, jnp.int32), funcenv.key(0))
    np.testing.assert_array_equal(timesteps.reward, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(timesteps.terminated, [False, False, False, True, True])


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"delay must be at least 0, got -1"):
        DelayObservation(CartPole(), -1)
    with pytest.raises(TypeError, match=r"delay must be an integer, got 1.5"):
        DelayObservation(CartPole(), 1.5)

    class Talks(funcenv.Wrapper):
        @property
        def observation_space(self):
            return Text(4)

    with pytest.raises(TypeError, match=r"no member of Text\(.*stands for zero"):
        DelayObservation(Talks(CartPole()), 1)
