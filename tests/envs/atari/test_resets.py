"""Episodes after resets without a new key, against Gymnasium's after resets without a seed."""

import sys
import types

import ale_py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing as Preprocessing

import funcenv
from funcenv import AutoresetMode, adapters
from funcenv.envs import Atari
from funcenv.envs.atari.games import GAMES
from funcenv.wrappers import AtariPreprocessing, Autoreset, FireReset
from tests.support.rotation import rotated

KEY = jax.random.key(0)
reset_after = jax.jit(lambda env, last: env.reset(KEY, after=last))
step = jax.jit(lambda env, state, action: env.step(state, action, KEY))


def pair(game, **kwargs):
    """Return Gymnasium's environment, which no test seeds, and ours."""
    kwargs = {"repeat_action_probability": 0.0, "frameskip": 4, **kwargs}
    return ale_py.AtariEnv(game, **kwargs), Atari(game, **kwargs)


def assert_equal_resets(timestep, expected):
    observation, info = expected
    np.testing.assert_array_equal(timestep.observation, observation)
    assert {name: int(timestep.info[name]) for name in info} == info


def assert_equal_steps(timestep, expected):
    observation, reward, terminated, truncated, info = expected
    assert_equal_resets(timestep, (observation, info))
    assert (timestep.reward, timestep.terminated, timestep.truncated) == (reward, terminated, truncated)


def assert_same_episodes(game, num_episodes, num_steps, **kwargs):
    """Play random actions, and reset, which mostly comes before the end of the game. Return the first memories."""
    theirs, env = pair(game, **kwargs)
    rng, state, starts = np.random.default_rng(0), None, []
    for _ in range(num_episodes):
        state, timestep = reset_after(env, state)
        assert_equal_resets(timestep, theirs.reset())
        starts.append(np.asarray(state.ram).tobytes())
        for _ in range(num_steps):
            action = rng.integers(theirs.action_space.n)
            state, timestep = step(env, state, jnp.int32(action))
            assert_equal_steps(timestep, theirs.step(action))
            if timestep.done:
                break
    return starts


@pytest.mark.parametrize(
    ("game", "is_alike"), [("seaquest", False), ("tennis", False), ("hangman", False), ("pong", True), ("qbert", True)]
)
def test_episodes_follow_each_other_as_in_gymnasium(game, is_alike):
    """Some games begin alike every time, others do not: Hangman asks for other words."""
    assert (len(set(assert_same_episodes(game, 4, 25))) == 1) == is_alike


@pytest.mark.parametrize("game", rotated(GAMES))
def test_eight_episodes_of_every_game(game):
    assert_same_episodes(game, 8, 15)


@pytest.mark.parametrize(
    "kwargs",
    [{"mode": 1, "difficulty": 3, "frameskip": 3}, {"max_num_frames_per_episode": 2, "frameskip": 1}],
)
def test_modes_difficulties_and_limits_outlast_a_reset(kwargs):
    """The second one ends within the frames that a state after a reset keeps."""
    assert_same_episodes("pong", 4, 10, **kwargs)


def test_a_reset_does_not_depend_on_where_the_emulator_is():
    """An episode begins alike from the state before it, in whatever order one asks for it, and after a search."""
    _, env = pair("seaquest", obs_type="ram")
    _, first = reset_after(env, None)
    states, timesteps = [], []
    state, timestep = reset_after(env, None)
    for number in range(3):
        for _ in range(5):
            state, _ = step(env, state, jnp.int32(number))
        states.append(state)
        state, timestep = reset_after(env, state)
        timesteps.append(step(env, state, jnp.int32(1)))
    for number in (2, 0, 1):
        state, _ = reset_after(env, states[number])
        jax.tree.map(np.testing.assert_array_equal, step(env, state, jnp.int32(1)), timesteps[number])
    jax.tree.map(np.testing.assert_array_equal, reset_after(env, None)[1], first)


@pytest.mark.parametrize(
    ("mode", "num_envs"),
    [
        (AutoresetMode.SAME_STEP, 3),
        (AutoresetMode.NEXT_STEP, 3),
        pytest.param(AutoresetMode.SAME_STEP, 20, marks=pytest.mark.exhaustive),  # more than emulators are kept
    ],
)
def test_automatic_resets_follow_the_episode(mode, num_envs):
    """Breakout of skipped frames ends within a few steps."""
    games = [pair("breakout", obs_type="ram", frameskip=30) for _ in range(num_envs)]
    venv = funcenv.FuncVectorEnv(games[0][1], num_envs, autoreset_mode=mode)
    advance, rng = jax.jit(venv.step), np.random.default_rng(0)
    vstate, timestep = jax.jit(venv.reset)(funcenv.key(0))
    expected = [theirs.reset()[0] for theirs, _ in games]
    over, num_ends = np.zeros(num_envs, bool), 0
    for _ in range(60):
        actions = rng.integers(4, size=num_envs, dtype=np.int32)
        vstate, timestep = advance(vstate, actions)
        for row, (theirs, _) in enumerate(games):
            if over[row]:
                expected[row], over[row] = theirs.reset()[0], False
            else:
                expected[row], reward, over[row], _, _ = theirs.step(actions[row])
                assert (timestep.reward[row], timestep.terminated[row]) == (reward, over[row])
                if over[row] and mode is AutoresetMode.SAME_STEP:
                    np.testing.assert_array_equal(timestep.final_observation[row], expected[row])
                    expected[row], over[row] = theirs.reset()[0], False
                    num_ends += 1
        num_ends += over.sum()
        np.testing.assert_array_equal(timestep.observation, expected)
    assert num_ends >= num_envs


def test_a_mask_resets_some_games_after_their_episodes():
    games = [pair("seaquest", obs_type="ram") for _ in range(3)]
    venv = funcenv.FuncVectorEnv(games[0][1], 3, autoreset_mode=AutoresetMode.DISABLED)
    vstate, _ = venv.reset(funcenv.key(0))
    vstate, _ = jax.jit(venv.step)(vstate, jnp.arange(3))
    expected = []
    for action, (theirs, _) in enumerate(games):
        theirs.reset()
        expected.append(theirs.step(action)[0])
    for row in (0, 2):
        expected[row] = games[row][0].reset()[0]
    mask = jnp.array([True, False, True])
    _, timestep = jax.jit(lambda vstate, mask: venv.reset(vstate=vstate, mask=mask))(vstate, mask)
    np.testing.assert_array_equal(timestep.observation, expected)


def test_the_stateful_environment_resets_as_gymnasiums():
    """A seed loads the game anew; a reset without one follows the episode, also in the middle of a game."""
    arguments = {"obs_type": "ram", "repeat_action_probability": 0.0, "frameskip": 4}
    env, theirs = adapters.make("ALE/Seaquest-v5", **arguments), ale_py.AtariEnv("seaquest", **arguments)
    for seed in (None, None, 7, None, None):
        observation, info = env.reset(seed=seed)
        expected, expected_info = theirs.reset(seed=seed)
        np.testing.assert_array_equal(observation, expected)
        assert info["frame_number"] == expected_info["frame_number"]
        for action in range(5):
            np.testing.assert_array_equal(env.step(action)[0], theirs.step(action)[0])


@pytest.mark.parametrize("num_envs", [None, 2])
def test_resets_under_wrappers(num_envs):
    """The button is pressed and frames pass in the episode that follows the last one, single and in a batch."""
    env = Atari("seaquest", obs_type="grayscale", repeat_action_probability=0.0, frameskip=1)
    wrapped = AtariPreprocessing(FireReset(env), noop_max=3, screen_size=(160, 210))
    theirs = ale_py.AtariEnv("seaquest", obs_type="grayscale", repeat_action_probability=0.0, frameskip=1)
    theirs.reset()
    lead = () if num_envs is None else (num_envs,)

    def batch(function):
        for _ in lead:
            function = jax.vmap(function)
        return jax.jit(function)

    keys = jax.random.split(funcenv.key(1), lead) if lead else funcenv.key(1)
    state, _ = batch(wrapped.reset)(keys)
    state, timestep = batch(lambda key, last: wrapped.reset(key, after=last))(keys, state)
    first = (0,) * len(lead)
    frames = int(timestep.info["episode_frame_number"][first]) - 2
    assert 1 <= frames <= 3
    for _ in range(2):
        theirs.reset()
        for action in (1, 2, *[0] * frames):
            theirs.step(action)
    np.testing.assert_array_equal(timestep.observation[first], theirs.ale.getScreenGrayscale())


def test_the_preprocessing_follows_the_episode_as_gymnasiums(monkeypatch):
    same_size = types.SimpleNamespace(resize=lambda image, size, interpolation: image, INTER_AREA=3)  # for OpenCV
    monkeypatch.setitem(sys.modules, "cv2", same_size)
    arguments = {"noop_max": 0, "screen_size": (160, 210), "terminal_on_life_loss": True, "grayscale_obs": False}
    theirs, env = pair("seaquest", frameskip=1)
    theirs, env = Preprocessing(theirs, **arguments), AtariPreprocessing(env, **arguments)
    state = None
    for _ in range(3):
        state, timestep = reset_after(env, state)
        np.testing.assert_array_equal(timestep.observation, theirs.reset()[0])
        for action in (2, 3, 1):
            state, timestep = step(env, state, jnp.int32(action))
            np.testing.assert_array_equal(timestep.observation, theirs.step(action)[0])


def test_autoreset_follows_the_episode():
    theirs, env = pair("breakout", obs_type="ram", frameskip=30)
    env = Autoreset(env)
    state, timestep = reset_after(env, None)
    theirs.reset()
    is_over, num_ends = False, 0
    for number in range(80):
        state, timestep = step(env, state, jnp.int32(number % 2))
        expected, is_over = (theirs.reset()[0], False) if is_over else theirs.step(number % 2)[0:3:2]
        np.testing.assert_array_equal(timestep.observation, expected)
        num_ends += is_over
    assert num_ends >= 2
