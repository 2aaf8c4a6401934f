"""Parameters of vector environments, read and set as in Gymnasium's."""

import pickle

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import funcenv.adapters.gymnasium  # noqa: F401  (registers the ids)
from funcenv import AutoresetMode
from funcenv.adapters import FunctionalVectorEnv, make_vec
from funcenv.envs import CartPole, FrozenLake
from funcenv.wrappers import TimeLimit

ACTIONS = np.random.default_rng(0).integers(0, 2, (30, 3))
GRAVITIES = [9.8, 1.6, -3.0]


def trace(envs, actions=ACTIONS):
    return [envs.step(row)[:4] for row in actions]


def assert_same(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-5, 1e-5), ours, theirs)


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_a_parameter_that_was_set_is_that_of_environments_made_with_it(mode):
    envs, others = make_vec("CartPole-v1", 3, autoreset_mode=mode), make_vec("CartPole-v1", 3, autoreset_mode=mode)
    expected = make_vec("CartPole-v1", 3, gravity=np.array(GRAVITIES), autoreset_mode=mode)
    envs.set_attr("gravity", GRAVITIES)
    for one in (envs, others, expected):
        one.reset(seed=0)
    others.set_attr("gravity", np.array(GRAVITIES))  # between reset and step, which is the same
    rows = trace(expected)
    assert any(row[2].any() for row in rows)  # also in the episodes after the first
    assert_same(trace(envs), rows)
    assert_same(trace(others), rows)
    assert_same(trace(pickle.loads(pickle.dumps(envs))), trace(expected))
    for one in (envs, expected):
        one.reset(seed=5)
    assert_same(envs.rollout(ACTIONS)[:4], expected.rollout(ACTIONS)[:4])


def test_it_is_read_set_and_called_as_in_gymnasiums_loop():
    ours = gymnasium.make_vec("funcenv/CartPole-v1", 3)
    theirs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3)
    for envs in (ours, theirs):
        envs.set_attr("gravity", 1.6)
        assert envs.get_attr("gravity") == (1.6, 1.6, 1.6) == envs.call("gravity")
        envs.set_attr("length", (0.5, 1.0, 2.0))
        assert envs.get_attr("length") == (0.5, 1.0, 2.0)
        envs.set_attr("length", [0.25] * 3)
        assert envs.get_attr("action_space") == (gymnasium.spaces.Discrete(2),) * 3
        with pytest.raises(ValueError):
            envs.set_attr("gravity", [1.0, 2.0])
        with pytest.raises(AttributeError):
            envs.get_attr("wind")
    assert ours.call("get_keys_to_action")[2] == {("left",): 0, ("right",): 1}
    lake = make_vec("FrozenLake-v1", 2, is_slippery=False)
    assert lake.get_attr("P")[1][14][2] == [(1.0, 15, 1.0, True)]
    images = make_vec("CartPole-v1", 2, render_mode="rgb_array", render_height=20)
    images.reset(seed=0)
    assert [image.shape[0] for image in images.call("render")] == [20, 20]


def test_parameters_of_wrappers_and_of_episodes_with_options():
    envs = make_vec("CartPole-v1", 3)
    envs.set_attr("max_episode_steps", [2, 3, 500])
    envs.reset(seed=0, options={"low": -0.001, "high": 0.001})
    envs.set_attr("gravity", 0.0)
    truncations = np.array([row[3] for row in trace(envs, ACTIONS[:3])])
    assert truncations.tolist() == [[False, False, False], [True, False, False], [False, True, False]]
    assert np.abs(envs.reset(seed=0)[0]).max() > 0.001  # the options held for one episode, the parameter holds


def test_a_leaf_does_not_compile_again_and_a_static_parameter_does():
    traces = []

    class Counted(CartPole):
        def transition(self, state, action, key):
            traces.append(action)
            return super().transition(state, action, key)

    envs = FunctionalVectorEnv(TimeLimit(Counted(), 500), 3)
    envs.reset(seed=0)
    envs.set_attr("gravity", 1.0)
    trace(envs, ACTIONS[:2])
    num_traces = len(traces)
    for gravity in (2.0, GRAVITIES, 3):
        envs.set_attr("gravity", gravity)
        trace(envs, ACTIONS[:2])
        envs.reset()
    assert len(traces) == num_traces
    before = envs.state
    envs.set_attr("kinematics_integrator", "semi-implicit")
    assert_same(jax.tree.map(np.asarray, envs.state.env_state), jax.tree.map(np.asarray, before.env_state))
    trace(envs, ACTIONS[:2])
    assert len(traces) > num_traces
    with pytest.raises(ValueError, match="static"):
        envs.set_attr("kinematics_integrator", ["euler", "euler", "semi-implicit"])


def test_other_shapes_need_a_reset():
    envs = FunctionalVectorEnv(FrozenLake(), 2)
    envs.reset(seed=0)
    envs.set_attr("map_name", "8x8")
    assert envs.single_observation_space.n == 64 and envs.observation_space.shape == (2,)
    envs.reset()
    envs.step([1, 1])
    with pytest.raises(AttributeError, match="wind"):
        envs.set_attr("wind", 3)
    with pytest.raises(AttributeError, match="total_mass"):
        make_vec("CartPole-v1", 2).set_attr("total_mass", 3.0)
    with pytest.raises(ValueError, match="length"):
        make_vec("CartPole-v1", 2).set_attr("length", [-1.0, 1.0])


def test_spaces_follow_the_parameters_and_keep_their_generators():
    for make in (make_vec, lambda id, n: gymnasium.make_vec(f"funcenv/{id}", n)):
        envs = make("Pendulum-v1", 2)
        envs.action_space.seed(0)
        envs.reset(seed=0)
        envs.set_attr("max_torque", [1.0, 3.0])
        assert envs.single_action_space.high == 3.0 and envs.action_space.shape == (2, 1)
        first = envs.action_space.sample()
        envs.action_space.seed(0)
        np.testing.assert_array_equal(envs.action_space.sample(), first)
        envs.step(np.full((2, 1), 3.0))
