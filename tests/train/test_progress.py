"""What a run says of its progress, on terminals of several widths and elsewhere."""

import io
import math

import pytest
from rich.console import Console

from funcenv.train.runs.progress import MAX_PLAIN_LINES, ProgressReport


def report(width, terminal, **settings):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=width)
    return ProgressReport("MountainCarContinuous-v0 x 3 seeds", 200_000, console, 3, 90.0, **settings)


def shown(one):
    """Return the lines that the report shows at the moment."""
    console = Console(file=io.StringIO(), width=one.console.width)
    console.print(one.renderable())
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_everything_is_shown_at_every_width(width):
    one = report(width, terminal=True)
    one.enter("compiling")
    first = shown(one)
    assert "compiling" in first[0] and "0%" in first[0] and "0 of 200,000 steps per agent" in " ".join(first)
    one.enter("training")
    one.report(20_000, 12.34, 81.2, 33_000.0)
    one.report(84_992, -3.21, 77.7, 34_615.4)
    lines = shown(one)
    assert all(len(line) <= width for line in lines) and len(lines) <= 5
    assert "training" in lines[0] and "42%" in lines[0] and "━" in lines[0]
    text = "  ".join(line.strip() for line in lines[1:])
    for fact in (
        "84,992 of 200,000 steps per agent",
        "return -3.21",
        "best 12.3",
        "threshold 90",
        "length 78",
        "34,615 steps/s in all",
        "0:00 elapsed",
        " left",
    ):
        assert fact in text


def test_a_terminal_is_drawn_again():
    one = report(80, terminal=True)
    with one:
        one.enter("compiling")
        one.say("a line above")
        one.report(200_000, 95.0, 70.0, 1000.0)
        one.enter("finished")
    text = one.console.file.getvalue()
    assert "compiling" in text and "a line above" in text and "finished" in text and "100%" in text


def test_progress_is_plain_lines_where_there_is_no_terminal():
    one = report(60, terminal=False)
    with one:
        one.enter("compiling")
        one.enter("training")
        for steps in range(1000, 200_001, 1000):
            one.report(steps, math.nan if steps < 5000 else 1.5, 10.0, 123.0)
        one.enter("finished")
    text = one.console.file.getvalue()
    first, *lines, last = text.splitlines()
    assert first == "MountainCarContinuous-v0 x 3 seeds: compiling" and last.endswith("finished")
    assert "return" not in lines[0] and len(lines) <= MAX_PLAIN_LINES + 1 and "\x1b" not in text
    assert lines[-1].startswith(
        "100%  200,000 of 200,000 steps per agent  return 1.50  best 1.50  threshold 90  length 10"
    )
