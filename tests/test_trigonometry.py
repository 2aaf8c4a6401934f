"""Sines and cosines against numpy's in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.trigonometry import sincos


@pytest.mark.parametrize(("largest", "error"), [(4.0, 1e-7), (8192.0, 1e-7), (1e5, 1e-6)])
def test_errors_are_as_promised(largest, error):
    angles = np.random.default_rng(0).uniform(-largest, largest, 200_000).astype(np.float32)
    angles[:5] = [0, largest, -largest, np.float32(np.pi / 2), np.float32(np.pi)]
    for compiled in (sincos, jax.jit(sincos)):
        sine, cosine = compiled(angles)
        assert sine.dtype == cosine.dtype == np.float32
        np.testing.assert_allclose(sine, np.sin(angles.astype(float)), rtol=0, atol=error)
        np.testing.assert_allclose(cosine, np.cos(angles.astype(float)), rtol=0, atol=error)


def test_symmetry_and_zero_are_exact():
    angles = np.random.default_rng(1).uniform(-50, 50, 10_000).astype(np.float32)
    (sine, cosine), (negative, same) = sincos(angles), sincos(-angles)
    np.testing.assert_array_equal(negative, -sine)
    np.testing.assert_array_equal(same, cosine)
    assert sincos(jnp.float32(0))[0] == 0 and sincos(jnp.float32(0))[1] == 1


def test_derivatives():
    angles = np.linspace(-20, 20, 5001, dtype=np.float32)
    slope = jax.vmap(jax.grad(lambda angle: sincos(angle)[0]))(angles)
    np.testing.assert_allclose(slope, np.cos(angles.astype(float)), rtol=0, atol=1e-6)


def test_what_is_not_finite_gives_not_a_number():
    assert jnp.isnan(jnp.stack(sincos(jnp.array([np.inf, -np.inf, np.nan], jnp.float32)))).all()


def test_double_precision_is_left_alone():
    with jax.enable_x64(True):
        angle = jnp.float64(1.25)
        np.testing.assert_array_equal(sincos(angle), [jnp.sin(angle), jnp.cos(angle)])
