"""Stateful transformations, compared with Gymnasium's wrappers around the same environment."""

import pickle

import gymnasium
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv import wrappers as pure
from funcenv.adapters import wrappers as ours
from funcenv.adapters.gymnasium import HandwrittenGymnasiumEnv
from funcenv.spaces import MultiDiscrete
from tests.support.documented_envs import GridWorldEnv, PointEnv

theirs = gymnasium.wrappers


class PicturesEnv(adapters.Env):
    """Random pictures."""

    def __init__(self, *channels):
        self.observation_space = adapters.spaces.Box(0, 255, (12, 16, *channels), np.uint8)
        self.action_space = adapters.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._picture(), {}

    def step(self, action):
        return self._picture(), 1.0, False, False, {}

    def _picture(self):
        return self.np_random.integers(0, 256, self.observation_space.shape, np.uint8)


def limited(wrappers, env):
    return wrappers.TimeLimit(env, 4)


PAIRS = {
    "ClipAction": (PointEnv, lambda wrappers, env: wrappers.ClipAction(env)),
    "RescaleAction": (PointEnv, lambda wrappers, env: wrappers.RescaleAction(env, np.float32(0), np.float32(1))),
    "TimeAwareObservation": (PointEnv, lambda wrappers, env: wrappers.TimeAwareObservation(limited(wrappers, env))),
    "TimeAwareObservation of a dict": (
        GridWorldEnv,
        lambda wrappers, env: wrappers.TimeAwareObservation(
            limited(wrappers, env), flatten=False, normalize_time=True, dict_time_key="clock"
        ),
    ),
    "FlattenObservation": (GridWorldEnv, lambda wrappers, env: wrappers.FlattenObservation(env)),
    "ClipReward": (PointEnv, lambda wrappers, env: wrappers.ClipReward(env, 0.0, 0.5)),
    "FrameStackObservation": (PointEnv, lambda wrappers, env: wrappers.FrameStackObservation(env, 3)),
    "FrameStackObservation of a dict": (
        GridWorldEnv,
        lambda wrappers, env: wrappers.FrameStackObservation(env, 2, padding_type="zero"),
    ),
    "NormalizeObservation": (PointEnv, lambda wrappers, env: wrappers.NormalizeObservation(env)),
    "NormalizeReward": (PointEnv, lambda wrappers, env: wrappers.NormalizeReward(env, gamma=0.9)),
    "FilterObservation": (GridWorldEnv, lambda wrappers, env: wrappers.FilterObservation(env, ["target"])),
    "ReshapeObservation": (PointEnv, lambda wrappers, env: wrappers.ReshapeObservation(env, (2, 1))),
    "RescaleObservation": (
        PointEnv,
        lambda wrappers, env: wrappers.RescaleObservation(env, np.float32(0), np.float32(5)),
    ),
    "DtypeObservation": (PointEnv, lambda wrappers, env: wrappers.DtypeObservation(env, np.float64)),
    "DelayObservation": (PointEnv, lambda wrappers, env: wrappers.DelayObservation(env, 2)),
    "DelayObservation of a dict": (GridWorldEnv, lambda wrappers, env: wrappers.DelayObservation(env, 1)),
    "RepeatAction": (PointEnv, lambda wrappers, env: wrappers.RepeatAction(env, 3)),
    "RepeatAction to the end": (
        PointEnv,
        lambda wrappers, env: wrappers.Autoreset(wrappers.RepeatAction(limited(wrappers, env), 3)),
    ),
    "MaxAndSkipObservation": (PointEnv, lambda wrappers, env: wrappers.MaxAndSkipObservation(env, 3)),
    "StickyAction": (PointEnv, lambda wrappers, env: wrappers.StickyAction(env, 0.5, (1, 3))),
    "DiscretizeObservation": (
        PointEnv,
        lambda wrappers, env: wrappers.DiscretizeObservation(env, (3, 5), multidiscrete=True),
    ),
    "DiscretizeAction": (PointEnv, lambda wrappers, env: wrappers.DiscretizeAction(env, 4)),
    "DiscretizeAction by element": (
        PointEnv,
        lambda wrappers, env: wrappers.DiscretizeAction(env, 4, multidiscrete=True),
    ),
    "Autoreset": (PointEnv, lambda wrappers, env: wrappers.Autoreset(limited(wrappers, env))),
    "AddRenderObservation": (
        lambda: PointEnv(render_mode="rgb_array"),
        lambda wrappers, env: wrappers.AddRenderObservation(env),
    ),
    "AddRenderObservation of a dict": (
        lambda: GridWorldEnv(render_mode="rgb_array"),
        lambda wrappers, env: wrappers.AddRenderObservation(env, render_only=False, render_key="image"),
    ),
    "AddWhiteNoise": (
        lambda: PointEnv(render_mode="rgb_array"),
        lambda wrappers, env: wrappers.AddRenderObservation(wrappers.AddWhiteNoise(env, 0.5, True), render_only=False),
    ),
    "ObstructView": (
        lambda: GridWorldEnv(render_mode="rgb_array", size=20),
        lambda wrappers, env: wrappers.AddRenderObservation(wrappers.ObstructView(env, 0.3, 5)),
    ),
    "GrayscaleObservation": (
        lambda: PicturesEnv(3),
        lambda wrappers, env: wrappers.GrayscaleObservation(env, keep_dim=True),
    ),
    "ResizeObservation": (lambda: PicturesEnv(3), lambda wrappers, env: wrappers.ResizeObservation(env, (7, 5))),
    "TransformReward": (PointEnv, lambda wrappers, env: wrappers.TransformReward(env, lambda reward: 3 * reward)),
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # where Gymnasium's Box becomes one of 64 bits
@pytest.mark.parametrize("name", PAIRS)
def test_a_transformation_is_gymnasiums(name):
    make_env, wrap = PAIRS[name]
    env, reference = wrap(ours, make_env()), wrap(theirs, HandwrittenGymnasiumEnv(make_env()))
    assert repr(env.observation_space) == repr(reference.observation_space) or name.startswith("TimeAware")
    assert repr(env.action_space) == repr(reference.action_space)
    env.action_space.seed(0)
    observations = env.reset(seed=3)[0], reference.reset(seed=3)[0]
    for _ in range(8 if "Autoreset" in repr(reference) else 4):
        assert_same(*observations)
        assert observations[0] in env.observation_space or isinstance(env.observation_space, MultiDiscrete)
        action = env.action_space.sample()
        step, expected = env.step(action), reference.step(action)
        np.testing.assert_allclose(step[1], expected[1], rtol=1e-6)
        assert step[2:4] == expected[2:4]
        observations = step[0], expected[0]


def assert_same(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    else:
        assert np.asarray(one).dtype.kind == np.asarray(other).dtype.kind
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_a_time_limit_is_in_its_spec():
    env = ours.TimeLimit(adapters.make("CartPole-v1"), 10)
    assert env.spec.max_episode_steps == 10 and ours.TimeLimit(PointEnv(), 3).spec is None


def test_what_cannot_be_wrapped_is_named():
    with pytest.raises(ValueError, match="TimeAwareObservation needs a TimeLimit inside"):
        ours.TimeAwareObservation(PointEnv())

    class Own(adapters.Space):
        pass

    env = PointEnv()
    env.observation_space = Own()
    with pytest.raises(
        TypeError, match=r"FlattenObservation needs an observation_space made of those in funcenv\.adapt"
    ):
        ours.FlattenObservation(env)


def test_numbers_of_64_bits_keep_them():
    class Fine(PointEnv):
        def __init__(self):
            super().__init__()
            self.observation_space = adapters.spaces.Box(-1, 1, (2,), np.float64)

        def reset(self, *, seed=None, options=None):
            return np.array([1 / 3, 1e-12]), {}

    for wrap, expected in (
        (ours.FlattenObservation, [1 / 3, 1e-12]),
        (lambda env: ours.RescaleObservation(env, 0.0, 1.0), [(1 / 3 + 1) / 2, (1e-12 + 1) / 2]),
        (lambda env: ours.ReshapeObservation(env, (2, 1)), [[1 / 3], [1e-12]]),
    ):
        env = wrap(Fine())
        observation = env.reset()[0]
        assert observation.dtype == env.observation_space.dtype == np.float64
        np.testing.assert_allclose(observation, expected, rtol=1e-15)
    assert ours.DtypeObservation(adapters.make("FrozenLake-v1"), np.int64).reset(seed=0)[0].dtype == np.int64


@pytest.mark.parametrize("terminal_on_life_loss", [False, True])
@pytest.mark.parametrize("options", [{}, {"grayscale_obs": False, "scale_obs": True}, {"frame_skip": 1}])
def test_atari_pictures_are_those_of_the_pure_wrapper(options, terminal_on_life_loss):
    """The pure one is compared with Gymnasium's, bit for bit, by the tests of the games."""
    options = {"noop_max": 0, "terminal_on_life_loss": terminal_on_life_loss, **options}
    game = {"frameskip": 1, "repeat_action_probability": 0.0}
    env = ours.AtariPreprocessing(adapters.make("ALE/Breakout-v5", **game), **options)
    inside = adapters.FunctionalEnv(pure.AtariPreprocessing(funcenv.make("ALE/Breakout-v5", **game), **options))
    assert repr(env.observation_space) == repr(inside.observation_space)
    np.testing.assert_array_equal(env.reset(seed=0)[0], inside.reset(seed=0)[0])
    for step in range(300):
        result, expected = env.step(1 if step % 8 == 0 else 2), inside.step(1 if step % 8 == 0 else 2)
        np.testing.assert_array_equal(result[0], expected[0])
        assert result[1:4] == expected[1:4]
        if result[2] or result[4]["lives"] < 3:
            break
    assert result[2] == terminal_on_life_loss and env.game_over == terminal_on_life_loss


def test_atari_preprocessing_waits_and_says_what_it_needs():
    env = ours.AtariPreprocessing(adapters.make("ALE/Breakout-v5", frameskip=1), noop_max=5)
    frames = {env.reset(seed=seed)[1]["episode_frame_number"].item() for seed in range(8)}
    assert frames <= set(range(1, 6)) and len(frames) > 1
    with pytest.raises(ValueError, match="the environment skips frames itself, frameskip=4"):
        ours.AtariPreprocessing(adapters.make("ALE/Breakout-v5"))
    with pytest.raises(ValueError, match=r"be called 'NOOP' .*, got \[\]; pass noop_max=0"):
        ours.AtariPreprocessing(PicturesEnv(3))
    env = ours.AtariPreprocessing(PicturesEnv(3), noop_max=0, terminal_on_life_loss=True)
    with pytest.raises(ValueError, match=r"needs an entry 'lives' in info, got \[\]; leave it out"):
        env.reset(seed=0)


def test_rendered_pictures_are_needed():
    with pytest.raises(ValueError, match="AddRenderObservation needs an environment that returns images"):
        ours.AddRenderObservation(PointEnv())
    with pytest.raises(TypeError, match="but render.. of .* returns str"):
        ours.AddRenderObservation(adapters.make("FrozenLake-v1", render_mode="ansi"))
    with pytest.raises(ValueError, match="render_key='agent' is a key of"):
        ours.AddRenderObservation(GridWorldEnv(render_mode="rgb_array"), render_only=False, render_key="agent")
    env = ours.AddWhiteNoise(adapters.make("FrozenLake-v1", render_mode="ansi"), 0.5)
    env.reset(seed=0)
    with pytest.raises(TypeError, match="AddWhiteNoise needs images, but render.. returns str"):
        env.render()
    frames = ours.AddWhiteNoise(adapters.make("CartPole-v1", render_mode="rgb_array_list"), 0.5)
    frames.reset(seed=0)
    frames.step(0)
    assert [frame.shape for frame in frames.render()] == [(260, 600, 3)] * 2


def test_a_pickled_transformation_goes_on():
    for wrap in (ours.FlattenObservation, ours.TimeAwareObservation, lambda env: ours.DelayObservation(env, 1)):
        env = wrap(limited(ours, PointEnv()))
        env.reset(seed=0)
        twin = pickle.loads(pickle.dumps(env))
        action = env.action_space.sample()
        np.testing.assert_array_equal(env.step(action)[0], twin.step(action)[0])
