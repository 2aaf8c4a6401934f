"""Recorded videos, compared with those of Gymnasium's wrapper, which uses a fake MoviePy."""

import os
import sys
import types
import warnings

import numpy as np
import pytest

from funcenv.adapters import FunctionalEnv
from funcenv.adapters.gymnasium import GymnasiumEnv
from funcenv.adapters.wrappers import RecordVideo, RenderCollection
from funcenv.adapters.wrappers.record_video import capped_cubic_video_schedule
from funcenv.wrappers import TimeLimit
from tests.support.video import read_video

STEPS = 6  # of an episode


@pytest.fixture
def base(dot):
    return lambda kind=FunctionalEnv, mode="rgb_array": kind(
        TimeLimit(dot(length=500), STEPS), mode, render_height=20, render_width=60
    )


@pytest.fixture
def gymnasiums(monkeypatch):
    """Gymnasium's wrapper, and the frames it writes, by file name."""
    written = {}

    class ImageSequenceClip:
        def __init__(self, frames, fps):
            self.frames, self.fps = list(frames), fps

        def write_videofile(self, path, logger):
            written[os.path.basename(path)] = np.array(self.frames), self.fps

    names = ("moviepy", "moviepy.video", "moviepy.video.io", "moviepy.video.io.ImageSequenceClip")
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules[names[-1]].ImageSequenceClip = ImageSequenceClip
    monkeypatch.delitem(sys.modules, "gymnasium.utils.save_video", raising=False)
    from gymnasium.wrappers import RecordVideo as Reference

    def wrap(env, folder, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the folder exists
            return Reference(env, str(folder), gc_trigger=None, **kwargs)

    return wrap, written


def play(env, num_episodes):
    for episode in range(num_episodes):
        env.reset(seed=episode)
        for step in range(STEPS - episode % 3):  # some are left before their end
            env.step((step + episode) % 2)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"episode_trigger": lambda episode: episode % 2 == 1, "name_prefix": "odd", "fps": 5},
        {"step_trigger": lambda step: step % 7 == 3},
        {"step_trigger": lambda step: step % 7 == 3, "video_length": 4},
        {"episode_trigger": lambda episode: episode == 1, "video_length": 9},
        {"episode_trigger": lambda episode: episode == 2, "step_trigger": lambda step: step == 14},
        {"video_length": 5, "episode_trigger": lambda episode: True},
        {"episode_trigger": lambda episode: False},
    ],
)
def test_as_gymnasiums(base, gymnasiums, tmp_path, arguments):
    wrap, written = gymnasiums
    length = arguments.get("video_length", 0)
    ours, theirs = RecordVideo(base(), tmp_path, **arguments), wrap(base(GymnasiumEnv), tmp_path, **arguments)
    for env in (ours, theirs):
        play(env, 9)
        env.close()
    assert sorted(written) == sorted(os.listdir(tmp_path))
    for name, (frames, fps) in written.items():
        read, read_fps = read_video(tmp_path / name)
        wanted = frames[:length] if length else frames  # Gymnasium's pieces have one frame more
        assert read_fps == fps and len(read) == len(wanted)
        assert np.abs(read.astype(int) - wanted).mean() < 4


def test_the_schedule_is_gymnasiums(gymnasiums):
    from gymnasium.utils.save_video import capped_cubic_video_schedule as reference

    assert all(capped_cubic_video_schedule(i) == reference(i) for i in range(5001))


@pytest.mark.parametrize("wrap", [lambda base: base(mode="rgb_array_list"), lambda base: RenderCollection(base())])
def test_an_environment_that_gives_lists_is_recorded_and_the_user_has_them_too(base, tmp_path, wrap):
    env = RecordVideo(wrap(base), tmp_path)
    env.reset(seed=0)
    for _ in range(STEPS):
        env.step(1)
    frames = env.render()
    assert len(frames) == STEPS + 1 and env.render() == []
    env.close()
    read, _ = read_video(tmp_path / "rl-video-episode-0.mp4")
    assert np.abs(read.astype(int) - frames).mean() < 4


def test_the_last_video_is_finished_without_close(base, tmp_path):
    env = RecordVideo(base(), tmp_path)
    env.reset(seed=0)
    env.step(1)
    assert env.recording and not (tmp_path / "rl-video-episode-0.mp4").exists()
    del env
    assert os.listdir(tmp_path) == ["rl-video-episode-0.mp4"]


def test_videos_by_hand(base, tmp_path, capsys):
    env = RecordVideo(base(), tmp_path, episode_trigger=lambda episode: False, disable_logger=False)
    env.reset(seed=0)
    env.step(0)
    env.start_recording("mine")
    env.step(1)
    env.step(1)
    env.stop_recording()
    env.stop_recording()
    env.step(0)
    env.close()
    assert len(read_video(tmp_path / "mine.mp4")[0]) == 2
    assert capsys.readouterr().out == f"{tmp_path / 'mine.mp4'}: 2 frames\n"


@pytest.mark.parametrize("mode", [None, "human", "ansi", "ansi_list"])
def test_it_needs_frames(base, tmp_path, mode):
    with pytest.raises(ValueError, match=r'make it with render_mode="rgb_array"'):
        RecordVideo(base(mode=mode), tmp_path)


def test_what_cannot_work_is_said_before_anything_is_played(base, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="choose another folder"):
        RecordVideo(base(), tmp_path / "file" / "videos")
    with pytest.raises(ValueError, match="video_length must be at least 0"):
        RecordVideo(base(), tmp_path, video_length=-1)
    with pytest.raises(ValueError, match="fps must be"):
        RecordVideo(base(), tmp_path, fps=0)
    with pytest.raises(TypeError, match="got the class"):
        RecordVideo(FunctionalEnv, tmp_path)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "funcenv\[render\]"'):
        RecordVideo(base(), tmp_path)


def test_videos_of_the_same_name_are_warned_of(base, tmp_path):
    (tmp_path / "rl-video-episode-0.mp4").touch()
    with pytest.warns(UserWarning, match="has videos named rl-video-"):
        RecordVideo(base(), tmp_path)
    RecordVideo(base(), tmp_path, name_prefix="other")


def test_frames_taken_by_others_stop_the_recording(base, tmp_path):
    inside = base(mode="rgb_array_list")
    env = RecordVideo(inside, tmp_path)
    env.reset(seed=0)
    original = inside.step

    def step(action):
        result = original(action)
        inside.render()
        return result

    inside.step = step
    with pytest.warns(UserWarning, match="the recording stopped: render"):
        env.step(1)
    assert not env.recording
