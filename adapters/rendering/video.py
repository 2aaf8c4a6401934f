"""MP4 files, written a frame at a time, whole or not at all."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
from types import TracebackType
from typing import Any

import numpy as np
from jaxtyping import UInt8

from funcenv.checks import require_positive


def require_ffmpeg() -> str:
    """The path of the program FFmpeg, which the package imageio-ffmpeg brings.

    Raises:
        ModuleNotFoundError: that package is not installed.
    """
    try:
        import imageio_ffmpeg
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'a video needs imageio-ffmpeg: pip install "funcenv[render]"', name=error.name
        ) from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def require_folder(folder: str | os.PathLike[str]) -> pathlib.Path:
    """A folder that can be written to, made where there is none.

    Raises:
        OSError: it cannot be.

    >>> require_folder("/dev/null/videos")
    Traceback (most recent call last):
        ...
    NotADirectoryError: videos cannot be written to '/dev/null/videos' (Not a directory); choose another folder
    """
    path = pathlib.Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        kind = NotADirectoryError if isinstance(error, FileExistsError) else type(error)
        raise kind(f"videos cannot be written to {str(path)!r} ({error.strerror}); choose another folder") from error
    return path.resolve()


class VideoWriter:
    """A video that grows by a frame at a time: H.264 in an MP4 file, which every browser plays.

    Frames go to FFmpeg as they come, so a long video takes no memory. The file has another name until `close`, so that
    under its own there is a whole video or none. FFmpeg runs in a process group of its own: an interrupt from the
    keyboard is for Python to handle.

    Args:
        path: of the file, which is replaced if it exists.
        fps: frames a second, above 0.

    Attributes:
        num_frames: how many it has so far.

    Raises:
        ModuleNotFoundError: imageio-ffmpeg is not installed.
        ValueError: `fps` is not above 0; from `add`, something else than a picture of the size of the first.
        RuntimeError: from `close`, FFmpeg failed; nothing was written.

    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with VideoWriter(folder / "grey.mp4", fps=10) as video:
    ...     for level in range(0, 250, 50):
    ...         video.add(np.full((48, 64, 3), level, np.uint8))
    >>> video.num_frames, [file.name for file in folder.iterdir()]
    (5, ['grey.mp4'])
    """

    def __init__(self, path: str | os.PathLike[str], fps: float) -> None:
        require_positive(fps=fps)
        self._ffmpeg, self._fps = require_ffmpeg(), fps
        self.path = pathlib.Path(path)
        self._growing = self.path.with_name(f".{self.path.stem}.{os.getpid()}.part.mp4")
        self._process: subprocess.Popen[bytes] | None = None
        self._shape: tuple[int, ...] = ()
        self.num_frames = 0

    def add(self, frame: UInt8[np.ndarray, "height width 3"]) -> None:
        """The next frame."""
        wanted = self._shape or (*frame.shape[:2], 3)
        if frame.shape != wanted or frame.dtype != np.uint8:
            raise ValueError(
                f"the frames of a video are uint8 [height, width, 3], all of one size, here {list(wanted)}; got "
                f"{frame.dtype} {list(frame.shape)}; start another video for another size"
            )
        if self._process is None:
            self._shape = frame.shape
            self._process = self._start(*_even(frame).shape[:2])
        assert self._process.stdin is not None  # for the type checker
        try:
            self._process.stdin.write(np.ascontiguousarray(_even(frame)).data)
        except BrokenPipeError:
            self.close()  # which tells why
        self.num_frames += 1

    def close(self) -> None:
        """Finish the video; calling it again does nothing. One without frames is not written."""
        process, self._process = self._process, None
        if process is None:
            return
        _, complaint = process.communicate()
        if process.returncode:
            self._growing.unlink(missing_ok=True)
            raise RuntimeError(f"FFmpeg could not write {self.path}: {complaint.decode(errors='replace').strip()}")
        os.replace(self._growing, self.path)

    def discard(self) -> None:
        """Give the video up; nothing is written."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
            self._growing.unlink(missing_ok=True)

    def _start(self, height: int, width: int) -> subprocess.Popen[bytes]:
        command: list[Any] = [self._ffmpeg, "-y", "-loglevel", "error"]
        command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", self._fps, "-i", "-"]
        command += ["-an", "-c:v", "libx264", "-crf", "18"]
        command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", self._growing]
        # No `preexec_fn`: it would fork this process, which JAX, full of threads, warns of.
        return subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=None if os.name == "nt" else 0,
        )

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _even(frame: Any) -> Any:
    """Players want even sizes: an odd one gets its last row or column twice."""
    height, width, _ = frame.shape
    if height % 2 == width % 2 == 0:
        return frame
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
