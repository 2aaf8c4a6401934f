"""Wrappers around vector environments, compared with Gymnasium's in every autoreset mode."""

import gymnasium
import numpy as np
import pytest

from funcenv import adapters
from funcenv.adapters import wrappers as single
from funcenv.adapters.gymnasium import HandwrittenGymnasiumEnv
from funcenv.adapters.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from funcenv.adapters.wrappers import vector as ours
from tests.support.documented_envs import GridWorldEnv, PointEnv
from tests.support.video import read_video

theirs = gymnasium.wrappers.vector
MODES = list(AutoresetMode)
NUM_ENVS, NUM_STEPS = 3, 9


class ShortPointEnv(PointEnv):
    """Points whose episodes end after 2, 3, 4, ... steps."""

    def reset(self, *, seed=None, options=None):
        self.steps_left = 2 + int(super().reset(seed=seed)[0][0] > 0) + getattr(self, "steps_left", 0)
        return self.place.copy(), {"left": self.steps_left}

    def step(self, action):
        self.steps_left -= 1
        place, _, terminated, _, _ = super().step(action)
        return place, float(place[0]), terminated, self.steps_left == 0, {"place": place}


PAIRS = {
    "TransformObservation": (ShortPointEnv, lambda wrappers, envs: wrappers.TransformObservation(envs, np.abs)),
    "TransformAction": (ShortPointEnv, lambda wrappers, envs: wrappers.TransformAction(envs, np.negative)),
    "TransformReward": (ShortPointEnv, lambda wrappers, envs: wrappers.TransformReward(envs, lambda x: 2 * x)),
    "FilterObservation": (GridWorldEnv, lambda wrappers, envs: wrappers.FilterObservation(envs, ["target"])),
    "FlattenObservation": (GridWorldEnv, lambda wrappers, envs: wrappers.FlattenObservation(envs)),
    "ReshapeObservation": (ShortPointEnv, lambda wrappers, envs: wrappers.ReshapeObservation(envs, (2, 1))),
    "RescaleObservation": (
        ShortPointEnv,
        lambda wrappers, envs: wrappers.RescaleObservation(envs, np.float32(0), np.float32(5)),
    ),
    "DtypeObservation": (ShortPointEnv, lambda wrappers, envs: wrappers.DtypeObservation(envs, np.float64)),
    "ClipAction": (ShortPointEnv, lambda wrappers, envs: wrappers.ClipAction(envs)),
    "RescaleAction": (
        ShortPointEnv,
        lambda wrappers, envs: wrappers.RescaleAction(envs, np.float32(0), np.float32(1)),
    ),
    "ClipReward": (ShortPointEnv, lambda wrappers, envs: wrappers.ClipReward(envs, 0.0, 0.05)),
    "NormalizeObservation": (ShortPointEnv, lambda wrappers, envs: wrappers.NormalizeObservation(envs)),
    "NormalizeReward": (ShortPointEnv, lambda wrappers, envs: wrappers.NormalizeReward(envs, gamma=0.9)),
    "RecordEpisodeStatistics": (ShortPointEnv, lambda wrappers, envs: wrappers.RecordEpisodeStatistics(envs)),
    "DictInfoToList": (
        ShortPointEnv,
        lambda wrappers, envs: wrappers.DictInfoToList(wrappers.RecordEpisodeStatistics(envs)),
    ),
}
ONLY_NEXT_STEP = {  # in Gymnasium, which refuses the same-step mode for wrappers of observations
    name for name in PAIRS if "Observation" in name
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # where Gymnasium's Box becomes one of 64 bits
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PAIRS)
def test_a_wrapper_is_gymnasiums(name, mode):
    if mode is not AutoresetMode.NEXT_STEP and name in ONLY_NEXT_STEP:
        mode = AutoresetMode.DISABLED
    make_env, wrap = PAIRS[name]
    if name == "NormalizeObservation":
        mode = AutoresetMode.NEXT_STEP
    envs = wrap(ours, SyncVectorEnv([make_env] * NUM_ENVS, autoreset_mode=mode))
    reference = wrap(
        theirs,
        gymnasium.vector.SyncVectorEnv(
            [lambda: HandwrittenGymnasiumEnv(make_env())] * NUM_ENVS,
            autoreset_mode=gymnasium.vector.AutoresetMode(mode.value),
        ),
    )
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert repr(getattr(envs, space)) == repr(getattr(reference, space))
    envs.action_space.seed(0)
    assert_same(envs.reset(seed=3), reference.reset(seed=3))
    for _ in range(NUM_STEPS):
        actions = envs.action_space.sample()
        result, expected = envs.step(actions), reference.step(actions.copy())
        assert_same(result, expected)
        ended = result[2] | result[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            for one in (envs, reference):
                one.reset()
    if name == "RecordEpisodeStatistics":
        assert envs.episode_count == reference.episode_count > 2
        assert list(envs.return_queue) == list(reference.return_queue)
        assert list(envs.length_queue) == list(reference.length_queue)


def assert_same(one, other):
    """Compare results, apart from the times of episodes."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one.keys() - {"t"}:
            assert_same(one[key], other[key])
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, np.ndarray) and one.dtype.hasobject:
        assert_same(list(one), list(other))
    elif one is None:
        assert other is None
    else:
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("functional", [True, False])
def test_last_observations_change_in_the_same_step(functional):
    arguments = {"max_episode_steps": 3}
    mode = AutoresetMode.SAME_STEP
    if functional:
        plain, envs = (adapters.make_vec("CartPole-v1", 2, autoreset_mode=mode, **arguments) for _ in range(2))
    else:
        make = [lambda: adapters.make("CartPole-v1", **arguments)] * 2
        plain, envs = (SyncVectorEnv(make, autoreset_mode=mode) for _ in range(2))
    envs = ours.TransformObservation(ours.ReshapeObservation(envs, (2, 2)), lambda seen: 2 * seen)
    np.testing.assert_array_equal(envs.reset(seed=0)[0], 2 * plain.reset(seed=0)[0].reshape(2, 2, 2))
    for _ in range(4):
        (seen, *_, infos), (expected, *_, plain_infos) = (one.step(np.array([0, 1])) for one in (envs, plain))
        np.testing.assert_array_equal(seen, 2 * expected.reshape(2, 2, 2))
        assert ("final_obs" in infos) == ("final_obs" in plain_infos)
        if "final_obs" in infos:
            ended = infos["_final_obs"]
            assert ended.all()
            for row, plain_row in zip(infos["final_obs"], plain_infos["final_obs"], strict=True):
                np.testing.assert_array_equal(row, 2 * plain_row.reshape(2, 2))


def test_last_observations_of_dicts_change_too():
    class Short(GridWorldEnv):
        def step(self, action):
            observation, reward, terminated, _, info = super().step(action)
            return observation, reward, terminated, self._agent[0] == 4, info

    envs = ours.FlattenObservation(SyncVectorEnv([Short] * 3, autoreset_mode="SameStep"))
    assert envs.reset(seed=0)[0][:, 0].tolist() == [4, 2, 4]
    *_, infos = envs.step(np.zeros(3, int))
    ended = infos["_final_obs"]
    assert ended.tolist() == [True, False, True]
    for row, has_ended in zip(infos["final_obs"], ended, strict=True):
        assert row.shape == (4,) and row[0] == 4 if has_ended else row is None


def test_a_reset_of_some_environments_leaves_the_others():
    """Gymnasium's wrappers lose the mask, which its vector takes out of the options, and begin all of them anew."""
    envs = SyncVectorEnv([PointEnv] * 2, autoreset_mode="Disabled")
    envs = ours.NormalizeReward(ours.RecordEpisodeStatistics(envs), gamma=1.0)
    envs.reset(seed=0)
    for _ in range(2):
        envs.step(np.zeros((2, 1)))
    envs.reset(options={"reset_mask": np.array([False, True])})
    assert envs.episode_lengths.tolist() == envs.episode_returns.tolist() == envs.accumulated_reward.tolist() == [2, 0]


def test_moments_take_each_observation_once():
    envs = ours.NormalizeObservation(SyncVectorEnv([ShortPointEnv] * 3, autoreset_mode="SameStep"))
    envs.reset(seed=0)
    assert round(envs.obs_rms.count) == 3
    for step in range(1, 5):
        envs.step(envs.action_space.sample())
        assert round(envs.obs_rms.count) == 3 * (step + 1)
    envs.reset(options={"reset_mask": np.array([True, False, False])})
    assert round(envs.obs_rms.count) == 16
    envs.update_running_mean = False
    envs.step(envs.action_space.sample())
    assert round(envs.obs_rms.count) == 16


def test_wrappers_with_functions_of_one_member_change_each_row():
    envs = SyncVectorEnv([ShortPointEnv] * 2)
    doubled = ours.VectorizeTransformObservation(envs, single.TransformObservation, func=lambda seen: 2 * seen)
    flipped = ours.VectorizeTransformAction(doubled, single.TransformAction, func=lambda action: -action)
    halved = ours.VectorizeTransformReward(flipped, single.TransformReward, func=lambda reward: reward / 2)
    plain = SyncVectorEnv([ShortPointEnv] * 2)
    np.testing.assert_array_equal(halved.reset(seed=1)[0], 2 * plain.reset(seed=1)[0])
    actions = np.float32([[0.25], [-0.5]])
    seen, rewards, *_ = halved.step(actions)
    expected, plain_rewards, *_ = plain.step(-actions)
    np.testing.assert_array_equal(seen, 2 * expected)
    np.testing.assert_array_equal(rewards, plain_rewards / 2)
    with pytest.raises(TypeError, match=r"must be a subclass of funcenv\.adapters\.wrappers\.ObservationWr"):
        ours.VectorizeTransformObservation(envs, single.ClipAction)


def test_a_batch_of_other_members_is_reported():
    envs = SyncVectorEnv([ShortPointEnv] * 2)
    wide = adapters.spaces.Box(-2, 2, (2, 2))
    with pytest.warns(UserWarning, match=r"not a batch of 2 members of .*; pass single_observation_space too"):
        ours.TransformObservation(envs, lambda seen: 2 * seen, wide)
    with pytest.warns(UserWarning, match="pass single_action_space too"):
        ours.TransformAction(envs, np.abs, adapters.spaces.Box(0, 1, (2, 1)))
    one = adapters.spaces.Box(-2, 2, (2,))
    assert (
        ours.TransformObservation(envs, lambda seen: 2 * seen, single_observation_space=one).observation_space == wide
    )


def test_a_vector_wrapper_is_a_vector_env_with_the_attributes_inside():
    envs = ours.RecordEpisodeStatistics(ours.ClipReward(adapters.make_vec("CartPole-v1", 2, gravity=5.0), 0.0, 0.5))
    assert isinstance(envs, adapters.VectorEnv) and envs.unwrapped is envs.env.env
    assert repr(envs) == "<RecordEpisodeStatistics, <ClipReward, FunctionalVectorEnv(CartPole-v1, num_envs=2)>>"
    assert envs.get_attr("gravity") == (5.0, 5.0) and envs.spec.id == "CartPole-v1" and envs.num_envs == 2
    envs.set_attr("gravity", 3.0)
    assert envs.unwrapped.get_attr("gravity") == (3.0, 3.0)
    with pytest.raises(AttributeError, match="nowhere"):
        _ = envs.nowhere
    envs.reset(seed=7)
    assert envs.np_random_seed == envs.unwrapped.np_random_seed and envs.np_random is envs.unwrapped.np_random
    envs.close()
    assert envs.closed and envs.unwrapped.closed


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: adapters.make("CartPole-v1"), "got FunctionalEnv; around a single environment goes a class of"),
        (lambda: 3, "ClipAction wraps a VectorEnv, such as funcenv.adapters.make_vec gives, got int$"),
    ],
)
def test_only_a_vector_can_be_wrapped(make, message):
    with pytest.raises(TypeError, match=message):
        ours.ClipAction(make())


@pytest.mark.parametrize("infos", [{"a": np.zeros(3)}, {"b": {"a": [1]}}, {"c": np.ones(2), "_c": [True]}])
def test_an_entry_of_infos_has_a_row_for_each_environment(infos):
    class Odd(adapters.VectorEnv):
        num_envs = 2

        def reset(self, *, seed=None, options=None):
            return np.zeros(2), infos

    with pytest.raises(ValueError, match="must have num_envs=2 rows, got"):
        ours.DictInfoToList(Odd()).reset()


def test_statistics_need_a_free_name():
    envs = ours.RecordEpisodeStatistics(ours.RecordEpisodeStatistics(SyncVectorEnv([ShortPointEnv] * 2)))
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="infos has an entry 'episode' already; pass another stats_key"):
        for _ in range(4):
            envs.step(envs.action_space.sample())


@pytest.mark.parametrize("first_only", [False, True])
def test_videos_show_the_environments_side_by_side(first_only, tmp_path):
    envs = adapters.make_vec("CartPole-v1", 4, render_mode="rgb_array", max_episode_steps=4)
    recorder = ours.RecordVideo(
        envs, tmp_path, video_aspect_ratio=(2, 1), record_first_only=first_only, episode_trigger=lambda number: True
    )
    recorder.reset(seed=0)
    for _ in range(6):
        recorder.step(np.array([0, 1, 0, 1]))
    recorder.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["rl-video-episode-0.mp4", "rl-video-episode-1.mp4"]
    lengths = [len(read_video(tmp_path / name)[0]) for name in names]
    assert lengths == [5, 2]  # the fifth step resets
    shape = read_video(tmp_path / names[0])[0][0].shape
    assert shape == ((260, 600, 3) if first_only else (522, 1202, 3))


def test_a_vector_without_pictures_is_refused(tmp_path):
    for wrap in (ours.HumanRendering, lambda envs: ours.RecordVideo(envs, tmp_path)):
        with pytest.raises(ValueError, match="render_mode is .*rgb_array.*, got None; make it with"):
            wrap(adapters.make_vec("CartPole-v1", 2))


def test_the_window_has_the_size_that_is_asked(monkeypatch):
    envs = adapters.make_vec("CartPole-v1", 5, render_mode="rgb_array")
    shown = ours.HumanRendering(envs, screen_size=(600, 390))
    shown.reset(seed=0)
    window = shown._window
    assert window.is_open and window.pixels().shape[0] <= 390 and window.pixels().shape[1] <= 600
    shown.step(np.zeros(5, int))
    shown.close()
    assert not window.is_open and envs.closed


def test_asynchronous_calls_are_fetched_in_order():
    envs, plain = AsyncVectorEnv([ShortPointEnv] * 2), SyncVectorEnv([ShortPointEnv] * 2)
    with pytest.raises(RuntimeError, match="reset_wait came without reset_async; call that first"):
        envs.reset_wait()
    envs.reset_async(seed=4)
    with pytest.raises(RuntimeError, match=r"step_async came before reset_wait\(\); fetch that result first"):
        envs.step_async(envs.action_space.sample())
    assert_same(envs.reset_wait(), plain.reset(seed=4))
    for _ in range(4):
        actions = envs.action_space.sample()
        envs.step_async(actions)
        assert_same(envs.step_wait(timeout=1.0), plain.step(actions))
    envs.call_async("get_wrapper_attr", "steps_left")
    assert envs.call_wait() == plain.call("steps_left") == envs.get_attr("steps_left")
    assert_same(envs.reset(seed=1), plain.reset(seed=1))
    envs.close()
    with pytest.raises(adapters.ClosedEnvironment, match="reset_async came after close"):
        envs.reset(seed=0)
    with pytest.raises(ValueError, match="worker=.* is for processes, which AsyncVectorEnv does not have"):
        AsyncVectorEnv([ShortPointEnv], worker=print)
