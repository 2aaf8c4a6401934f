"""Running moments against NumPy over all batches at once."""

import jax.numpy as jnp
import numpy as np

from funcenv.moments import RunningMoments


def test_moments_are_those_of_all_batches():
    rng = np.random.default_rng(0)
    batches = [rng.normal(5.0, [1.0, 3.0], (size, 4, 2)).astype(np.float32) for size in (1, 7, 30)]
    moments = RunningMoments.empty((2,))
    for batch in batches:
        moments = moments.update(jnp.asarray(batch))
    everything = np.concatenate(batches).reshape(-1, 2)
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-5)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-4)
    normalized = np.asarray(moments.normalize(jnp.asarray(everything)))
    np.testing.assert_allclose(normalized.std(0), 1.0, rtol=1e-4)


def test_nothing_changes_before_the_first_batch():
    moments = RunningMoments.empty((2,))
    np.testing.assert_allclose(moments.normalize(jnp.array([0.5, -0.5])), [0.5, -0.5])
    np.testing.assert_allclose(moments.normalize(jnp.array([50.0, -50.0])), [10.0, -10.0])
    np.testing.assert_allclose(moments.scale(jnp.array([2.0, 3.0])), [2.0, 3.0])
