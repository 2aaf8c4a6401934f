"""The conventions of environments with goals, in the pure and in the stateful interface."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.adapters.gymnasium import GymnasiumEnv
from funcenv.goals import GoalEnv, require_goals
from funcenv.spaces import Box, Discrete, MultiDiscrete


class Line(GoalEnv):
    """Walks along a line to a place; pays minus the distance, and is truncated beyond 4."""

    goal_space = Discrete(9, start=-4)
    view_space = Box(-jnp.inf, jnp.inf, (1,))
    action_space = Discrete(2)

    def initial(self, key):
        return jnp.zeros((), jnp.int32), jax.random.randint(key, (), -4, 5)

    def transition(self, state, action, key):
        return state[0] + 2 * jnp.asarray(action, jnp.int32) - 1, state[1]

    def view(self, state, key):
        return jnp.zeros(1, jnp.float32)

    def achieved_goal(self, state):
        return state[0]

    def desired_goal(self, state):
        return state[1]

    def is_success(self, achieved_goal, desired_goal):
        return achieved_goal == desired_goal

    def compute_reward(self, achieved_goal, desired_goal, info):
        return -jnp.abs(achieved_goal - desired_goal).astype(float) - info["toll"]

    def compute_truncated(self, achieved_goal, desired_goal, info):
        return jnp.abs(achieved_goal) >= info["border"]

    def transition_info(self, state, action, next_state):
        return {"toll": jnp.asarray(action, float)}

    def state_info(self, state):
        return {**super().state_info(state), "border": jnp.int32(4)}


def test_rewards_and_flags_see_the_info_of_the_step():
    env, key = Line(), funcenv.key(0)
    state, timestep = env.step((jnp.int32(2), jnp.int32(3)), 1, key)
    assert timestep.reward == -1 and timestep.info["is_success"] and not timestep.truncated
    state, timestep = env.step(state, 1, key)
    assert timestep.reward == -2 and not timestep.info["is_success"] and timestep.truncated
    assert not timestep.terminated and env.reward_range == (-np.inf, np.inf)


def test_a_subclass_is_told_what_it_must_define():
    for name in "goal_space", "view_space":
        with pytest.raises(NotImplementedError, match=f"GoalEnv must define the property {name}"):
            getattr(GoalEnv(), name)
    for name in "view(state, key)", "achieved_goal(state)", "desired_goal(state)":
        function = getattr(GoalEnv(), name.partition("(")[0])
        with pytest.raises(NotImplementedError, match="GoalEnv must define"):
            function(*range(name.count(",") + 1))


@pytest.mark.parametrize("make", [adapters.make, lambda id: GymnasiumEnv(funcenv.make(id))], ids=["own", "gymnasium"])
def test_the_stateful_interface_computes_rewards_as_replay_buffers_of_other_libraries_ask(make):
    env = make("GoalReacher-v0")
    observation, _ = env.reset(seed=0)
    observation, reward, _, _, info = env.step(np.float32([1, 1]))
    compute_reward = env.unwrapped.compute_reward
    goals = observation["achieved_goal"], observation["desired_goal"]
    assert compute_reward(*goals, info) == reward == -1
    achieved = np.stack([goals[0], goals[1]])
    rewards = compute_reward(achieved, np.stack([goals[1], goals[1]]), [{}, {}])
    assert isinstance(rewards, np.ndarray) and rewards.dtype == np.float32 and rewards.tolist() == [-1, 0]
    assert not env.unwrapped.compute_terminated(*goals, info) and not env.unwrapped.compute_truncated(*goals, info)


def test_the_stateful_functions_follow_the_parameters():
    env = adapters.make("GoalReacher-v0").unwrapped
    assert env.compute_reward([0.0, 0.0], [0.5, 0.0], {}) == -1
    env.distance_threshold = 0.6
    assert env.compute_reward([0.0, 0.0], [0.5, 0.0], {}) == 0


def test_vector_environments_call_the_functions():
    envs = adapters.make_vec("BitFlip-v0", num_envs=2, num_bits=2)
    rewards = envs.call("compute_reward", [[0, 1], [1, 1]], [[0, 1], [0, 1]], {})
    assert [one.tolist() for one in rewards] == [[0, -1], [0, -1]]


@pytest.mark.parametrize(
    ("goal", "error", "message"),
    [
        ([0.5, 1.5], ValueError, r"achieved_goal must lie in Box\(-1.0, 1.0, \(2,\), float32\), got \[0.5, 1.5\]"),
        ([0.5, np.nan], ValueError, "must lie in Box"),
        ([[0.5, 0.5], [-1.01, 0.0]], ValueError, r"got \[-1.0"),
        ([0.5], ValueError, r"must have the shape \(2,\), after any leading axes, got \(1,\)"),
        (0.5, ValueError, r"must have the shape \(2,\)"),
        ("here", TypeError, "must be an array of float32"),
        (None, TypeError, "must be an array of float32"),
    ],
)
def test_goals_outside_of_their_space_are_refused(goal, error, message):
    env = adapters.make("GoalReacher-v0").unwrapped
    for name in "compute_reward", "compute_terminated", "compute_truncated":
        with pytest.raises(error, match=message):
            getattr(env, name)(goal, [0.0, 0.0], {})
    with pytest.raises(error, match=message.replace("achieved", "desired")):
        env.compute_reward([0.0, 0.0], goal, {})


def test_goals_of_integers():
    (goals,) = require_goals(MultiDiscrete([3, 4]), goal=[[2, 3], [0, 0]])
    assert goals.tolist() == [[2, 3], [0, 0]]
    with pytest.raises(TypeError, match="array of int.., got one of float64"):
        require_goals(MultiDiscrete([3, 4]), goal=[1.0, 1.0])
    with pytest.raises(ValueError, match=r"must lie in .*, got \[3, 0\]"):
        require_goals(MultiDiscrete([3, 4]), goal=[3, 0])
    (goal,) = require_goals(Discrete(9, start=-4), goal=-4)
    assert goal == -4


def reach(observation, key):
    """Flip the first bit that differs from the goal, but never in a row of ones."""
    wrong = observation["achieved_goal"] != observation["desired_goal"]
    return jnp.where(observation["desired_goal"][0] == 1, 0, jnp.argmax(wrong))


def test_episodes_tell_their_success():
    """The success is that of the step that ended the episodes, before any reset."""
    env = funcenv.make("BitFlip-v0", num_bits=3, max_episode_steps=4)
    evaluation = funcenv.evaluate(env, reach, 64, funcenv.key(0))
    np.testing.assert_array_equal(evaluation.success, evaluation.terminated)
    assert 0.2 < evaluation.success_rate == evaluation.success.mean() < 0.9
    for mode in funcenv.AutoresetMode:
        venv = funcenv.FuncVectorEnv(env, 32, mode)
        _, steps, statistics = funcenv.rollout(venv, reach, funcenv.key(1), 12)
        ended = np.asarray(steps.timestep.done)
        if mode is funcenv.AutoresetMode.DISABLED:
            ended = ended & (np.cumsum(ended, 0) == 1)
        expected = np.asarray(steps.timestep.final_info["is_success"])[ended].mean()
        assert statistics.success_rate == np.float32(expected) and 0.2 < expected < 0.9
    _, _, few = funcenv.rollout(funcenv.FuncVectorEnv(env, 2), lambda *_: 0, funcenv.key(3), 1)
    assert few.count > 0 or np.isnan(few.success_rate)


def test_other_environments_have_no_success():
    env = funcenv.make("CartPole-v1")
    policy = funcenv.random_policy(env)
    assert funcenv.evaluate(env, policy, 2, funcenv.key(0)).success_rate is None
    assert funcenv.rollout(funcenv.FuncVectorEnv(env, 2), policy, funcenv.key(0), 5)[2].success_rate is None
