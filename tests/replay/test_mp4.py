"""Videos are read back by FFmpeg."""

import sys

import numpy as np
import pytest

from funcenv.replay.mp4 import VideoWriter, require_ffmpeg, require_folder
from tests.support.video import read_video


def gradient(height, width, shift):
    """Return a smooth image, which a lossy format keeps well."""
    x = np.linspace(0, 200, width)[None, :, None]
    return np.broadcast_to(x + [shift, 2 * shift, 3 * shift], (height, width, 3)).astype(np.uint8)


@pytest.mark.parametrize(("shape", "padded"), [((48, 64), (48, 64)), ((33, 51), (34, 52))])
def test_frames_come_back(tmp_path, shape, padded):
    frames = [gradient(*shape, shift) for shift in range(12)]
    with VideoWriter(tmp_path / "a.mp4", fps=12.5) as video:
        for frame in frames:
            video.add(frame)
    read, fps = read_video(tmp_path / "a.mp4")
    assert read.shape == (12, *padded, 3) and fps == 12.5 and video.num_frames == 12
    np.testing.assert_allclose(read[:, : shape[0], : shape[1]].astype(int), frames, atol=14)
    assert np.abs(read[:, : shape[0], : shape[1]].astype(int) - frames).mean() < 3


def test_there_is_a_whole_video_or_none(tmp_path):
    video = VideoWriter(tmp_path / "a.mp4", fps=10)
    video.add(gradient(32, 32, 0))
    assert not (tmp_path / "a.mp4").exists()
    video.close()
    video.close()
    whole = (tmp_path / "a.mp4").read_bytes()
    with pytest.raises(KeyError), VideoWriter(tmp_path / "a.mp4", fps=10) as video:
        video.add(gradient(32, 32, 5))
        raise KeyError
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"] and (tmp_path / "a.mp4").read_bytes() == whole


def test_one_without_frames_is_not_written(tmp_path):
    with VideoWriter(tmp_path / "a.mp4", fps=10):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "frame", [gradient(32, 34, 0), gradient(32, 32, 0)[0], gradient(32, 32, 0) / 2, np.zeros((32, 32, 4), np.uint8)]
)
def test_frames_are_images_of_one_size(tmp_path, frame):
    with VideoWriter(tmp_path / "a.mp4", fps=10) as video:
        video.add(gradient(32, 32, 0))
        with pytest.raises(ValueError, match=r"all of one size, here \[32, 32, 3\]"):
            video.add(frame)


def test_ffmpegs_complaint_is_passed_on(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    video = VideoWriter(folder / "a.mp4", fps=10)
    folder.rmdir()
    with pytest.raises(RuntimeError, match=r"FFmpeg could not write .*a.mp4: .*No such file or directory"):
        for _ in range(200):
            video.add(gradient(320, 320, 0))
        video.close()


def test_what_cannot_work_is_said_at_once(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="fps must be"):
        VideoWriter(tmp_path / "a.mp4", fps=0)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="choose another folder"):
        require_folder(tmp_path / "file" / "videos")
    with pytest.raises(NotADirectoryError, match="choose another folder"):
        require_folder(tmp_path / "file")
    assert require_folder(tmp_path / "new" / "folder").is_dir()
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "funcenv\[render\]"'):
        require_ffmpeg()
