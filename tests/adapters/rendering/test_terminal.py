"""Half blocks, read back as a terminal displays them."""

import re

import numpy as np
import pytest

from funcenv.adapters.rendering.terminal import frame_size_in_terminal, half_blocks


def read_back(text):
    """Return the frame that a terminal with 24-bit color displays, two pixels a character."""
    rows = []
    for line in text.splitlines():
        foreground = background = None
        cells = []
        for code, character in re.findall(r"\x1b\[([\d;]*)m|(.)", line):
            if not character:
                numbers = [int(number) for number in code.split(";")]
                if numbers == [0]:
                    foreground = background = None
                else:
                    assert numbers[:2] == [38, 2] and numbers[5:7] == [48, 2]
                    foreground, background = numbers[2:5], numbers[7:]
            else:
                assert character == "▀"
                cells.append((foreground, background))
        assert foreground is None  # each line ends as it began
        rows += [[upper for upper, _ in cells], [lower for _, lower in cells]]
    return np.array(rows, np.uint8)


@pytest.mark.parametrize("shape", [(2, 1), (8, 5), (24, 80)])
def test_a_frame_comes_back(shape):
    generator = np.random.default_rng(0)
    for frame in (generator.integers(0, 256, (*shape, 3), np.uint8), np.full((*shape, 3), 7, np.uint8)):
        np.testing.assert_array_equal(read_back(half_blocks(frame)), frame)


def test_a_last_row_stands_on_black():
    shown = read_back(half_blocks(np.full((3, 2, 3), 200, np.uint8)))
    assert (shown[:3] == 200).all() and (shown[3] == 0).all()


def test_equal_neighbours_share_their_code():
    assert half_blocks(np.full((2, 80, 3), 9, np.uint8)).count("\x1b") == 2


@pytest.mark.parametrize("aspect", [0.1, 0.5, 1.0, 1.5, 2.3, 12.0])
@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 60), (20, 50), (1, 1)])
def test_the_largest_frame_that_fits(aspect, columns, lines):
    height, width = frame_size_in_terminal(aspect, columns, lines)
    room = 2 * max(1, lines - 2)
    assert 1 <= width <= columns and 2 <= height <= room and height % 2 == 0
    if min(columns, room) > 10:
        assert width == columns or height == room
