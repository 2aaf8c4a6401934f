"""The size of an image in pixels."""

from __future__ import annotations

import math

DEFAULT_LONGER_SIDE = 600  # pixels


def frame_size(
    aspect: float, height: int | None, width: int | None, longer_side: int = DEFAULT_LONGER_SIDE
) -> tuple[int, int]:
    """Return the height and width of a frame in pixels; a side that is None follows from the aspect ratio.

    Args:
        aspect: Width divided by height.
        height: Number of rows, or None.
        width: Number of columns, or None.
        longer_side: Length of the longer side if both sides are None. Every side that this function chooses is even,
            as video formats require.

    >>> frame_size(1.5, None, None), frame_size(0.5, None, None), frame_size(1.5, 100, None), frame_size(1.5, 90, 90)
    ((400, 600), (600, 300), (100, 150), (90, 90))
    """
    if height is None and width is None:
        height, width = (None, longer_side) if aspect >= 1 else (longer_side, None)
    if width is None:
        assert height is not None  # narrows the type for mypy
        return height, _round_to_even(height * aspect)
    return _round_to_even(width / aspect) if height is None else height, width


def _round_to_even(length: float) -> int:
    return max(2, 2 * math.floor(length / 2 + 0.5))
