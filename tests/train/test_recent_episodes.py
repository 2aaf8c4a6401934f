"""The ring buffer of recent episodes, against a list."""

import jax
import numpy as np

from funcenv.train.updates.recent_episodes import MAX_RECENT_EPISODES, RecentEpisodes


def test_the_mean_is_over_the_latest_episodes():
    rng = np.random.default_rng(0)
    add = jax.jit(lambda episodes, *rows: episodes.add(*rows))
    episodes, history = RecentEpisodes.empty(), []
    assert episodes.metrics()["mean_return"] == 0
    for share in (0.0, 0.01, 0.3, 0.9, 1.0, 0.05):
        ended, returns = rng.random(256) < share, rng.normal(size=256).astype(np.float32)
        episodes = add(episodes, ended, returns, np.arange(256, dtype=np.int32))
        history += returns[ended].tolist()
        assert episodes.count == len(history)
        if history:
            mean = np.mean(history[-MAX_RECENT_EPISODES:])
            np.testing.assert_allclose(episodes.metrics()["mean_return"], mean, rtol=1e-5)


def test_environments_that_end_in_one_step_count_together():
    """The mean is over the newest steps that hold as many episodes together as the mean should have."""
    rng = np.random.default_rng(0)
    add = jax.jit(RecentEpisodes.add_batch)
    episodes, history = RecentEpisodes.empty(), []
    for share in (0.0, 0.01, 0.3, 0.02, 0.9, 0.0):
        ended, returns = rng.random((40, 8)) < share, rng.normal(size=(40, 8)).astype(np.float32)
        episodes = add(episodes, ended, returns, np.ones((40, 8), np.int32))
        history += [returns[step][ended[step]] for step in range(40) if ended[step].any()]
        newest = []
        for step in reversed(history):
            if len(newest) >= MAX_RECENT_EPISODES:
                break
            newest += step.tolist()
        assert episodes.count == sum(map(len, history))
        np.testing.assert_allclose(episodes.metrics()["mean_return"], np.mean(newest or [0]), rtol=1e-4)
