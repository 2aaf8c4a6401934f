"""MP4 files with H.264 video, written one frame at a time by FFmpeg."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile

import numpy as np
from jaxtyping import UInt8

from funcenv.checks import require_positive

_H264 = ["-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]


def require_ffmpeg() -> str:
    """Return the path of the FFmpeg program, which the package imageio-ffmpeg contains.

    Raises:
        ModuleNotFoundError: imageio-ffmpeg is not installed.
    """
    try:
        import imageio_ffmpeg
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'a video needs imageio-ffmpeg: pip install "funcenv[render]"', name=error.name
        ) from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def require_folder(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Return the absolute path of a writable folder; create the folder if it does not exist.

    Raises:
        OSError: The folder cannot be created or written to.

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
    """A writer of one MP4 file that receives its frames one at a time.

    Each frame is sent to FFmpeg at once, so a long video needs no memory. The file has a temporary name until `close`,
    so its final name never holds an incomplete video. An odd height or width is padded by one pixel, because H.264
    requires even sizes. FFmpeg runs in its own process group, so a keyboard interrupt reaches only Python.

    Args:
        path: File to write. An existing file is replaced.
        fps: Frames per second, above 0.

    Attributes:
        num_frames: Number of frames added so far.

    Raises:
        ModuleNotFoundError: imageio-ffmpeg is not installed.
        ValueError: `fps` is not above 0, or `add` receives something other than an image of the first frame's size.
        RuntimeError: FFmpeg fails; raised by `close`, and no file is written.

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
        self._temporary = self.path.with_name(f".{self.path.stem}.{os.getpid()}.part.mp4")
        self._process: subprocess.Popen[bytes] | None = None
        self._shape: tuple[int, ...] = ()
        self.num_frames = 0

    def add(self, frame: UInt8[np.ndarray, "height width 3"]) -> None:
        """Append a frame."""
        required = self._shape or (*frame.shape[:2], 3)
        if frame.shape != required or frame.dtype != np.uint8:
            raise ValueError(
                f"the frames of a video are uint8 [height, width, 3], all of one size, here {list(required)}; got "
                f"{frame.dtype} {list(frame.shape)}; start another video for another size"
            )
        self._shape = frame.shape
        height, width, _ = frame.shape
        frame = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        if self._process is None:
            self._process = self._start(*frame.shape[:2])
        assert self._process.stdin is not None  # narrows the type for mypy
        try:
            self._process.stdin.write(np.ascontiguousarray(frame).data)
        except BrokenPipeError:
            self.close()  # raises an error with FFmpeg's message
        self.num_frames += 1

    def close(self) -> None:
        """Finish the file. A video without frames is not written; a second call does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        _, message = process.communicate()
        if process.returncode:
            self._temporary.unlink(missing_ok=True)
            raise RuntimeError(f"FFmpeg could not write {self.path}: {message.decode(errors='replace').strip()}")
        os.replace(self._temporary, self.path)

    def discard(self) -> None:
        """Stop FFmpeg and delete the incomplete file."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
            self._temporary.unlink(missing_ok=True)

    def _start(self, height: int, width: int) -> subprocess.Popen[bytes]:
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(self._fps)]
        # imageio-ffmpeg would start FFmpeg by forking, which JAX warns about. So would `preexec_fn`.
        return subprocess.Popen(
            [self._ffmpeg, "-y", "-loglevel", "error", *raw, "-i", "-", *_H264, str(self._temporary)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=None if os.name == "nt" else 0,
        )

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()
