"""Changed actions against Gymnasium's, and the space that they are chosen from."""

import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import ActionWrapper, ClipAction, TimeLimit, TransformAction
from tests.support.tiny_envs import Counter

TORQUES = np.random.default_rng(0).uniform(-4, 4, (30, 1)).astype(np.float32)
PUSHES = np.random.default_rng(1).integers(0, 2, 60)


def test_transform_action_as_gymnasium(compare):
    compare(
        "CartPole",
        lambda env: TransformAction(env, lambda action: 1 - action, None),
        lambda env: reference.TransformAction(env, lambda action: 1 - action, None),
        PUSHES,
    )
    small = funcenv.spaces.Box(-0.5, 0.5, (1,))
    steps = compare(
        "Pendulum",
        lambda env: TransformAction(env, lambda action: 4 * action + 0.1, small),
        lambda env: reference.TransformAction(env, lambda action: 4 * action + 0.1, env.action_space),
        TORQUES / 4,
        spaces=False,
    )
    assert steps == len(TORQUES)


def test_the_space_is_the_inner_one_unless_given():
    env = TransformAction(Pendulum(max_torque=3.0), lambda action: -action)
    assert env.action_space == Pendulum(max_torque=3.0).action_space
    assert env.replace(env=Pendulum(max_torque=5.0)).action_space == Pendulum(max_torque=5.0).action_space
    own = funcenv.spaces.Discrete(2)
    chooses = TransformAction(Pendulum(), lambda action: jnp.where(action == 1, 1.0, -1.0)[None], own)
    assert chooses.action_space == own
    assert chooses.replace(env=Pendulum(max_torque=5.0)).action_space == own
    assert hash(jax.tree.structure(chooses)) == hash(jax.tree.structure(chooses.replace(env=Pendulum(g=1.0))))


def test_a_function_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"func of TransformAction returns float32\[\], but .* env.action_space is"):
        TransformAction(Pendulum(), lambda action: action[0])


def test_clip_action_as_gymnasium(compare):
    compare("Pendulum", ClipAction, reference.ClipAction, TORQUES)
    steps = compare("MountainCarContinuous", ClipAction, reference.ClipAction, 2 * TORQUES)
    assert steps == len(TORQUES)


def test_clip_action_under_drawn_bounds():
    torques = jnp.array([1.0, 2.0, 3.0])
    clipped = jax.vmap(lambda torque: ClipAction(Pendulum(max_torque=torque)).inner_action(jnp.array([9.0])))(torques)
    np.testing.assert_array_equal(clipped[:, 0], torques)


def test_clip_action_needs_a_box():
    with pytest.raises(TypeError, match=r"ClipAction needs an environment whose action_space is a Box"):
        ClipAction(CartPole())


def test_an_action_wrapper_changes_reward_and_info_alike():
    class Doubled(ActionWrapper):
        def inner_action(self, action):
            return 2 * action

    env = Doubled(TimeLimit(Counter(), 5))
    state, _ = env.reset(funcenv.key(0))
    state, timestep = env.step(state, 2, funcenv.key(1))
    assert timestep.reward == 4
    assert timestep.info["action"] == 4


def test_a_wrapper_that_lacks_its_function_says_so():
    with pytest.raises(NotImplementedError, match=r"must define inner_action"):
        ActionWrapper(CartPole()).inner_action(0)
