"""Gymnasium's functional environments, without the faults of Gymnasium's own adapters."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.phys2d.cartpole import CartPoleFunctional, CartPoleParams
from gymnasium.envs.phys2d.pendulum import PendulumFunctional
from gymnasium.envs.tabular.blackjack import BlackjackFunctional, BlackJackParams
from gymnasium.envs.tabular.cliffwalking import CliffWalkingFunctional
from gymnasium.experimental.functional import FuncEnv

import funcenv
from funcenv import FuncVectorEnv
from funcenv.adapters import FunctionalEnv
from funcenv.adapters.gymnasium import from_gymnasium_functional
from funcenv.wrappers import TimeLimit

SHIPPED = [CartPoleFunctional, PendulumFunctional, BlackjackFunctional, CliffWalkingFunctional]


@pytest.mark.parametrize("kind", SHIPPED)
def test_the_shipped_ones_scan_and_stay_in_their_spaces(kind):
    env = TimeLimit(from_gymnasium_functional(kind()), max_episode_steps=5)
    venv = FuncVectorEnv(env, num_envs=3)
    _, trajectory, _ = funcenv.rollout(venv, funcenv.random_policy(env), funcenv.key(0), num_steps=30)
    observation = trajectory.timestep.observation
    assert observation.dtype == env.observation_space.dtype
    inside = jax.vmap(jax.vmap(env.observation_space.contains))(observation)
    # Gymnasium's Pendulum shows cosines that may exceed 1 by rounding, and its Blackjack sums of up to 31.
    assert inside.mean() > 0.9
    assert trajectory.timestep.done.any()


def test_a_step_is_what_the_functions_say():
    theirs = CartPoleFunctional()
    env = from_gymnasium_functional(theirs)
    state, _ = env.reset(funcenv.key(0))
    step = jax.jit(env.step)
    for i in range(40):
        action = jnp.int32(i % 3 == 0)
        with jax.numpy_dtype_promotion("standard"):
            expected = theirs.transition(state.env_state, action, None, CartPoleParams())
            terminal, reward = (
                theirs.terminal(expected, None),
                theirs.reward(state.env_state, action, expected, None, CartPoleParams()),
            )
        state, timestep = step(state, action, funcenv.key(i))
        np.testing.assert_allclose(timestep.observation, expected, 1e-5, 1e-6)
        assert bool(timestep.terminated) == bool(terminal) and float(timestep.reward) == float(reward)
        state = state.replace(env_state=expected)


def test_real_parameters_batch_and_differentiate_and_others_are_fixed():
    env = from_gymnasium_functional(CartPoleFunctional(), CartPoleParams(gravity=1.6))
    assert env.params.gravity == 1.6 and env.params == CartPoleParams(gravity=1.6)
    start, _ = env.reset(funcenv.key(0))

    def speed(gravity):
        moved = env.with_params(env.params.replace(gravity=gravity))
        return moved.step(start, jnp.int32(1), funcenv.key(1))[0].env_state[3]

    gravities = jnp.array([0.0, 9.8])
    speeds = jax.vmap(speed)(gravities)
    slope = jax.grad(speed)(0.0)
    np.testing.assert_allclose(speeds[0] + 9.8 * slope, speeds[1], 1e-4)  # the dynamics are linear in gravity
    assert slope != 0

    batch = jax.vmap(lambda gravity: env.with_params(env.params.replace(gravity=gravity)))(gravities)
    assert FuncVectorEnv(batch, num_envs=2).reset(funcenv.key(0))[1].observation.shape == (2, 4)


def test_flags_among_the_parameters_can_steer_python():
    rewards = []
    for natural in (False, True):
        params = BlackJackParams(natural=natural, sutton_and_barto=False)
        env = from_gymnasium_functional(BlackjackFunctional(), params)
        state, _ = env.reset(funcenv.key(0))
        hands = {
            "player_hand": jnp.zeros(21).at[:2].set(jnp.array([1.0, 10.0])),
            "dealer_hand": jnp.zeros(21).at[:2].set(jnp.array([10.0, 7.0])),
        }
        state = state.replace(env_state=state.env_state._replace(**hands))
        rewards.append(float(env.step(state, jnp.int32(0), funcenv.key(1))[1].reward))
    assert rewards == [1.0, 1.5]


class Noisy(FuncEnv):
    """An environment that is random in every function, and whose state changes shape and dtype."""

    observation_space = gymnasium.spaces.Box(-100, 100, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def initial(self, rng, params=None):
        return {"x": 0, "seen": False}

    def transition(self, state, action, rng, params=None):
        return {"x": state["x"] + jnp.ones(1), "seen": jnp.ones((), int)}

    def observation(self, state, rng, params=None):
        return state["x"]

    def reward(self, state, action, next_state, rng, params=None):
        return jax.random.uniform(rng)

    def terminal(self, state, rng, params=None):
        return jax.random.bernoulli(rng)

    def state_info(self, state, params=None):
        return {"seen": state["seen"]}

    def transition_info(self, state, action, next_state, params=None):
        return {"moved": next_state["x"] - state["x"]}


def test_what_is_drawn_about_a_state_is_drawn_once_with_a_key_of_its_own():
    env = from_gymnasium_functional(Noisy())
    state, timestep = env.reset(funcenv.key(0))
    assert state.env_state["x"].shape == (1,) and state.env_state["seen"].dtype == jnp.int32
    assert not timestep.terminated and timestep.info["seen"] == 0 and timestep.info["moved"] == 0
    after, timestep = env.step(state, jnp.int32(1), funcenv.key(1))
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), after) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), state
    )
    assert timestep.reward == env.reward(state, jnp.int32(1), after) and timestep.terminated == env.terminal(after)
    keys = jax.random.split(funcenv.key(2), 400)
    steps = jax.vmap(lambda key: env.step(state, jnp.int32(1), key)[1])(keys)
    assert abs(np.corrcoef(steps.reward, steps.terminated)[0, 1]) < 0.2  # the two do not share a key
    assert 0.4 < steps.terminated.mean() < 0.6


def test_it_is_an_environment_like_any_other():
    env = FunctionalEnv(from_gymnasium_functional(PendulumFunctional()))
    first = env.reset(seed=0)[0]
    observation, reward, *_ = env.step(np.array([0.5], np.float32))
    assert observation.dtype == first.dtype == np.float32 and reward < 0


def test_x64_keeps_the_declared_dtype():
    with jax.enable_x64(True):
        _, timestep = from_gymnasium_functional(CartPoleFunctional()).reset(funcenv.key(0))
        assert timestep.observation.dtype == np.float32 and timestep.reward.dtype == np.float64


class Growing(Noisy):
    """An environment whose state changes its structure."""

    def transition(self, state, action, rng, params=None):
        return {**state, "more": 1}


def test_errors():
    with pytest.raises(TypeError, match=r"gymnasium\.experimental\.functional\.FuncEnv"):
        from_gymnasium_functional(funcenv.make("CartPole-v1"))
    with pytest.raises(ValueError, match="structure"):
        from_gymnasium_functional(Growing()).reset(funcenv.key(0))
    with pytest.raises(TypeError, match="hashable"):
        from_gymnasium_functional(Noisy(), params={"names": {"a"}})
