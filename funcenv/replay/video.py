"""Films: GIF and WebP by Pillow, MP4 by FFmpeg."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from funcenv.replay.frames import Frame
from funcenv.replay.mp4 import VideoWriter

_GIF_TICK = 0.01  # [s] GIF counts time in hundredths of a second
_FASTEST_GIF = 50.0  # frames a second; browsers slow down what is faster
_MAX_COLORS = 255  # one is left, for what does not change
_EXACT_COLORS = 96
_COLORS_AT_A_TIME = 4096


def frames_to_skip(suffix: str, fps: float) -> int:
    """Every how many frames a format can show at this speed.

    >>> frames_to_skip(".gif", 60.0), frames_to_skip(".mp4", 60.0)
    (2, 1)
    """
    return max(1, int(np.ceil(fps / _FASTEST_GIF - 1e-9))) if suffix == ".gif" else 1


def write_film(path: pathlib.Path, frames: Iterable[Frame], fps: float) -> None:
    """Write the frames in the format that the suffix names; GIF and WebP repeat for ever."""
    writer = {".gif": _write_gif, ".webp": _write_webp, ".mp4": _write_mp4}[path.suffix.lower()]
    writer(path, frames, fps)


def _write_gif(path: pathlib.Path, frames: Iterable[Frame], fps: float) -> None:
    """One palette for all frames, and no dithering: flat areas stay flat, and what does not change costs nothing."""
    from PIL import Image

    pictures = list(frames)
    packed = [picture @ np.array([1 << 16, 1 << 8, 1]) for picture in pictures]
    colors, counts = np.unique(np.stack(packed), return_counts=True)
    palette = _palette(colors, counts)
    nearest = _nearest(_unpacked(colors), palette)
    indexed = []
    for picture in packed:
        image = Image.fromarray(nearest[np.searchsorted(colors, picture)])
        image.putpalette(palette.reshape(-1).tolist())
        indexed.append(image)
    durations = [1000 * _GIF_TICK * ticks for ticks in _whole_ticks(len(pictures), 1 / fps / _GIF_TICK)]
    first, *others = indexed
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=False, disposal=1)


def _palette(colors: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Up to 255 colours `[n, 3]`: the most frequent ones exactly, those of edges and shades as near as may be."""
    from PIL import Image

    if len(colors) <= _MAX_COLORS:
        return _unpacked(colors)
    order = np.argsort(counts, kind="stable")
    frequent, rare = _unpacked(colors[order[-_EXACT_COLORS:]]), _unpacked(colors[order[:-_EXACT_COLORS]])
    few = Image.fromarray(rare[None]).quantize(_MAX_COLORS - _EXACT_COLORS, Image.Quantize.MAXCOVERAGE)
    return np.concatenate([frequent, np.array(few.getpalette(), np.uint8).reshape(-1, 3)])[:_MAX_COLORS]


def _nearest(colors: np.ndarray[Any, Any], palette: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which entry of the palette is nearest to each colour, as uint8 `[len(colors)]`."""
    found = []
    for start in range(0, len(colors), _COLORS_AT_A_TIME):
        some = colors[start : start + _COLORS_AT_A_TIME].astype(np.int32)
        distance = ((some[:, None, :] - palette[None].astype(np.int32)) ** 2).sum(axis=-1)
        found.append(distance.argmin(axis=1).astype(np.uint8))
    return np.concatenate(found)


def _unpacked(colors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.stack([colors >> 16, colors >> 8 & 255, colors & 255], axis=-1).astype(np.uint8)


def _write_webp(path: pathlib.Path, frames: Iterable[Frame], fps: float) -> None:
    from PIL import Image

    first, *others = [Image.fromarray(picture) for picture in frames]
    durations = list(_whole_ticks(1 + len(others), 1000 / fps))
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, quality=80, method=4)


def _write_mp4(path: pathlib.Path, frames: Iterable[Frame], fps: float) -> None:
    with VideoWriter(path, fps) as video:
        for frame in frames:
            video.add(frame)


def _whole_ticks(count: int, ticks: float) -> Iterator[int]:
    """Durations in whole ticks whose sum is right.

    >>> list(_whole_ticks(4, 3.3))
    [3, 4, 3, 3]
    """
    ends = [round(i * ticks) for i in range(count + 1)]
    return (max(1, end - start) for start, end in itertools.pairwise(ends))
