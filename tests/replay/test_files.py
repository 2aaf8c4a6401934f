"""Files: videos can be read back, and are written completely or not at all."""

import importlib.util
import os

import numpy as np
import pytest
from PIL import Image, ImageSequence

from funcenv.replay import Replay, video
from funcenv.scene import Camera, Circle, Rectangle, Scene, rgba
from tests.support.video import read_video


@pytest.fixture(scope="module")
def rolling():
    """Return a replay of a ball that rolls for 12 steps, 25 a second."""
    ground = Rectangle((0.0, -1.0), (6.0, 1.0), rgba("#337755"))
    scenes = [
        Scene(Camera((0.0, 0.0), 3.0, 2.0), (Circle((x, 0.0), 0.5, rgba("#d04030")), ground))
        for x in np.linspace(-1, 1, 13)
    ]
    return Replay.from_scenes(scenes, fps=25)


def difference(ours, frame):
    return np.abs(ours.astype(int) - frame.astype(int)).mean()


@pytest.mark.parametrize(("suffix", "worst"), [(".gif", 0.0), (".webp", 3.0)])
def test_pillows_videos_show_the_frames_at_their_pace(rolling, tmp_path, suffix, worst):
    path = tmp_path / f"rolling{suffix}"
    rolling.save(path, height=80)
    frames = list(rolling.frames(height=80))
    with Image.open(path) as written:
        assert written.n_frames == len(frames) and written.info.get("loop") == 0
        pairs = [(np.array(image.convert("RGB")), image.info["duration"]) for image in ImageSequence.Iterator(written)]
    assert all(difference(ours, frame) <= worst for (ours, _), frame in zip(pairs, frames, strict=True))
    assert sum(duration for _, duration in pairs) == pytest.approx(1000 * len(frames) / 25, abs=10)


def test_mp4_shows_the_frames_at_their_pace(rolling, tmp_path):
    path = tmp_path / "rolling.mp4"
    rolling.save(path, height=81, width=121)  # H.264 requires even sizes, so 82 x 122 are written
    read, fps = read_video(path)
    frames = list(rolling.frames(height=81, width=121))
    assert fps == 25 and read.shape == (len(frames), 82, 122, 3)
    assert all(difference(ours, frame) < 4 for ours, frame in zip(read[:, :81, :121], frames, strict=True))


def test_png_is_the_first_frame(rolling, tmp_path):
    rolling.clip(start=5).save(tmp_path / "rolling.png", height=40)
    with Image.open(tmp_path / "rolling.png") as written:
        np.testing.assert_array_equal(np.array(written), list(rolling.frames(height=40))[5])


def test_what_ffmpeg_says_is_passed_on(tmp_path):
    with pytest.raises(RuntimeError, match=r"FFmpeg could not write .*rolling.mp4: (.|\n)*No such file or directory"):
        video.write_video(tmp_path / "gone" / "rolling.mp4", iter([np.zeros((4, 4, 3), np.uint8)]), fps=1.0)


def test_a_gif_leaves_out_what_browsers_would_slow_down(rolling, tmp_path):
    fast = Replay(rolling.episodes, fps=100)
    fast.save(tmp_path / "fast.gif", height=20)
    with Image.open(tmp_path / "fast.gif") as written:
        assert written.n_frames == 7 and written.info["duration"] == 20
    assert video.min_frame_interval(".gif", 50.0) == 1 and video.min_frame_interval(".webp", 100.0) == 1


def test_a_single_state_can_be_saved(rolling, tmp_path):
    for suffix in (".gif", ".webp", ".mp4", ".html"):
        rolling.clip(stop=0).save(tmp_path / f"still{suffix}", **({} if suffix == ".html" else {"height": 20}))
    assert len(list(tmp_path.iterdir())) == 4


def test_what_fails_leaves_the_old_file(rolling, tmp_path, monkeypatch):
    path = tmp_path / "rolling.gif"
    path.write_bytes(b"old")

    def fail(path, frames, fps):
        path.write_bytes(b"half")
        raise RuntimeError("disk full")

    monkeypatch.setattr(video, "write_video", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        rolling.save(path)
    assert path.read_bytes() == b"old" and [entry.name for entry in tmp_path.iterdir()] == ["rolling.gif"]


def test_new_files_have_ordinary_permissions(rolling, tmp_path):
    rolling.save(tmp_path / "a.html")
    (tmp_path / "b.html").touch()
    assert (tmp_path / "a.html").stat().st_mode == (tmp_path / "b.html").stat().st_mode


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("rolling", ValueError, r"is saved as .html, .gif, .webp, .mp4 or .png, got '.*rolling'"),
        ("rolling.avi", ValueError, "choose one of these suffixes"),
        ("nowhere/rolling.gif", FileNotFoundError, "the folder .*nowhere does not exist; create it first"),
        ("folder.gif", IsADirectoryError, "is a folder; give the name of a file in it"),
    ],
)
def test_places_where_nothing_can_be_written(rolling, tmp_path, name, error, message):
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(error, match=message):
        rolling.save(tmp_path / name)


def test_a_folder_that_may_not_be_written_to(rolling, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.touch", refuse)  # a folder's permissions would not stop root
    with pytest.raises(PermissionError, match="cannot be written to; choose another folder for rolling.gif"):
        rolling.save(tmp_path / "rolling.gif")


@pytest.mark.parametrize(("suffix", "package"), [("gif", "pillow"), ("webp", "pillow"), ("mp4", "imageio-ffmpeg")])
def test_a_missing_package_is_named_with_what_to_install(rolling, tmp_path, monkeypatch, suffix, package):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=rf'written by {package}: pip install "funcenv\[render\]"'):
        rolling.save(tmp_path / f"rolling.{suffix}")
    rolling.save(tmp_path / "rolling.html")  # needs nothing


def test_a_gif_of_many_colours_keeps_the_flat_ones_and_is_near_the_others(tmp_path):
    rng = np.random.default_rng(0)
    noisy = np.full((40, 60, 3), (12, 34, 56), np.uint8)
    noisy[:, 30:] = np.clip(rng.normal(128, 30, (40, 30, 3)), 0, 255)
    video.write_video(tmp_path / "noisy.gif", iter([noisy, noisy[:, ::-1]]), fps=10)
    with Image.open(tmp_path / "noisy.gif") as written:
        first = np.array(written.convert("RGB"))
    np.testing.assert_array_equal(first[:, :30], noisy[:, :30])
    assert difference(first[:, 30:], noisy[:, 30:]) < 12


def test_videos_are_no_larger_than_they_need_to_be(rolling, tmp_path):
    rolling.save(tmp_path / "rolling.gif", height=200)
    assert os.path.getsize(tmp_path / "rolling.gif") < 40_000


def test_progress_counts_the_frames(rolling, tmp_path):
    calls = []
    rolling.save(tmp_path / "rolling.webp", height=20, every=5, progress=lambda *call: calls.append(call))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_gif_of_few_colours_has_every_pixel_exactly(tmp_path):
    frames = np.random.default_rng(1).integers(0, 3, (5, 6, 7, 3), np.uint8) * 100
    video.write_video(tmp_path / "few.gif", iter(frames), fps=10)
    with Image.open(tmp_path / "few.gif") as written:
        for number, frame in enumerate(frames):
            written.seek(number)
            np.testing.assert_array_equal(written.convert("RGB"), frame)
