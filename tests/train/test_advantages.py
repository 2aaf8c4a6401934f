"""Generalized advantages against their definition as a sum."""

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.train.updates.advantages import generalized_advantages

GAMMA, LAMBDA = 0.9, 0.8


def by_definition(reward, value, final_value, terminated, done):
    """Compute A_t, the sum over k of (gamma lambda)^k delta_{t+k} up to the end of the episode."""
    advantages = np.zeros_like(reward)
    for t in range(len(reward)):
        weight = 1.0
        for k in range(t, len(reward)):
            following = 0.0 if terminated[k] else final_value[k]
            advantages[t] += weight * (reward[k] + GAMMA * following - value[k])
            if done[k]:
                break
            weight *= GAMMA * LAMBDA
    return advantages


def test_every_mixture_of_endings():
    rng = np.random.default_rng(0)
    reward, value, final_value = rng.normal(size=(3, 37, 5))
    terminated, truncated = rng.random((2, 37, 5)) < 0.15
    done = terminated | truncated
    with jax.enable_x64(True):
        ours = generalized_advantages(*map(jnp.asarray, (reward, value, final_value, terminated, done)), GAMMA, LAMBDA)
    for i in range(5):
        theirs = by_definition(reward[:, i], value[:, i], final_value[:, i], terminated[:, i], done[:, i])
        np.testing.assert_allclose(ours[:, i], theirs, rtol=1e-12)
