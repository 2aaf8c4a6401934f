"""Wrappers of any arguments: steps as with Gymnasium's where both accept them, and observations of declared shapes."""

import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import funcenv
from funcenv import wrappers
from funcenv.spaces import Box
from tests.fuzz.cases import cases
from tests.fuzz.oracle import REFUSED, Ledger
from tests.fuzz.values import keywords
from tests.support.tiny_envs import Sampler, Tiny

LEDGER = Ledger("wrappers")

START = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)
MAX_STEPS = 5


class Ramp(Tiny):
    """Adds the action to the last row of a matrix; pays what the action sums to; ends after `MAX_STEPS` steps."""

    observation_space = Box(-10, 10, (2, 2))
    action_space = Box(-1, 1, (2,))

    def initial(self, key):
        return jnp.asarray(START), jnp.int32(0)

    def transition(self, state, action, key):
        matrix, count = state
        return jnp.stack([matrix[1], matrix[1] + jnp.asarray(action, matrix.dtype)]), count + 1

    def observation(self, state, key):
        return state[0]

    def reward(self, state, action, next_state):
        return jnp.sum(jnp.asarray(action, jnp.float32))

    def terminal(self, state):
        return state[1] >= MAX_STEPS


class ReferenceRamp(gymnasium.Env):
    """The same in NumPy."""

    observation_space = gymnasium.spaces.Box(-10, 10, (2, 2))
    action_space = gymnasium.spaces.Box(-1, 1, (2,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.matrix, self.count = START.copy(), 0
        return self.matrix.copy(), {}

    def step(self, action):
        action = np.asarray(action, np.float32)
        self.matrix, self.count = np.stack([self.matrix[1], self.matrix[1] + action]), self.count + 1
        return self.matrix.copy(), float(action.sum()), self.count >= MAX_STEPS, False, {}


FLOATS = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, np.float32(0.25)])
FLAGS = st.booleans()
PAIRS = st.sampled_from([1, 2, 3, (2, 3), (1, 1)])
ACTION_BOUNDS = st.sampled_from([0.0, 0.5, -0.5, -2, 2, np.array([-1.0, -2.0]), np.array([1.0, 3.0]), np.zeros(2)])
OBSERVATION_BOUNDS = st.sampled_from([0.0, -1.0, 1.0, 255, np.zeros((2, 2)), np.ones((2, 2)), np.array([1.0, 2.0])])

# The required and the optional parameters of wrappers that Gymnasium has, too.
PARAMETERS = {
    "TimeLimit": ({"max_episode_steps": st.integers(1, 6)}, {}),
    "ClipAction": ({}, {}),
    "RescaleAction": ({"min_action": ACTION_BOUNDS, "max_action": ACTION_BOUNDS}, {}),
    "RescaleObservation": ({"min_obs": OBSERVATION_BOUNDS, "max_obs": OBSERVATION_BOUNDS}, {}),
    "FlattenObservation": ({}, {}),
    "ReshapeObservation": ({"shape": st.sampled_from([4, (4,), (1, 4), (2, 2), (4, 1), [2, 2], (3,), (-1,)])}, {}),
    "DtypeObservation": ({"dtype": st.sampled_from([np.float16, "float32", np.int32, int, np.uint8, bool])}, {}),
    "FrameStackObservation": (
        {"stack_size": st.integers(1, 3)},
        {"padding_type": st.sampled_from(["reset", "zero", np.ones((2, 2), np.float32), np.full((2, 2), 99.0)])},
    ),
    "DelayObservation": ({"delay": st.integers(0, 3)}, {}),
    "MaxAndSkipObservation": ({}, {"skip": st.integers(2, 4)}),
    "ClipReward": ({}, {"min_reward": FLOATS, "max_reward": FLOATS}),
    "RepeatAction": ({"num_repeats": st.integers(1, 4)}, {}),
    "StickyAction": ({"repeat_action_probability": st.just(0)}, {"repeat_action_duration": PAIRS}),
    "DiscretizeObservation": ({"bins": PAIRS}, {"multidiscrete": FLAGS}),
    "DiscretizeAction": ({"bins": PAIRS}, {"multidiscrete": FLAGS}),
    "NormalizeObservation": ({}, {"epsilon": st.sampled_from([1e-8, 1e-3, 1.0])}),
    "NormalizeReward": ({}, {"gamma": st.sampled_from([0.0, 0.5, 0.99]), "epsilon": st.sampled_from([1e-8, 1e-3])}),
}
# Those that only the package has, or whose random numbers are its own, and what they wrap.
OWN_PARAMETERS = {
    "StickyAction": (
        {"repeat_action_probability": st.sampled_from([0, 0.25, 0.999])},
        {"repeat_action_duration": PAIRS},
    ),
    "FilterObservation": ({"filter_keys": st.sampled_from([["time"], ["obs"], ["a"], [], ("time", "obs"), [0]])}, {}),
    "TimeAwareObservation": (
        {},
        {"flatten": FLAGS, "normalize_time": FLAGS, "dict_time_key": st.sampled_from(["time", "t", ""])},
    ),
    "PolicyMemory": ({"size": st.integers(1, 3)}, {}),
    "EpisodeStatistics": ({}, {}),
    "Autoreset": ({}, {}),
    "PixelObservation": (
        {"height": st.integers(1, 9), "width": st.integers(1, 9)},
        {"grayscale": FLAGS, "supersample": st.integers(1, 2), "standard": st.sampled_from(["BT.601", "BT.709"])},
    ),
    "AddWhiteNoise": (
        {"probability_of_noise_per_pixel": st.sampled_from([0.0, 0.5, 1.0])},
        {"is_noise_grayscale": FLAGS},
    ),
    "ObstructView": (
        {"obstructed_pixels_ratio": st.sampled_from([0.0, 0.5, 1.0]), "obstruction_width": st.integers(1, 4)},
        {"is_noise_grayscale": FLAGS},
    ),
    "GrayscaleObservation": ({}, {"keep_dim": FLAGS}),
    "ResizeObservation": ({"shape": st.sampled_from([(3, 4), (1, 1), (9, 9), [2, 2], 3])}, {}),
    "AtariPreprocessing": (
        {},
        {
            "noop_max": st.integers(0, 3),
            "frame_skip": st.integers(1, 4),
            "screen_size": st.sampled_from([5, (4, 6), [3, 3], (0, 2)]),
            "terminal_on_life_loss": FLAGS,
            "grayscale_obs": FLAGS,
            "grayscale_newaxis": FLAGS,
            "scale_obs": FLAGS,
        },
    ),
}
IMAGE_WRAPPERS = ("AddWhiteNoise", "ObstructView", "GrayscaleObservation", "ResizeObservation", "AtariPreprocessing")


def bases(name):
    """Return the environments that a wrapper of the package itself suits."""
    if name in IMAGE_WRAPPERS:
        return Sampler(space=Box(0, 255, (8, 6, 3), np.uint8))
    if name == "PixelObservation":
        return funcenv.envs.CartPole()
    limited = wrappers.TimeLimit(Ramp(), 4)
    return wrappers.TimeAwareObservation(limited, flatten=False) if name == "FilterObservation" else limited


def drawn(parameters):
    return st.sampled_from(list(parameters)).flatmap(lambda name: st.tuples(st.just(name), keywords(*parameters[name])))


@cases(240, drawn(PARAMETERS), st.lists(st.tuples(*[st.floats(-2, 2, width=16)] * 2), min_size=2, max_size=2))
def test_a_wrapper_is_refused_or_steps_as_gymnasiums(case, actions):
    name, arguments = case
    env = LEDGER.attempt(wrap, name, Ramp(), **arguments)
    reference = reference_of(name, arguments)
    if env is not REFUSED and reference is not None:
        if not isinstance(env.action_space, Box):
            actions = [reference.action_space.sample() for _ in actions]
        # At the end of an episode, Gymnasium's maximum includes an observation of the step before.
        play_alike(env, reference, actions[:1] if name == "MaxAndSkipObservation" else actions)


@cases(160, drawn(OWN_PARAMETERS))
def test_a_wrapper_is_refused_or_observes_what_it_declares(case):
    name, arguments = case
    required, optional = OWN_PARAMETERS[name]
    LEDGER.attempt(wrap, name, bases(name), names={*required, *optional}, **arguments)


def wrap(name, env, **arguments):
    """Wrap an environment, and assert that its observations have the shapes and dtypes of its space."""
    env = getattr(wrappers, name)(env, **arguments)

    def play(key):
        state, first = env.reset(key)
        _, second = env.step(state, env.action_space.sample(key), key)
        return first.observation, second.observation, env.observation_space.sample(key)

    first, second, member = jax.eval_shape(play, funcenv.key(0))
    assert first == second == member
    return env


def reference_of(name, arguments):
    """Return Gymnasium's wrapper of the same arguments, None where it refuses them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(gymnasium.wrappers, name)(ReferenceRamp(), **arguments).reset(seed=0)
            return getattr(gymnasium.wrappers, name)(ReferenceRamp(), **arguments)
    except Exception:  # whatever Gymnasium raises, it makes no wrapper
        return None


def play_alike(env, reference, actions):
    """Assert that both observe, pay and end alike, within rounding."""
    state, timestep = env.reset(funcenv.key(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, _ = reference.reset(seed=0)
        same(timestep.observation, expected)
        for action in actions:
            action = np.asarray(action, reference.action_space.dtype)
            state, timestep = env.step(state, action, funcenv.key(1))
            expected, reward, terminated, truncated, _ = reference.step(action)
            same(timestep.observation, expected)
            np.testing.assert_allclose(timestep.reward, reward, rtol=1e-3, atol=1e-5)
            assert (timestep.terminated, timestep.truncated) == (terminated, truncated)
            if terminated or truncated:
                return


def same(observation, expected):
    np.testing.assert_allclose(np.asarray(observation, float), np.asarray(expected, float), rtol=1e-3, atol=1e-3)
