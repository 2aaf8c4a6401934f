"""Digests and sketches of time steps: what a record keeps of them, in a few bytes.

`trace` reduces time steps to a `Trace`. At each place, a number of steps after the reset, it has

- a digest of all bits so far, by which equal results are recognized;
- a digest of all integers and flags so far, which rounding does not change;
- a sketch, a few numbers that add up the floats and the levels of images of this step, by which rounding is measured.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from funcenv.struct import NDArray

PLACES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""The numbers of steps after the reset at which a trace is kept."""
SKETCH_SIZE = 8
MIN_IMAGE_SIZE = 256
"""The number of elements from which an array of uint8 counts as an image, whose levels may be rounded."""
_DIGEST_LENGTH = 8  # hexadecimal digits


@dataclasses.dataclass(frozen=True)
class Trace:
    """What is kept of the time steps in one mode, at each place that was reached.

    Attributes:
        bits: Digests of all bits so far.
        integers: Digests of all integers and flags so far.
        sketches: `SKETCH_SIZE` numbers each, of the floats and images of this step alone.
    """

    bits: tuple[str, ...]
    integers: tuple[str, ...]
    sketches: tuple[tuple[float, ...], ...]


def trace(timesteps: Sequence[Any]) -> Trace:
    """Reduce the time steps of a reset and of the steps after it.

    >>> one = {"observation": np.float32([1, 2]), "reward": np.float32(3), "done": np.bool_(False)}
    >>> trace([one]).sketches[0][:4]
    (1.0, 2.0, 3.0, 0.0)
    >>> trace([one]).bits == trace([one | {"reward": np.nextafter(one["reward"], np.float32(4))}]).bits
    False
    """
    bits, integers = hashlib.sha256(), hashlib.sha256()
    kept: list[tuple[str, str, tuple[float, ...]]] = []
    for step, timestep in enumerate(timesteps):
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(timestep)]
        for leaf in leaves:
            digests = (bits,) if is_rounded(leaf) else (bits, integers)
            for digest in digests:
                digest.update(f"{leaf.dtype}{leaf.shape}".encode())
                digest.update(np.ascontiguousarray(leaf).tobytes())
        if step in PLACES:
            ends = [digest.hexdigest()[:_DIGEST_LENGTH] for digest in (bits, integers)]
            kept.append((ends[0], ends[1], sketch(leaves)))
    return Trace(*zip(*kept, strict=True))


def is_rounded(leaf: NDArray) -> bool:
    """Return whether the elements are results of rounding: floats, and levels of images."""
    return leaf.dtype.kind == "f" or (leaf.dtype == np.uint8 and leaf.size >= MIN_IMAGE_SIZE)


def sketch(leaves: Sequence[NDArray]) -> tuple[float, ...]:
    """Return `SKETCH_SIZE` sums over the floats with alternating signs, and over the mean levels of images.

    >>> sketch([np.arange(10.0)])[:3]
    (-8.0, -8.0, 2.0)
    """
    parts = [leaf.astype(np.float64).ravel() for leaf in leaves if leaf.dtype.kind == "f"]
    parts += [_means(leaf) for leaf in leaves if leaf.dtype == np.uint8 and is_rounded(leaf)]
    numbers = np.concatenate([*parts, np.zeros(0)])
    rows = np.pad(numbers, (0, -len(numbers) % SKETCH_SIZE)).reshape(-1, SKETCH_SIZE)
    with np.errstate(invalid="ignore"):  # infinite values of both signs
        sums = (rows * (1 - 2 * (np.arange(len(rows)) % 2))[:, None]).sum(axis=0)
    return tuple(float(f"{number:.9g}") for number in sums) if len(rows) else (0.0,) * SKETCH_SIZE


def _means(image: NDArray) -> NDArray:
    means: NDArray = np.array([part.mean() for part in np.array_split(image.ravel().astype(np.float64), SKETCH_SIZE)])
    return means
