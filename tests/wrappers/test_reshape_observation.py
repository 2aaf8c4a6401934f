"""Reshaped observations against Gymnasium's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import ReshapeObservation, TimeAwareObservation, TimeLimit

PUSHES = np.arange(20) % 2


@pytest.mark.parametrize("shape", [(2, 2), (4, 1), (1, 2, 2)])
def test_as_gymnasium(compare_alike, shape):
    compare_alike("CartPole", lambda wrappers, env: wrappers.ReshapeObservation(env, shape), PUSHES)


def test_bounds_that_depend_on_a_traced_parameter():
    def highest(speed):
        return ReshapeObservation(Pendulum(max_speed=speed), (3, 1)).observation_space.high[2, 0]

    np.testing.assert_array_equal(jax.vmap(highest)(jnp.array([4.0, 8.0])), [4.0, 8.0])


def test_wrong_arguments_are_refused():
    assert ReshapeObservation(Pendulum(), 3).shape == (3,)
    with pytest.raises(ValueError, match=r"shape must have 4 elements, as observations of shape \(4,\) do, got \(3,\)"):
        ReshapeObservation(CartPole(), (3,))
    with pytest.raises(ValueError, match=r"shape must have 4 elements"):
        ReshapeObservation(CartPole(), (-2, -2))
    with pytest.raises(TypeError, match=r"shape must be an integer or a tuple of integers, got \(2.0, 2\)"):
        ReshapeObservation(CartPole(), (2.0, 2))
    with pytest.raises(TypeError, match=r"is a Box, got Dict"):
        ReshapeObservation(TimeAwareObservation(TimeLimit(CartPole(), 5), flatten=False), (2,))
