"""Parameters of stateful environments: Gymnasium's attributes, and setting them without compiling again."""

import copy

import gymnasium
import jax
import numpy as np
import pytest

from funcenv import adapters
from funcenv.adapters import FunctionalEnv
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests.support.programs import programs_of


@pytest.fixture
def env():
    env = adapters.make("CartPole-v1")
    env.reset(seed=0)
    return env


def both(id, **kwargs):
    """Return the bare environments of funcenv and Gymnasium."""
    return gymnasium.make(f"funcenv.adapters.gymnasium:funcenv/{id}", **kwargs).unwrapped, gymnasium.make(
        id, **kwargs
    ).unwrapped


def test_parameters_of_all_layers_are_attributes(env):
    assert (env.gravity, env.max_episode_steps, env.total_mass) == (9.8, 500, 1.1)
    assert env.unwrapped.gravity == env.get_wrapper_attr("gravity") == 9.8
    assert {"gravity", "max_episode_steps"} <= set(dir(env)) and "initial" not in dir(env)
    for name in ("wind", "initial", "env", "_gravity"):
        assert not hasattr(env, name) and not env.has_wrapper_attr(name)


@pytest.mark.fast_path
def test_setting_a_number_compiles_nothing_again(env):
    env.step(0)
    programs = programs_of(env)
    for gravity in (1.6, 2, np.float32(3.5), np.array(4)):
        env.gravity = gravity
        assert type(env.gravity) is float and env.gravity == gravity == env.func_env.unwrapped.gravity
        env.step(0)
        env.reset()
    assert programs_of(env) is programs
    assert programs.step_with._cache_size() == programs.reset_with._cache_size() == 1
    assert programs.step.num_compilations() == 1


def test_a_parameter_holds_from_the_next_call_on(env):
    env.gravity = 1.6
    twin = adapters.make("CartPole-v1", gravity=1.6)
    twin.reset(seed=0)
    for _ in range(3):
        np.testing.assert_allclose(env.step(1)[0], twin.step(1)[0], rtol=1e-6)
    np.testing.assert_allclose(env.reset(seed=1)[0], twin.reset(seed=1)[0], rtol=1e-6)
    np.testing.assert_allclose(env.step(1)[0], twin.step(1)[0], rtol=1e-6)
    again = copy.deepcopy(env)
    assert again.gravity == 1.6
    np.testing.assert_allclose(env.step(0)[0], again.step(0)[0], rtol=1e-6)


def test_options_of_the_episode_stay():
    env = FunctionalEnv(TimeLimit(CartPole(), 9))
    env.reset(seed=0, options={"force_mag": 0.0, "low": 0.0, "high": 0.0})
    env.gravity = 1.6
    assert env.step(1)[0].tolist() == [0, 0, 0, 0]
    env.reset(seed=0)
    assert env.step(1)[0].any()


def test_a_static_parameter_is_set_in_the_middle_of_an_episode(env):
    env.step(1)
    state = np.asarray(env.state)
    env.kinematics_integrator = "semi-implicit"
    np.testing.assert_array_equal(np.asarray(env.state), state)
    twin = adapters.make("CartPole-v1", kinematics_integrator="semi-implicit")
    twin.reset(seed=0)
    twin.state = state
    np.testing.assert_allclose(env.step(1)[0], twin.step(1)[0], rtol=1e-6)


def test_another_map_is_another_space():
    env = adapters.make("FrozenLake-v1", is_slippery=False)
    env.reset(seed=0)
    env.desc = ["SF", "FG"]
    assert env.observation_space.n == 4 and env.nS == 4
    env.step(2)
    assert env.step(1)[:3] == (3, 1.0, True)


def test_a_state_of_another_shape_needs_a_reset(dot):
    class Snake(dot):
        def initial(self, key):
            return jax.numpy.zeros(self.length)

        def observation(self, state, key):
            return jax.numpy.int32(0)

        def terminal(self, state):
            return False

    env = FunctionalEnv(Snake())
    env.reset(seed=0)
    env.length = 3
    with pytest.raises(adapters.ResetNeeded):
        env.step(0)
    env.reset()
    assert np.asarray(env.state).shape == (3,)


def test_a_changed_space_keeps_its_generator():
    env = adapters.make("Pendulum-v1")
    env.action_space.seed(3)
    env.max_torque = 4.0
    other = adapters.make("Pendulum-v1", max_torque=4.0).action_space
    other.seed(3)
    assert env.action_space.high == [4.0] and (env.action_space.sample() == other.sample()).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gravity", "low", "gravity of CartPole must be a number, got 'low'"),
        ("gravity", None, "must be a number"),
        ("gravity", [1.0], "must be a number"),
        ("gravity", np.ones(1), "must be a number"),
        ("gravity", float("nan"), "gravity must be a finite number"),
        ("masscart", -1, "masscart must be a finite number above 0, got -1.0"),
        ("max_episode_steps", 0, "max_episode_steps must be at least 1"),
    ],
)
def test_a_bad_value_changes_nothing(env, name, value, message):
    before = env.func_env
    for put in (setattr, lambda env, name, value: env.set_wrapper_attr(name, value)):
        with pytest.raises(ValueError, match=message):
            put(env, name, value)
    with pytest.raises(ValueError, match=message):
        env.reset(options={name: value}) if name != "max_episode_steps" else setattr(env, name, value)
    assert env.func_env is before
    env.step(0)


def test_what_follows_from_parameters_cannot_be_set(env):
    with pytest.raises(AttributeError, match="total_mass of CartPole is not a parameter"):
        env.total_mass = 3.0
    assert env.total_mass == 1.1


def test_other_names_are_ordinary_attributes(env):
    env.label = "mine"
    assert env.label == env.get_wrapper_attr("label") == vars(env)["label"] == "mine"
    assert not env.set_wrapper_attr("nowhere", 1, force=False)


def test_parameters_are_set_through_gymnasium():
    env = gymnasium.make("funcenv.adapters.gymnasium:funcenv/CartPole-v1")
    env.reset(seed=0)
    env.unwrapped.gravity = 1.6
    assert env.get_wrapper_attr("gravity") == env.unwrapped.gravity == 1.6
    assert env.set_wrapper_attr("gravity", 3.0) and env.unwrapped.func_env.gravity == 3.0


@pytest.mark.parametrize(
    ("id", "kwargs"),
    [
        ("FrozenLake-v1", {}),
        ("FrozenLake-v1", {"map_name": "8x8", "success_rate": 0.7}),
        ("FrozenLake-v1", {"is_slippery": False}),
        ("CliffWalking-v1", {}),
        ("Taxi-v4", {"is_rainy": True}),
    ],
)
def test_the_table_is_gymnasiums(id, kwargs):
    ours, theirs = both(id, **kwargs)
    expected = {s: {a: [tuple(row) for row in rows] for a, rows in table.items()} for s, table in theirs.P.items()}
    assert expected == ours.P
    assert ours.P is ours.P and {type(part) for part in ours.P[0][0][0]} == {float, int, bool}
    np.testing.assert_allclose(ours.initial_state_distrib, theirs.initial_state_distrib, rtol=1e-6)


def test_the_table_follows_the_parameters():
    env = adapters.make("FrozenLake-v1")
    assert env.P[0][0][0][0] == pytest.approx(1 / 3)
    env.success_rate = 0.8
    assert env.P[0][0][1][0] == 0.8 and env.get_wrapper_attr("P") is env.P


def test_numbered_states_have_gymnasiums_names():
    ours, theirs = both("Taxi-v4")
    for env in (ours, theirs):
        env.reset(seed=0)
        env.s = 328
        env.step(1)
    assert ours.s == theirs.s and ours.lastaction == theirs.lastaction == 1
    for number in (0, 17, 328, 499):
        assert ours.decode(number) == theirs.decode(number)
        assert ours.encode(*ours.decode(number)) == number
        np.testing.assert_array_equal(ours.action_mask(number), theirs.action_mask(number))
    ours, theirs = both("FrozenLake-v1", map_name="8x8")
    np.testing.assert_array_equal(ours.desc, theirs.desc)
    assert (ours.nS, ours.nA, ours.nrow, ours.ncol) == (64, 4, theirs.nrow, theirs.ncol)
    assert ours.desc.dtype == theirs.desc.dtype and not hasattr(both("Pendulum-v1")[0], "s")
    assert not hasattr(ours, "action_mask") and not hasattr(both("CliffWalking-v1")[0], "desc")


def test_acrobots_constants_may_be_in_capitals():
    ours, theirs = both("Acrobot-v1")
    assert (ours.LINK_MASS_1, ours.MAX_VEL_2) == (theirs.LINK_MASS_1, theirs.MAX_VEL_2)
    ours.LINK_MASS_1 = 2.0
    assert ours.func_env.link_mass_1 == 2.0


@pytest.mark.parametrize(
    "id", ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]
)
def test_the_state_is_gymnasiums_vector(id):
    ours, theirs = both(id)
    for env in (ours, theirs):
        env.reset(seed=0)
    ours.state = theirs.state = np.asarray(theirs.state)
    np.testing.assert_allclose(np.asarray(ours.state), theirs.state, rtol=1e-6)
    action = theirs.action_space.sample()
    np.testing.assert_allclose(ours.step(action)[0], theirs.step(action)[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(ours.state), np.asarray(theirs.state), rtol=1e-4, atol=1e-5)
    state = np.asarray(ours.state)
    for found, expected in (
        (ours.state >= 0.0, state >= 0.0),
        (ours.state <= 0.0, state <= 0.0),
        (ours.state > state, state > state),
        (ours.state < np.array(0.1), state < 0.1),
    ):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="a state is a Snapshot or a vector of"):
        ours.state = np.ones(7)


def test_the_vector_leaves_the_wrappers_alone():
    env = adapters.make("CartPole-v1", max_episode_steps=2)
    env.reset(seed=0)
    env.step(0)
    env.state = [0.0, 0.0, 0.1, 0.0]
    observation, _, _, truncated, _ = env.step(1)
    assert truncated and observation[2] == pytest.approx(0.1)


def test_the_episodes_of_frames_keep_their_parameters(dot):
    frames = []
    for late in (False, True):
        env = FunctionalEnv(dot(), render_mode="rgb_array_list", render_width=30)
        env.reset(seed=0)
        if late:
            env.radius = 0.1
        env.step(1)
        frames.append(env.render())
    assert (frames[0][0] == frames[1][0]).all() and (frames[0][1] != frames[1][1]).any()
