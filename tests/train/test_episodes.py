"""The ring of recent episodes against a list."""

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.train.episodes import RECENT_EPISODES, Episodes


def test_the_mean_is_over_the_latest_episodes():
    rng = np.random.default_rng(0)
    add = jax.jit(lambda episodes, *rows: episodes.add(*rows))
    episodes, history = Episodes.none(), []
    assert jnp.isnan(episodes.mean(episodes.returns))
    for share in (0.0, 0.01, 0.3, 0.9, 1.0, 0.05):
        ended, returns = rng.random(256) < share, rng.normal(size=256).astype(np.float32)
        episodes = add(episodes, ended, returns, np.arange(256, dtype=np.int32))
        history += returns[ended].tolist()
        assert episodes.count == len(history)
        if history:
            np.testing.assert_allclose(episodes.mean(episodes.returns), np.mean(history[-RECENT_EPISODES:]), rtol=1e-5)
