"""Sines, cosines and wrapped angles against numpy's in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.envs.trigonometry import sincos, wrap_angle


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


@pytest.mark.parametrize("x64", [False, True])
def test_wrapped_angles_are_the_same_directions(x64):
    with jax.enable_x64(x64):
        dtype = np.float64 if x64 else np.float32
        turns = np.arange(-1300, 1300) * np.pi  # every other one an edge
        angles = np.concatenate([np.random.default_rng(2).uniform(-8192, 8192, 100_000), turns]).astype(dtype)
        angles = np.concatenate([angles, np.nextafter(angles, dtype(9999)), np.nextafter(angles, dtype(-9999))])
        for compiled in (wrap_angle, jax.jit(wrap_angle)):
            result = np.asarray(compiled(angles))
            assert result.dtype == dtype and np.abs(result).max() <= dtype(np.pi)
            off = (result - angles.astype(np.longdouble)) / (2 * np.longdouble(np.pi))
            tolerance = 1e-11 if x64 else 1e-6
            np.testing.assert_allclose((off - np.round(off)).astype(float), 0, rtol=0, atol=tolerance)


def test_an_angle_within_half_a_turn_stays_as_it_is():
    angles = np.random.default_rng(3).uniform(-3.14, 3.14, 10_000).astype(np.float32)
    np.testing.assert_array_equal(wrap_angle(angles), angles)
    assert jax.grad(wrap_angle)(jnp.float32(4.0)) == 1


def test_what_is_not_finite_gives_not_a_number():
    assert jnp.isnan(wrap_angle(jnp.array([np.inf, -np.inf, np.nan], jnp.float32))).all()
    assert jnp.isnan(jnp.stack(sincos(jnp.array([np.inf, -np.inf, np.nan], jnp.float32)))).all()


def test_double_precision_is_left_alone():
    with jax.enable_x64(True):
        angle = jnp.float64(1.25)
        np.testing.assert_array_equal(sincos(angle), [jnp.sin(angle), jnp.cos(angle)])
