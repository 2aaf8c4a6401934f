"""Distributions against scipy, and the conversion of raw actions."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import funcenv
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from funcenv.train.agents.distributions import (
    Categorical,
    Gaussian,
    action_size,
    from_env_action,
    policy_over_options,
    to_env_action,
    to_vectors,
)

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


def test_options_of_a_vector():
    """Elements with fewer options than others never take those that they lack."""
    counts, scores = (3, 2), jnp.array([0.3, -1.0, 2.0, 0.5, -0.5, 9.0])
    policy = policy_over_options(scores, counts)
    first, second = (scipy.special.softmax(np.asarray(part, np.float64)) for part in (scores[:3], scores[3:5]))
    joint = np.outer(first, second)
    for action in itertools.product(range(3), range(2)):
        np.testing.assert_allclose(policy.log_prob(jnp.array(action)), np.log(joint[action]), rtol=1e-5)
    np.testing.assert_allclose(policy.entropy(), scipy.stats.entropy(joint.reshape(-1)), rtol=1e-5)
    assert policy.mode().tolist() == [2, 0]
    draws = np.asarray(jax.vmap(policy.sample)(jax.random.split(funcenv.key(0), 3000)))
    observed = np.bincount(draws @ [2, 1], minlength=6)
    assert scipy.stats.chisquare(observed, 3000 * joint.reshape(-1)).pvalue > 0.01
    gradient = jax.grad(lambda scores: policy_over_options(scores, counts).entropy())(scores)
    assert np.isfinite(gradient).all() and gradient[5] == 0 and (gradient[:5] != 0).all()


@pytest.mark.parametrize(
    "space",
    [
        Discrete(3, start=-1),
        MultiDiscrete([[3, 2], [2, 4]], start=[[0, -1], [5, 0]]),
        MultiBinary((2, 3)),
        Box(-2.0, 2.0, (2, 2)),
        Box(-2.0, 4.0, ()),
        Box(-jnp.inf, jnp.inf, (2, 2)),
    ],
    ids=repr,
)
def test_raw_actions_stand_for_members_and_back(space):
    for seed in range(5):
        member = space.sample(funcenv.key(seed))
        raw = from_env_action(space, member)
        assert raw.ndim == (0 if isinstance(space, Discrete) else 1)
        found = to_env_action(space, raw)
        assert found.dtype == space.dtype and space.contains(found)
        np.testing.assert_allclose(found, member, rtol=1e-6)
        assert to_vectors(space, raw[None]).shape == (1, action_size(space))


def test_actions_of_the_space():
    assert to_env_action(Discrete(3, start=-1), jnp.int32(2)) == 1
    torque = Box(-2.0, 2.0, (1,))
    np.testing.assert_allclose(to_env_action(torque, jnp.array([0.5])), [1.0])
    np.testing.assert_allclose(to_env_action(torque, jnp.array([7.0])), [2.0])
    np.testing.assert_allclose(to_env_action(Box([0.0, -1.0], [10.0, 1.0]), jnp.array([-1.0, 1.0])), [0.0, 1.0])
    np.testing.assert_allclose(to_env_action(Box(-jnp.inf, jnp.inf, (1,)), jnp.array([7.0])), [7.0])


def test_other_action_spaces_are_refused():
    assert action_size(Discrete(4)) == 4 and action_size(Box(-1.0, 1.0, (3,))) == 3
    for space in (Dict({"a": Discrete(2)}), Box(0, 255, (4, 4), np.uint8), MultiDiscrete([])):
        with pytest.raises(ValueError, match="policy takes Discrete, MultiDiscrete, MultiBinary or float Box actions"):
            action_size(space)
