"""The preprocessing of arcade games, against Gymnasium's wrapper around a game with the same rules."""

import sys
import types

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing as Reference

import funcenv
from funcenv.spaces import Box, Discrete
from funcenv.wrappers import AtariPreprocessing, FireReset, FrameStackObservation, PixelObservation, RepeatAction
from tests.support.tiny_envs import Tiny

SCREENS = np.random.default_rng(0).integers(0, 256, (97, 6, 5, 3), dtype=np.uint8)
WEIGHTS = np.array([0.2989, 0.587, 0.114])
TRUNCATED_AFTER = 46


class GameState(funcenv.PyTreeNode):
    frame: jax.Array  # since the reset
    total: jax.Array  # of all actions


class Game(Tiny):
    """Loses a life in some frames and ends with the last; pays what is on the screen."""

    frameskip: int = funcenv.field(pytree_node=False, default=1)
    action_names = ("NOOP", "FIRE", "RIGHT")
    observation_space = Box(0, 255, SCREENS.shape[1:], np.uint8)
    action_space = Discrete(3)

    def initial(self, key):
        del key
        return GameState(frame=jnp.int32(0), total=jnp.int32(0))

    def transition(self, state, action, key):
        del key
        return GameState(frame=state.frame + 1, total=state.total + action)

    def observation(self, state, key):
        del key
        return jnp.asarray(SCREENS)[screen(state.frame, state.total)]

    def reward(self, state, action, next_state):
        return screen(next_state.frame, next_state.total).astype(float)

    def terminal(self, state):
        return lives(state.frame, state.total) == 0

    def truncated(self, state):
        return state.frame >= TRUNCATED_AFTER

    def state_info(self, state):
        return {"lives": lives(state.frame, state.total)}


def screen(frame, total):
    return (31 * frame + 7 * total) % len(SCREENS)


def lives(frame, total):
    return 4 - (frame + total // 5) // 13


class StatefulGame(gymnasium.Env):
    """The same game, with what Gymnasium's wrapper reads from ALE."""

    _frameskip = 1
    observation_space = gymnasium.spaces.Box(0, 255, SCREENS.shape[1:], np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self):
        self.ale = self

    def get_action_meanings(self):
        return ["NOOP", "FIRE", "RIGHT"]

    def lives(self):
        return lives(self.frame, self.total)

    def getScreenRGB(self, out):  # noqa: N802
        out[:] = SCREENS[screen(self.frame, self.total)]

    def getScreenGrayscale(self, out):  # noqa: N802
        out[:] = np.round(SCREENS[screen(self.frame, self.total)] @ WEIGHTS)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.frame = self.total = 0
        return None, {"lives": self.lives()}

    def step(self, action):
        self.frame, self.total = self.frame + 1, self.total + action
        reward = float(screen(self.frame, self.total))
        return None, reward, self.lives() == 0, self.frame >= TRUNCATED_AFTER, {"lives": self.lives()}


@pytest.fixture(autouse=True)
def opencv(monkeypatch):
    """Stands for OpenCV, of which these tests need nothing: the game's screen has the size of observations."""

    def resize(image, size, interpolation):
        assert image.shape[:2] == size[::-1]
        return image

    monkeypatch.setitem(sys.modules, "cv2", types.SimpleNamespace(resize=resize, INTER_AREA=3))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"frame_skip": 1, "grayscale_newaxis": True},
        {"frame_skip": 2, "terminal_on_life_loss": True, "scale_obs": True},
        {"noop_max": 0, "frame_skip": 5, "grayscale_obs": False, "terminal_on_life_loss": True},
        {"noop_max": 45, "terminal_on_life_loss": True, "scale_obs": True, "grayscale_obs": False},
    ],
)
def test_frames_rewards_and_ends_are_those_of_gymnasium(arguments, same_space):
    """Also the frames after an episode that ends between two observations."""
    ours = AtariPreprocessing(Game(), screen_size=(5, 6), **arguments)
    theirs = Reference(StatefulGame(), screen_size=(5, 6), **arguments)
    same_space(ours.observation_space, theirs.observation_space)
    reset, step, num_noops = jax.jit(ours.reset), jax.jit(ours.step), jax.jit(ours.num_noops)
    rng, ends = np.random.default_rng(1), {"terminated": 0, "truncated": 0}
    for episode in range(6):
        key = jax.random.key(episode)
        waits = int(num_noops(jax.random.split(key)[0]))  # `reset` splits its key
        theirs.unwrapped.np_random = types.SimpleNamespace(integers=lambda low, high, waits=waits: waits)
        observation, info = theirs.reset()
        state, timestep = reset(key)
        done = False
        while not done:
            assert_same(timestep, observation, info)
            action = int(rng.integers(2 if episode % 2 else 3))
            observation, reward, *flags, info = theirs.step(action)
            state, timestep = step(state, action, key)
            assert timestep.reward == reward
            assert [bool(timestep.terminated), bool(timestep.truncated)] == flags
            ends["terminated"] += flags[0]
            ends["truncated"] += flags[1]
            done = any(flags)
        assert_same(timestep, observation, info)
    assert ends["terminated"] and (ends["truncated"] or arguments.get("terminal_on_life_loss"))


def assert_same(timestep, observation, info):
    assert timestep.observation.dtype == observation.dtype
    np.testing.assert_array_equal(timestep.observation, observation)
    assert timestep.info["lives"] == info["lives"]


def test_waits_are_uniform_from_1_to_the_maximum():
    env = AtariPreprocessing(Game(), noop_max=5)
    frames = jax.jit(jax.vmap(lambda key: env.initial(key).env_state.frame))(jax.random.split(jax.random.key(0), 3000))
    counts = np.bincount(frames, minlength=7)
    assert counts[0] == counts[6] == 0
    assert np.abs(counts[1:6] - 600).max() < 5 * np.sqrt(600 * 0.8)


def test_an_episode_that_ends_while_waiting_begins_again():
    env = AtariPreprocessing(Game(), noop_max=200)
    keys = jax.random.split(jax.random.key(0), 200)
    frames, waits = jax.jit(jax.vmap(lambda key: (env.initial(key).env_state.frame, env.num_noops(key))))(keys)
    np.testing.assert_array_equal(frames, waits % TRUNCATED_AFTER)
    assert waits.max() > TRUNCATED_AFTER


def test_gray_screens_are_taken_as_they_are():
    class Gray(funcenv.Wrapper):
        observation_space = Box(0, 255, SCREENS.shape[1:3], np.uint8)

        def observation(self, state, key):
            return self.env.observation(state, key)[..., 1]

    env = AtariPreprocessing(Gray(Game()), noop_max=0, screen_size=(5, 6))
    np.testing.assert_array_equal(jax.jit(env.reset)(jax.random.key(0))[1].observation, SCREENS[0, ..., 1])
    with pytest.raises(ValueError, match=r"AtariPreprocessing needs images, .*3\)"):
        AtariPreprocessing(Gray(Game()), grayscale_obs=False)


def test_frames_stack_around_it():
    env = FrameStackObservation(AtariPreprocessing(Game(), screen_size=3), 4)
    venv = funcenv.FuncVectorEnv(env, 2)
    _, timestep = jax.jit(venv.reset)(jax.random.key(0))
    assert timestep.observation.shape == (2, 4, 3, 3) and env.observation_space == Box(0, 255, (4, 3, 3), np.uint8)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"noop_max": -1}, ValueError, "noop_max must be at least 0, got -1"),
        ({"frame_skip": 0}, ValueError, "frame_skip must be at least 1, got 0"),
        ({"frame_skip": 1.5}, TypeError, "frame_skip must be an integer, got 1.5"),
        ({"screen_size": 0}, ValueError, "a side of screen_size must be at least 1, got 0"),
        ({"screen_size": (84,)}, ValueError, r"a pair \(width, height\), got \(84,\)"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        AtariPreprocessing(Game(), **arguments)


def test_games_that_it_does_not_suit_are_refused():
    with pytest.raises(ValueError, match="make it with frameskip=1"):
        AtariPreprocessing(Game(frameskip=4))
    AtariPreprocessing(Game(frameskip=4), frame_skip=1)
    cartpole = funcenv.make("CartPole-v1")
    with pytest.raises(ValueError, match="AtariPreprocessing needs images"):
        AtariPreprocessing(cartpole)
    with pytest.raises(ValueError, match="action 0 must do nothing"):
        AtariPreprocessing(PixelObservation(cartpole, 8, 8))
    with pytest.raises(ValueError, match="needs an entry 'lives' in info, and CartPole has"):
        AtariPreprocessing(PixelObservation(cartpole, 8, 8), noop_max=0, terminal_on_life_loss=True)


def test_fire_is_pressed_at_every_reset():
    state = jax.jit(FireReset(Game()).initial)(jax.random.key(0))
    assert (int(state.frame), int(state.total)) == (2, 1 + 2)
    state = jax.jit(FireReset(RepeatAction(Game(), 4)).initial)(jax.random.key(0))
    assert (int(state.env_state.frame), int(state.env_state.total)) == (8, 4 * (1 + 2))


def test_an_episode_that_fire_ends_begins_again():
    state = jax.jit(FireReset(RepeatAction(Game(), 60)).initial)(jax.random.key(0))  # either action ends it
    assert (int(state.env_state.frame), int(state.env_state.total)) == (0, 0)


def test_games_without_a_fire_button_are_refused():
    with pytest.raises(ValueError, match="number 1 is called 'FIRE', got action_names=.*left"):
        FireReset(funcenv.make("MountainCar-v0"))
    with pytest.raises(TypeError, match="FireReset needs Discrete actions, got Box"):
        FireReset(funcenv.make("Pendulum-v1"))
