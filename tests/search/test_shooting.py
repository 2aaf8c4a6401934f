"""Search over sequences of actions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.search import make_shooting
from funcenv.spaces import Box
from tests.support.tiny_envs import Counter, Tiny

TARGET = jnp.array([0.5, 3.0])


class Aim(Tiny):
    """Pays the closeness of each action to a target."""

    observation_space = Box(-jnp.inf, jnp.inf, (2,))
    action_space = Box(np.array([-1.0, 0.0], np.float32), np.array([1.0, 8.0], np.float32))

    def initial(self, key):
        return jnp.zeros(2)

    def transition(self, state, action, key):
        return state + action

    def reward(self, state, action, next_state):
        return -((action - TARGET) ** 2).sum()


class Unbounded(Aim):
    """Takes any number."""

    action_space = Box(-jnp.inf, jnp.inf, (2,))


@pytest.mark.parametrize("method", ["cem", "mppi"])
def test_a_plan_finds_the_best_actions(method):
    policy = make_shooting(Aim(), 2, 400, method=method, num_iterations=8, temperature=0.05)
    env = policy.adapt_env(Aim())
    state, timestep = env.reset(funcenv.key(0))
    act = jax.jit(policy)
    for number in range(3):
        action = act(timestep.observation, funcenv.key(number))
        state, timestep = env.step(state, action, funcenv.key(9))
    np.testing.assert_allclose(action["action"], TARGET, atol=0.1)
    assert action["action"] in Aim.action_space


def test_steps_of_plans_and_actions_are_turned_into_each_other():
    policy = make_shooting(Aim(), 3, 50)
    steps = jnp.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0], [0.5, -0.25]])
    actions = jax.vmap(policy.as_action)(steps)
    np.testing.assert_allclose(actions, [[-1.0, 0.0], [0.0, 4.0], [1.0, 8.0], [0.5, 3.0]])
    np.testing.assert_allclose(jax.vmap(policy.as_step)(actions), steps, atol=1e-6)


def test_the_rest_of_a_plan_is_where_the_next_search_begins():
    policy = make_shooting(Aim(), 3, 50)
    env = policy.adapt_env(Aim())
    state, timestep = env.reset(funcenv.key(0))
    assert (timestep.observation["memory"] == 0).all()
    plan = policy.plan(state.env_state, jnp.zeros(2), jnp.zeros((3, 2)), funcenv.key(1))
    action = policy(timestep.observation, funcenv.key(1))
    np.testing.assert_allclose(action["memory"], jnp.concatenate([plan[1:].ravel(), jnp.zeros(2)]), rtol=1e-6)


def test_a_value_extends_the_horizon():
    """The action that pays nothing now leads to a state of higher value."""

    def value_and_prior(state, observation, key):
        return 100 * state[0], jnp.zeros(())

    policy = make_shooting(Aim(), 1, 100, value_and_prior=value_and_prior)
    plan = policy.plan(jnp.zeros(2), jnp.zeros(2), jnp.zeros((1, 2)), funcenv.key(0))
    assert plan[0, 0] > 0.9


def test_a_sequence_stops_where_the_caller_ends_the_search():
    """The first action decides what the second pays, which then counts nothing."""

    class Debt(Aim):
        def reward(self, state, action, next_state):
            return action[0] - 10 * state[0]

    for ends, best in ((None, -1), (lambda timestep: timestep.reward > -2, 1)):
        plan = make_shooting(Debt(), 2, 100, ends=ends).plan(
            jnp.zeros(2), jnp.zeros(2), jnp.zeros((2, 2)), funcenv.key(0)
        )
        assert abs(plan[0, 0] - best) < 0.1


def test_pendulum_is_balanced_without_learning():
    env = funcenv.make("Pendulum-v1")
    evaluation = funcenv.evaluate(env, make_shooting(env, 20, 64), 8, funcenv.key(0))
    assert evaluation.mean_return > -300  # a random policy has -1,200


def test_a_shooting_refuses_what_it_cannot_plan_for():
    with pytest.raises(TypeError, match="make_search takes Discrete"):
        make_shooting(Counter(), 3, 10)
    with pytest.raises(ValueError, match="bounded actions"):
        make_shooting(Unbounded(), 3, 10)
    with pytest.raises(ValueError, match="method must be one of cem, mppi"):
        make_shooting(Aim(), 3, 10, method="ilqr")
    with pytest.raises(ValueError, match="num_samples must be at least 2"):
        make_shooting(Aim(), 3, 1)
    with pytest.raises(ValueError, match="elite_fraction"):
        make_shooting(Aim(), 3, 10, elite_fraction=0.0)
    with pytest.raises(TypeError, match=r"ends must be a function ends\(timestep\), got 4"):
        make_shooting(Aim(), 3, 10, ends=4)
    with pytest.raises(ValueError, match="other states"):
        make_shooting(Aim(), 3, 10).adapt_env(funcenv.make("Pendulum-v1"))
