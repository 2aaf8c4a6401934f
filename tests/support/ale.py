"""Native Atari games beside ALE: the original, and recorded plays of ours."""

import ale_py
import jax
import jax.numpy as jnp
import numpy as np
from ale_py import roms

import funcenv
from funcenv.wrappers import AtariPreprocessing, FrameStackObservation


def original(game):
    """Return a new game of ALE, whose actions do not stick."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(roms.get_rom_path(game))
    ale.reset_game()
    return ale


def random_policy(num_actions):
    """Return a policy that draws an action and mostly holds it."""

    def policy(state, key):
        hold_key, action_key = jax.random.split(key)
        same = jax.random.bernoulli(hold_key, 0.8)
        action = jnp.where(same, state.last_action, jax.random.randint(action_key, (), 0, num_actions))
        return action.astype(jnp.int32)

    return policy


def replayed(game, actions, states):
    """Play the original with our actions up to our last frame, and return the memory and the reward of each frame."""
    ale, memory, rewards = original(game), [], []
    over = int(np.argmax(states.over)) + 1 if states.over.any() else len(actions)
    for action in actions[:over]:
        rewards.append(ale.act(action))
        memory.append(ale.getRAM())
    np.testing.assert_array_equal(states.reward[:over], rewards)
    assert ale.game_over() == states.over.any()
    return np.array(memory).astype(int)


def assert_long_games_are_truncated(env):
    """Assert that an environment that is limited to three frames is truncated in the third."""
    state, step = env.initial(None), jax.jit(env.step)
    for expected in (False, False, True):
        state, timestep = step(state, 0, jax.random.key(0))
        assert timestep.truncated == expected


def assert_observes_members(env):
    """Assert that the first observation lies in its space."""
    _, timestep = jax.jit(env.reset)(jax.random.key(0))
    assert env.observation_space.contains(np.asarray(timestep.observation))


def assert_stacks_run_compiled(env):
    """Assert that Atari's wrappers run compiled around grey screens."""
    venv = funcenv.FuncVectorEnv(FrameStackObservation(AtariPreprocessing(env, noop_max=5), 4), 2)
    vstate, _ = jax.jit(venv.reset)(jax.random.key(0))
    _, timestep = jax.jit(venv.step)(vstate, jnp.zeros(2, jnp.int32))
    assert timestep.observation.shape == (2, 4, 84, 84)


def played(env, policy, num_frames, seed=0):
    """Return the actions of a policy and the states after them."""

    def step(state, key):
        action = policy(state, key)
        state = env.transition(state, action, key)
        return state, (action, state)

    play = jax.jit(lambda keys: jax.lax.scan(step, env.initial(None), keys)[1])
    return jax.device_get(play(jax.random.split(jax.random.key(seed), num_frames)))
