"""Bins against Gymnasium's: random points, every edge, traced bounds, and wrong arguments."""

import gymnasium
import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.spaces import Box
from funcenv.wrappers import ClipAction, DiscretizeAction, DiscretizeObservation

TORQUES = np.random.default_rng(0).uniform(-1, 1, (30, 1)).astype(np.float32)


class Plane(funcenv.Wrapper):
    """Pendulum with two actions, whose sum is the torque."""

    @property
    def action_space(self):
        return Box([-1.0, 0.0], [1.0, 3.0])

    def transition(self, state, action, key):
        return self.env.transition(state, action.sum(keepdims=True), key)

    def reward(self, state, action, next_state):
        return self.env.reward(state, action.sum(keepdims=True), next_state)


@pytest.mark.parametrize("multidiscrete", [False, True])
def test_discretize_action_as_gymnasium(compare_alike, multidiscrete):
    actions = np.random.default_rng(1).integers(0, 5, 30)
    compare_alike(
        "Pendulum",
        lambda wrappers, env: wrappers.DiscretizeAction(env, 5, multidiscrete),
        actions[:, None] if multidiscrete else actions,
    )


def test_discretize_action_of_several_elements_as_gymnasium():
    class Reference(gymnasium.Env):
        action_space = gymnasium.spaces.Box(np.float32([-1, 0]), np.float32([1, 3]))

    for multidiscrete, actions in ((False, range(6)), (True, [(i, j) for i in range(2) for j in range(3)])):
        ours = DiscretizeAction(Plane(Pendulum()), (2, 3), multidiscrete)
        theirs = reference.DiscretizeAction(Reference(), (2, 3), multidiscrete)
        for action in actions:
            played = ours.inner_action(np.array(action))
            np.testing.assert_allclose(played, theirs.action(action), rtol=1e-6)
            np.testing.assert_array_equal(ours.revert_action(played), theirs.revert_action(played))
            np.testing.assert_array_equal(ours.revert_action(played), action)


def test_actions_beyond_the_bins_are_clipped():
    env = DiscretizeAction(Pendulum(), 4)
    np.testing.assert_array_equal(env.inner_action(-3), env.inner_action(0))
    np.testing.assert_array_equal(env.inner_action(9), env.inner_action(3))


@pytest.mark.parametrize(("bins", "multidiscrete"), [(7, False), ((3, 10), False), ((10, 1), True), (4, True)])
def test_discretize_observation_as_gymnasium(compare_alike, bins, multidiscrete):
    compare_alike(
        "MountainCarContinuous", lambda wrappers, env: wrappers.DiscretizeObservation(env, bins, multidiscrete), TORQUES
    )


def test_every_edge_as_gymnasium():
    """Edges that are floats exactly, and points near them; compiled with the bounds as constants and as arguments."""

    class Reference(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-4.0, 4.0, (2,))

    class Square(funcenv.Wrapper):
        bound: float = 4.0

        @property
        def observation_space(self):
            return Box(jnp.full(2, -self.bound), jnp.full(2, self.bound))

    ours = DiscretizeObservation(Square(CartPole()), (8, 4), multidiscrete=True)
    theirs = reference.DiscretizeObservation(Reference(), (8, 4), multidiscrete=True)
    edges = np.arange(-5, 6, dtype=np.float32)
    points = np.concatenate([edges, edges - 1e-6, edges + 1e-6, [-np.inf, np.inf]]).astype(np.float32)
    points = np.repeat(points[:, None], 2, axis=1)
    expected = [theirs.observation(point) for point in points]
    seen = jax.vmap(ours.outer_observation)(points)
    np.testing.assert_array_equal(seen, expected)
    traced = jax.jit(lambda env, points: jax.vmap(env.outer_observation)(points))(ours, points)
    np.testing.assert_array_equal(traced, expected)
    for bins in expected[:33:4]:
        np.testing.assert_allclose(ours.revert_observation(bins), theirs.revert_observation(bins), atol=1e-6)


def test_bounds_that_depend_on_a_batched_parameter():
    speeds = jnp.array([4.0, 8.0])
    bins = jax.vmap(
        lambda speed: DiscretizeObservation(Pendulum(max_speed=speed), 4, True).outer_observation(
            jnp.array([0.0, 0.0, 3.0])
        )
    )(speeds)
    np.testing.assert_array_equal(bins[:, 2], [3, 2])
    torques = jax.vmap(lambda torque: DiscretizeAction(Pendulum(max_torque=torque), 2).inner_action(1))(speeds)
    np.testing.assert_array_equal(torques[:, 0], speeds / 2)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: DiscretizeAction(CartPole(), 3), TypeError, r"is a Box, got Discrete\(2\)"),
        (lambda: DiscretizeAction(Pendulum(), 0), ValueError, r"bins must be at least 1, got 0"),
        (lambda: DiscretizeAction(Pendulum(), 2.5), TypeError, r"bins must be an integer, got 2.5"),
        (lambda: DiscretizeAction(Pendulum(), (2, 2)), ValueError, r"one number for each of 1 elements, got \(2, 2\)"),
        (lambda: DiscretizeAction(ClipAction(Pendulum()), 3), ValueError, r"bounded action_space.*inside ClipAction"),
        (lambda: DiscretizeObservation(CartPole(), 3), ValueError, r"needs a bounded observation_space"),
        (lambda: DiscretizeObservation(Pendulum(), 2000), ValueError, r"8000000000 combinations.*use multidiscrete"),
    ],
)
def test_wrong_arguments_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
