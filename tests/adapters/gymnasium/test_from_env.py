"""Gymnasium environments that only go forward: ordered calls, and errors for steps from old states."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv, spaces
from funcenv.adapters import FunctionalEnv
from funcenv.adapters.gymnasium import from_gymnasium
from funcenv.wrappers import Autoreset, TimeLimit


def cartpole():
    return from_gymnasium(gymnasium.make("CartPole-v1").unwrapped, pure=False)


def seed_of(env, key):
    """Return the seed that `reset(key)` passes, as documented."""
    initial_key, _ = jax.random.split(key)
    return int(jax.random.bits(initial_key, (), jnp.uint32) >> 1)


def episode(env, key, actions):
    """Run one episode in one compiled program."""

    def step(state, action):
        state, timestep = env.step(state, action, key)
        return state, (timestep.observation, timestep.reward, timestep.terminated)

    state, timestep = env.reset(key)
    return timestep.observation, jax.lax.scan(step, state, actions)[1]


def test_a_compiled_episode_is_that_of_the_environment():
    env, theirs = cartpole(), gymnasium.make("CartPole-v1").unwrapped
    actions = jnp.arange(8, dtype=jnp.int32) % 2
    first, (observations, rewards, terminated) = jax.jit(episode, static_argnums=0)(env, funcenv.key(3), actions)
    np.testing.assert_array_equal(first, theirs.reset(seed=seed_of(env, funcenv.key(3)))[0])
    for i, action in enumerate(actions.tolist()):
        row = theirs.step(action)
        np.testing.assert_array_equal(observations[i], row[0])
        assert (rewards[i], terminated[i]) == row[1:3]


def test_episodes_in_a_loop_with_cond_run_in_order():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=5)
    env = from_gymnasium(lake, pure=False)

    def step(carry, inputs):
        state, done = carry
        action, key = inputs
        state, timestep = jax.lax.cond(done, lambda: env.reset(key), lambda: env.step(state, action, key))
        return (state, timestep.done), (timestep.observation, timestep.terminated, timestep.truncated)

    actions = jax.random.randint(funcenv.key(0), (40,), 0, 4)
    keys = jax.random.split(funcenv.key(1), 40)

    def play():
        state, _ = env.reset(funcenv.key(2))
        return jax.lax.scan(step, (state, jnp.zeros((), bool)), (actions, keys))[1]

    rows = [row.tolist() for row in jax.jit(play)()]
    reference, done = [], False
    theirs = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=5)
    theirs.reset(seed=0)
    for action in actions.tolist():
        row = (theirs.reset()[0], 0, False, False) if done else theirs.step(action)
        done = row[2] or row[3]
        reference.append((row[0], bool(row[2]), bool(row[3])))
    assert list(zip(*rows, strict=True)) == reference
    assert any(row[1] for row in reference) and any(row[2] for row in reference)


def test_stateful_environments_and_functional_wrappers_accept_it():
    env = FunctionalEnv(TimeLimit(cartpole(), max_episode_steps=3))
    first = env.reset(seed=5)[0]
    ends = [env.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    np.testing.assert_array_equal(env.reset(seed=5)[0], first)


def test_only_the_newest_state_can_be_stepped_from():
    env = cartpole()
    state, _ = env.reset(funcenv.key(0))
    env.step(state, jnp.int32(0), funcenv.key(0))
    with pytest.raises(
        jax.errors.JaxRuntimeError, match="has answered 2 calls, so it cannot step from its state after 1"
    ):
        jax.block_until_ready(env.step(state, jnp.int32(1), funcenv.key(0)))
    state, _ = env.reset(funcenv.key(0))  # and it goes on
    env.step(state, jnp.int32(0), funcenv.key(0))


def test_computing_a_reset_beside_a_step_is_an_error_and_not_a_wrong_result():
    env = Autoreset(cartpole())
    state, _ = env.reset(funcenv.key(0))
    with pytest.raises(jax.errors.JaxRuntimeError, match="call reset and step in turn"):
        for number in range(2):  # the reset comes after the first step
            state, _ = jax.block_until_ready(env.step(state, jnp.int32(0), funcenv.key(number)))


def test_mapping_is_refused():
    env = cartpole()
    with pytest.raises(TypeError, match="cannot be mapped over 3 states, because pure=False was given; step it alone"):
        jax.vmap(env.reset)(jax.random.split(funcenv.key(0), 3))
    with pytest.raises(TypeError, match="cannot be mapped"):
        jax.jit(FuncVectorEnv(env, num_envs=2).reset)(funcenv.key(0))
    state, _ = env.reset(funcenv.key(0))
    with pytest.raises(TypeError, match="cannot be mapped"):
        jax.vmap(jax.jit(lambda action: env.step(state, action, funcenv.key(0))))(jnp.zeros(2, jnp.int32))


class Talker(gymnasium.Env):
    """An environment whose observation is the last action, of varying size."""

    def __init__(self, space):
        self.observation_space = self.action_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(3)
        return self.observation_space.sample(), {}

    def step(self, action):
        assert action in self.action_space
        return action, 1, False, np.bool_(False), {"anything": object()}


VARYING = [
    gymnasium.spaces.Text(4),
    gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(3)),
    gymnasium.spaces.Graph(gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Discrete(2)),
    gymnasium.spaces.Dict(
        a=gymnasium.spaces.OneOf([gymnasium.spaces.Discrete(2), gymnasium.spaces.Box(0, 1, (2,))]),
        b=gymnasium.spaces.Box(-1, 1, (2,), np.float64),
    ),
]


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("space", VARYING, ids=lambda space: type(space).__name__)
def test_spaces_of_every_kind(space, pure):
    env = from_gymnasium(Talker(space), pure=pure)
    state, timestep = jax.jit(env.reset)(funcenv.key(0))
    assert timestep.observation in env.observation_space

    def step(state, key):
        state, timestep = env.step(state, env.action_space.sample(key), key)
        return state, timestep

    _, timesteps = jax.jit(lambda state: jax.lax.scan(step, state, jax.random.split(funcenv.key(1), 4)))(state)
    for i, key in enumerate(jax.random.split(funcenv.key(1), 4)):
        said = jax.tree.map(lambda leaf: leaf[i], timesteps.observation)  # noqa: B023
        jax.tree.map(np.testing.assert_array_equal, said, env.action_space.sample(key))


def test_spaces_can_be_given():
    space = spaces.Sequence(spaces.Discrete(3), max_length=50)
    talker = Talker(gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(3)))
    env = from_gymnasium(talker, observation_space=space, action_space=space)
    assert env.reset(funcenv.key(0))[1].observation.items.shape == (50,)


@pytest.mark.parametrize("pure", [False, True])
def test_errors_of_the_environment_come_through(pure):
    env = from_gymnasium(gymnasium.make("CartPole-v1"), pure=pure)
    state, _ = env.reset(funcenv.key(0))
    with pytest.raises(jax.errors.JaxRuntimeError, match="invalid"):
        jax.block_until_ready(env.step(state, jnp.int32(7), funcenv.key(0)))


def test_x64():
    with jax.enable_x64(True):
        env = cartpole()
        state, timestep = env.reset(funcenv.key(0))
        _, after = env.step(state, jnp.int32(0), funcenv.key(0))
        assert timestep.observation.dtype == np.float32 and after.reward.dtype == np.float64


def test_what_is_no_environment_is_refused():
    with pytest.raises(TypeError, match=r"funcenv\.adapters\.gymnasium\.spaces"):
        from_gymnasium(gymnasium.spaces.Discrete(2))
    with pytest.raises(TypeError, match=r"takes a gymnasium\.Env"):
        from_gymnasium(gymnasium.make_vec("CartPole-v1", num_envs=2))
    for id in ("funcenv/CartPole-v1", "phys2d/CartPole-v1"):
        with pytest.raises(TypeError, match=r"env\.unwrapped\.func_env"):
            from_gymnasium(gymnasium.make(id))
