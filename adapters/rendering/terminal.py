"""Frames as text: each character shows two pixels, one above the other, in 24-bit color."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import UInt8

_UPPER_HALF = "\N{UPPER HALF BLOCK}"
_RESERVED_LINES = 2  # for the final newline and the prompt


def frame_size_in_terminal(aspect: float, columns: int, lines: int) -> tuple[int, int]:
    """Return the height and width in pixels of the largest frame that fits in a terminal.

    A character is about twice as high as wide, so half a character is a square pixel.

    Args:
        aspect: Width of the frame divided by its height.
        columns: Characters in a line, as from `shutil.get_terminal_size`.
        lines: Lines of the terminal.

    >>> frame_size_in_terminal(1.0, 80, 24), frame_size_in_terminal(4.0, 80, 24)
    ((44, 44), (20, 80))
    """
    columns, height = max(1, columns), 2 * max(1, lines - _RESERVED_LINES)
    if height * aspect <= columns:
        return height, max(1, round(height * aspect))
    return min(height, max(2, 2 * round(columns / aspect / 2))), columns


def half_blocks(frame: UInt8[np.ndarray, "height width 3"]) -> str:
    r"""Convert a frame to lines of text for terminals with 24-bit color.

    Each character is an upper half block. Its foreground is one pixel and its background is the pixel below, which is
    black under the last row of an odd height.

    >>> half_blocks(np.array([[[255, 0, 0]], [[0, 0, 255]]], np.uint8))
    '\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[0m\n'
    """
    frame = np.pad(frame, ((0, len(frame) % 2), (0, 0), (0, 0)))
    pairs: list[Any] = np.concatenate([frame[::2], frame[1::2]], axis=-1).tolist()
    return "".join(_line(row) for row in pairs)


def _line(row: list[list[int]]) -> str:
    """Convert a row of pixel pairs to characters; write a color code only where the colors change."""
    parts, current = [], None
    for pair in row:
        if pair != current:
            red, green, blue, red_below, green_below, blue_below = current = pair
            parts.append(f"\x1b[38;2;{red};{green};{blue};48;2;{red_below};{green_below};{blue_below}m")
        parts.append(_UPPER_HALF)
    return "".join(parts) + "\x1b[0m\n"
