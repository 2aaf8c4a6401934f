"""The buffer of levels beside a plain program of the same law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import funcenv
from funcenv.levels import LevelSampler


def plain_weights(scores, drawn_at, num_episodes, temperature, staleness):
    """Return the weights of levels, as JaxUED's `level_weights` computes them for a full buffer."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-np.asarray(scores), kind="stable")] = np.arange(1, len(scores) + 1)
    by_score = ranks ** (-1 / temperature)
    stale = num_episodes - np.asarray(drawn_at, float)
    stale = stale if stale.sum() > 0 else np.ones(len(scores))
    return (1 - staleness) * by_score / by_score.sum() + staleness * stale / stale.sum()


class Plain:
    """Lists in place of arrays."""

    def __init__(self, capacity, temperature, staleness):
        self.levels, self.scores, self.drawn_at, self.num_episodes = [], [], [], 0
        self.capacity, self.temperature, self.staleness = capacity, temperature, staleness

    def weights(self):
        return plain_weights(self.scores, self.drawn_at, self.num_episodes, self.temperature, self.staleness)

    def offer(self, level, score):
        if len(self.levels) < self.capacity:
            self.levels.append(level)
            self.scores.append(score)
            self.drawn_at.append(self.num_episodes + 1)
        else:
            index = int(np.argmin(self.weights()))
            if self.scores[index] < score:
                self.levels[index], self.scores[index] = level, score
                self.drawn_at[index] = self.num_episodes + 1
        self.num_episodes += 1


@pytest.mark.parametrize(("temperature", "staleness"), [(0.3, 0.3), (1.0, 0.0), (2.0, 0.9)])
def test_offers_follow_the_published_law(temperature, staleness):
    random = np.random.default_rng(0)
    plain = Plain(5, temperature, staleness)
    sampler = LevelSampler.empty({"x": jnp.float32(0)}, 5, temperature, staleness)
    insert = jax.jit(LevelSampler.insert)
    for batch in range(6):
        scores = random.normal(size=3).astype(np.float32)
        levels = (10 * batch + np.arange(3)).astype(np.float32)
        for level, score in zip(levels, scores, strict=True):
            plain.offer(level, score)
        sampler = insert(sampler, {"x": jnp.asarray(levels)}, jnp.asarray(scores))
        held = int(sampler.size)
        assert sampler.levels["x"][:held].tolist() == plain.levels
        assert sampler.drawn_at[:held].tolist() == plain.drawn_at
        np.testing.assert_allclose(sampler.weights()[:held], plain.weights(), rtol=1e-5)
        assert (sampler.weights()[held:] == 0).all()


def test_draws_follow_the_weights_and_make_levels_fresh():
    sampler = LevelSampler.empty({"x": jnp.float32(0)}, 4, staleness_coefficient=0.0)
    sampler = sampler.insert({"x": jnp.arange(3.0)}, jnp.array([0.1, 0.9, 0.5]))
    later, indices, levels = sampler.sample(funcenv.key(0), 1000)
    counts = np.bincount(np.asarray(indices), minlength=4)
    assert counts[3] == 0
    shares = np.asarray(sampler.weights()[:3], np.float64)
    assert stats.chisquare(counts[:3], 1000 * shares / shares.sum()).pvalue > 1e-3
    assert jnp.array_equal(levels["x"], indices.astype(float))
    last = [int(np.flatnonzero(np.asarray(indices) == place)[-1]) for place in range(3)]
    assert later.drawn_at[:3].tolist() == [3 + place + 1 for place in last]


def test_with_nothing_but_staleness_the_oldest_comes_first():
    sampler = LevelSampler.empty({"x": jnp.float32(0)}, 3, staleness_coefficient=1.0)
    sampler = sampler.insert({"x": jnp.arange(3.0)}, jnp.zeros(3))
    np.testing.assert_allclose(sampler.weights(), [2 / 3, 1 / 3, 0])


def test_new_scores_and_repeated_places():
    sampler = LevelSampler.empty({"x": jnp.float32(0)}, 3).insert({"x": jnp.arange(3.0)}, jnp.zeros(3))
    assert sampler.rescore(jnp.array([2, 0, 2]), jnp.array([1.0, 2.0, 3.0])).scores.tolist() == [2.0, 0.0, 3.0]


def test_impossible_buffers_are_refused():
    for settings, message in (
        ({"capacity": 0}, "capacity must be at least 1"),
        ({"capacity": 2, "temperature": 0.0}, "temperature must be above 0"),
        ({"capacity": 2, "staleness_coefficient": 1.5}, "staleness_coefficient must lie in"),
    ):
        with pytest.raises(ValueError, match=message):
            LevelSampler.empty({"x": jnp.float32(0)}, **settings)
