"""Noise on observations: its distribution, its bounds, and that dynamics do not have it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import funcenv
from funcenv.envs import CartPole, FrozenLake, Pendulum
from funcenv.wrappers import AddGaussianNoise


def test_noise_is_normal_with_a_deviation_for_each_element():
    scale = np.array([0.0, 0.5, 1.0, 2.0])
    env = AddGaussianNoise(CartPole(), scale)
    state, _ = CartPole().reset(funcenv.key(0))
    exact = CartPole().observation(state, funcenv.key(0))
    keys = jax.random.split(funcenv.key(1), 2000)
    noise = np.asarray(jax.vmap(lambda key: env.observation(state, key))(keys) - exact[None])
    assert (noise[:, 0] == 0).all()
    for element in (1, 3):  # which have no bounds
        assert stats.kstest(noise[:, element] / scale[element], "norm").pvalue > 1e-3
    assert abs(np.corrcoef(noise[:, 1], noise[:, 3])[0, 1]) < 0.1


def test_observations_stay_in_the_space():
    env = AddGaussianNoise(Pendulum(), 5.0)
    for seed in range(8):
        assert env.observation_space.contains(env.reset(funcenv.key(seed))[1].observation)


def test_states_and_rewards_are_exact(play):
    noisy, exact = (
        play(env, jnp.ones(6, jnp.int32), funcenv.key(0)) for env in (AddGaussianNoise(CartPole(), 1.0), CartPole())
    )
    assert all(map(jnp.array_equal, jax.tree.leaves(noisy[0]), jax.tree.leaves(exact[0])))
    np.testing.assert_array_equal(noisy[1].reward, exact[1].reward)


def test_the_same_key_shows_the_same_noise():
    env = AddGaussianNoise(CartPole(), 1.0)
    state, timestep = env.reset(funcenv.key(3))
    assert jnp.array_equal(env.observe(state, funcenv.key(3)).observation, timestep.observation)


def test_a_batch_of_environments_shares_deviations_of_each_element():
    venv = funcenv.FuncVectorEnv(AddGaussianNoise(CartPole(), jnp.ones(4)), 4)
    _, timestep = venv.reset(funcenv.key(0))
    assert len(np.unique(np.asarray(timestep.observation[:, 1]))) == 4


@pytest.mark.parametrize(
    ("env", "scale", "kind", "message"),
    [
        (CartPole(), -0.1, ValueError, "standard_deviation must be at least 0, got -0.1"),
        (CartPole(), float("nan"), ValueError, "standard_deviation must be a finite number"),
        (CartPole(), jnp.ones(3), ValueError, r"have the shape \(4,\), got \(3,\)"),
        (FrozenLake(), 0.1, TypeError, "a Box of floats, got Discrete"),
    ],
)
def test_wrong_arguments_are_refused(env, scale, kind, message):
    with pytest.raises(kind, match=message):
        AddGaussianNoise(env, scale)
