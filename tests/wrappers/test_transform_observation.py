"""Changed observations against Gymnasium's, and the space that they lie in."""

import jax
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import ObservationWrapper, TransformObservation
from tests.support.tiny_envs import Counter

PUSHES = np.random.default_rng(1).integers(0, 2, 60)


def test_as_gymnasium(compare_alike):
    compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.TransformObservation(env, lambda observation: 2 * observation + 1, None),
        PUSHES,
    )


def test_a_space_of_its_own():
    position = funcenv.spaces.Box(-4.8, 4.8, (1,))
    env = TransformObservation(CartPole(), lambda observation: observation[:1], observation_space=position)
    assert env.observation_space == position
    assert bool(position.contains(env.reset(funcenv.key(0))[1].observation))
    assert env.replace(env=CartPole(x_threshold=1.0)).observation_space == position


def test_the_space_is_the_inner_one_unless_given():
    env = TransformObservation(Pendulum(max_speed=4.0), lambda observation: -observation)
    assert env.observation_space == Pendulum(max_speed=4.0).observation_space
    assert env.replace(env=Pendulum()).observation_space == Pendulum().observation_space


@pytest.mark.parametrize(
    ("func", "shown"),
    [
        (lambda observation: observation[:2], r"float32\[2\]"),
        (lambda observation: observation.astype("float16"), r"float16\[4\]"),
        (lambda observation: {"position": observation}, r"\{'position': 'float32\[4\]'\}"),
    ],
)
def test_a_function_that_does_not_fit_is_refused(func, shown):
    with pytest.raises(ValueError, match=rf"returns {shown}, but a member of observation_space is float32\[4\]; cast"):
        TransformObservation(CartPole(), func)


def test_a_wrapper_that_lacks_its_function_says_so():
    with pytest.raises(NotImplementedError, match=r"must define outer_observation"):
        ObservationWrapper(CartPole()).reset(funcenv.key(0))


def test_noise_is_drawn_with_the_key_of_the_observation():
    plain, doubled = Counter(noise=1.0), TransformObservation(Counter(noise=1.0), lambda seen: 2 * seen)
    state, timestep = plain.reset(funcenv.key(0))
    np.testing.assert_array_equal(doubled.reset(funcenv.key(0))[1].observation, 2 * timestep.observation)
    assert jax.tree.structure(doubled) == jax.tree.structure(doubled.replace(env=plain))
