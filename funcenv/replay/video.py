"""Videos of a replay: GIF and WebP written by Pillow, MP4 by FFmpeg; and PNG, an image of its first frame."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterable, Iterator

import numpy as np

from funcenv.replay.mp4 import VideoWriter
from funcenv.struct import NDArray

_GIF_TICK_SECONDS = 0.01  # GIF measures durations in hundredths of a second
_MAX_GIF_FPS = 50.0  # browsers slow down faster GIFs
_MAX_COLORS = 255  # Pillow needs the last one of 256 for pixels that do not change
_NUM_EXACT_COLORS = 96
_COLORS_PER_CHUNK = 4096


def min_frame_interval(suffix: str, fps: float) -> int:
    """Return the least number of steps from one frame to the next that a format supports at this speed.

    >>> min_frame_interval(".gif", 60.0), min_frame_interval(".mp4", 60.0)
    (2, 1)
    """
    return max(1, int(np.ceil(fps / _MAX_GIF_FPS - 1e-9))) if suffix == ".gif" else 1


def write_video(path: pathlib.Path, frames: Iterable[NDArray], fps: float) -> None:
    """Write frames in the format of the suffix; GIF and WebP repeat forever, and PNG holds the first frame."""
    writers = {".gif": _write_gif, ".webp": _write_webp, ".mp4": _write_mp4, ".png": _write_png}
    writers[path.suffix.lower()](path, frames, fps)


def _write_gif(path: pathlib.Path, frames: Iterable[NDArray], fps: float) -> None:
    """Write a GIF with one palette and no dithering, so that flat areas stay flat and unchanged pixels cost nothing."""
    from PIL import Image

    numbered = _NumberedColors()
    numbers = [numbered.add(frame) for frame in frames]
    palette = _palette(numbered.colors, numbered.counts)
    nearest = _nearest(_unpack(numbered.colors), palette)
    indexed = []
    for i, frame in enumerate(numbers):
        image = Image.fromarray(nearest[frame])
        image.putpalette(palette.reshape(-1).tolist())
        indexed.append(image)
        numbers[i] = np.empty(0)  # free the memory
    durations = [1000 * _GIF_TICK_SECONDS * ticks for ticks in _whole_ticks(len(indexed), 1 / fps / _GIF_TICK_SECONDS)]
    first, *others = indexed
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=False, disposal=1)


class _NumberedColors:
    """The colours of some frames, each with a number and its count of pixels.

    A frame differs from the one before in few pixels, so only those are searched for new colours.
    """

    def __init__(self) -> None:
        self.colors: NDArray = np.empty(0, np.uint32)  # packed as red, green, blue
        self.counts: NDArray = np.empty(0, np.int64)
        self._number: NDArray = np.zeros(1 << 24, np.uint32)  # index of each colour, from 1; 0: not seen
        self._before: NDArray = np.empty(0, np.uint32)

    def add(self, frame: NDArray) -> NDArray:
        """Return the number of the colour of each pixel `[height, width]`, from 0."""
        red, green, blue = (frame[..., channel].astype(np.uint32) for channel in range(3))
        packed = red << 16 | green << 8 | blue
        changed = packed[packed != self._before] if packed.shape == self._before.shape else packed.reshape(-1)
        self._before = packed
        new = np.unique(changed[self._number[changed] == 0])
        self._number[new] = np.arange(1, len(new) + 1) + len(self.colors)
        self.colors = np.concatenate([self.colors, new])
        numbers = self._number[packed] - 1
        counts = np.bincount(numbers.reshape(-1), minlength=len(self.colors))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        return numbers.astype(np.uint16) if len(self.colors) <= 1 << 16 else numbers


def _palette(colors: NDArray, counts: NDArray) -> NDArray:
    """Return up to 255 colours `[n, 3]`: the most frequent ones exactly, and approximations of the others."""
    from PIL import Image

    if len(colors) <= _MAX_COLORS:
        return _unpack(colors)
    order = np.argsort(counts, kind="stable")
    frequent, rare = _unpack(colors[order[-_NUM_EXACT_COLORS:]]), _unpack(colors[order[:-_NUM_EXACT_COLORS]])
    few = Image.fromarray(rare[None]).quantize(_MAX_COLORS - _NUM_EXACT_COLORS, Image.Quantize.MAXCOVERAGE)
    return np.concatenate([frequent, np.array(few.getpalette(), np.uint8).reshape(-1, 3)])[:_MAX_COLORS]


def _nearest(colors: NDArray, palette: NDArray) -> NDArray:
    """Return the index of the palette entry nearest to each colour, uint8 `[len(colors)]`."""
    chunks = np.array_split(colors.astype(np.int32), range(_COLORS_PER_CHUNK, len(colors), _COLORS_PER_CHUNK))
    distances = (((chunk[:, None] - palette.astype(np.int32)) ** 2).sum(axis=-1) for chunk in chunks)
    return np.concatenate([distance.argmin(axis=1) for distance in distances]).astype(np.uint8)


def _unpack(colors: NDArray) -> NDArray:
    return np.stack([colors >> 16, colors >> 8 & 255, colors & 255], axis=-1).astype(np.uint8)


def _write_webp(path: pathlib.Path, frames: Iterable[NDArray], fps: float) -> None:
    from PIL import Image

    first, *others = [Image.fromarray(frame) for frame in frames]
    durations = list(_whole_ticks(1 + len(others), 1000 / fps))
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, quality=80, method=4)


def _write_png(path: pathlib.Path, frames: Iterable[NDArray], fps: float) -> None:
    from PIL import Image

    del fps
    Image.fromarray(next(iter(frames))).save(path)


def _write_mp4(path: pathlib.Path, frames: Iterable[NDArray], fps: float) -> None:
    with VideoWriter(path, fps) as video:
        for frame in frames:
            video.add(frame)


def _whole_ticks(count: int, ticks: float) -> Iterator[int]:
    """Return durations in whole ticks whose sum is exact.

    >>> list(_whole_ticks(4, 3.3))
    [3, 4, 3, 3]
    """
    ends = [round(i * ticks) for i in range(count + 1)]
    return (max(1, end - start) for start, end in itertools.pairwise(ends))
