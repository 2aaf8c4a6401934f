"""Distributions against scipy, and the conversion of raw actions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import funcenv
from funcenv.spaces import Box, Dict, Discrete
from funcenv.train.agents.distributions import Categorical, Gaussian, action_size, to_env_action

LOGITS = jnp.array([0.3, -1.0, 2.0])
PROBABILITIES = scipy.special.softmax(np.asarray(LOGITS, np.float64))
MEAN, LOG_STD = jnp.array([0.5, -2.0]), jnp.array([0.1, -1.0])


def test_categorical():
    policy = Categorical(LOGITS)
    np.testing.assert_allclose([policy.log_prob(jnp.int32(i)) for i in range(3)], np.log(PROBABILITIES), rtol=1e-5)
    np.testing.assert_allclose(policy.entropy(), scipy.stats.entropy(PROBABILITIES), rtol=1e-5)
    assert policy.mode() == 2
    draws = jax.vmap(policy.sample)(jax.random.split(funcenv.key(0), 3000))
    assert scipy.stats.chisquare(np.bincount(draws, minlength=3), 3000 * PROBABILITIES).pvalue > 0.01


def test_gaussian():
    policy = Gaussian(mean=MEAN, log_std=LOG_STD)
    reference = scipy.stats.multivariate_normal(np.asarray(MEAN), np.diag(np.exp(2 * np.asarray(LOG_STD))))
    action = jnp.array([0.2, -1.5])
    np.testing.assert_allclose(policy.log_prob(action), reference.logpdf(action), rtol=1e-5)
    np.testing.assert_allclose(policy.entropy(), reference.entropy(), rtol=1e-5)
    draws = jax.vmap(policy.sample)(jax.random.split(funcenv.key(0), 3000))
    for i in range(2):
        law = scipy.stats.norm(float(MEAN[i]), float(jnp.exp(LOG_STD[i])))
        assert scipy.stats.kstest(np.asarray(draws[:, i]), law.cdf).pvalue > 0.01


def test_actions_of_the_space():
    assert to_env_action(Discrete(3, start=-1), jnp.int32(2)) == 1
    torque = Box(-2.0, 2.0, (1,))
    np.testing.assert_allclose(to_env_action(torque, jnp.array([0.5])), [1.0])
    np.testing.assert_allclose(to_env_action(torque, jnp.array([7.0])), [2.0])
    np.testing.assert_allclose(to_env_action(Box([0.0, -1.0], [10.0, 1.0]), jnp.array([-1.0, 1.0])), [0.0, 1.0])
    np.testing.assert_allclose(to_env_action(Box(-jnp.inf, jnp.inf, (1,)), jnp.array([7.0])), [7.0])


def test_other_action_spaces_are_refused():
    assert action_size(Discrete(4)) == 4 and action_size(Box(-1.0, 1.0, (3,))) == 3
    for space in (Dict({"a": Discrete(2)}), Box(0, 255, (4, 4), np.uint8), Box(-1.0, 1.0, (2, 2))):
        with pytest.raises(ValueError, match="the policy takes Discrete actions or one-dimensional float Box actions"):
            action_size(space)
