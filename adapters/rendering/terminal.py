"""Pictures as characters: two pixels in each, one above the other, in 24-bit colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import UInt8

_UPPER_HALF = "\N{UPPER HALF BLOCK}"
_SPARE_LINES = 2  # for what is printed after the picture: the end of the line, and the prompt


def picture_size_in_terminal(aspect: float, columns: int, lines: int) -> tuple[int, int]:
    """Height and width, in pixels, of the largest picture that a terminal has room for.

    A character is about twice as high as it is wide, so half of one is a square pixel.

    Args:
        aspect: the width of the picture over its height.
        columns: of the terminal, as `shutil.get_terminal_size` tells them.
        lines: likewise.

    >>> picture_size_in_terminal(1.0, 80, 24), picture_size_in_terminal(4.0, 80, 24)
    ((44, 44), (20, 80))
    """
    columns, height = max(1, columns), 2 * max(1, lines - _SPARE_LINES)
    if height * aspect <= columns:
        return height, max(1, round(height * aspect))
    return min(height, max(2, 2 * round(columns / aspect / 2))), columns


def half_blocks(picture: UInt8[np.ndarray, "height width 3"]) -> str:
    r"""A picture as lines of text, for terminals that show 24-bit colours.

    Each character is an upper half block, its colour that of one pixel and its background that of the pixel below; a
    last row without one below stands on black.

    >>> half_blocks(np.array([[[255, 0, 0]], [[0, 0, 255]]], np.uint8))
    '\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[0m\n'
    """
    height, width, _ = picture.shape
    if height % 2:
        picture = np.concatenate([picture, np.zeros((1, width, 3), np.uint8)])
    pairs: list[Any] = np.concatenate([picture[::2], picture[1::2]], axis=-1).tolist()
    return "".join(_line(row) for row in pairs)


def _line(row: list[list[int]]) -> str:
    """One row of characters; colours are told where they change."""
    parts, present = [], None
    for cell in row:
        if cell != present:
            red, green, blue, red_below, green_below, blue_below = present = cell
            parts.append(f"\x1b[38;2;{red};{green};{blue};48;2;{red_below};{green_below};{blue_below}m")
        parts.append(_UPPER_HALF)
    return "".join(parts) + "\x1b[0m\n"
