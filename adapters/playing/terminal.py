"""A terminal to play in: frames as text, and the keys that are typed.

A terminal reports which keys are typed, but not how long they are held. If the game runs at its own pace, a key counts
as held until another one is typed. If each step waits for the player, a key plays one step.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

from funcenv.adapters.playing.loop import Pressed, Score
from funcenv.keyboard import key_name, wrap_items

_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}  # last characters of escape sequences
_KEY = re.compile(r"\x1b[\[O](?P<arrow>[A-D])|.", re.DOTALL)
# Escape sequences of the output.
_OPEN_SCREEN, _CLOSE_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


class TerminalScreen:
    """A screen of `loop.run` that covers the terminal and reads each key as it is typed.

    Args:
        fps: Frames per second.
        holds: Whether a key counts as held until another one is typed.
        keys: Groups of short texts that explain the keys; every group begins a line.

    Raises:
        RuntimeError: Standard input or output is not a Unix terminal.
    """

    def __init__(self, fps: float, holds: bool, keys: Sequence[Sequence[str]] = ()) -> None:
        self._input, self._output = sys.stdin, sys.stdout
        if not (self._input.isatty() and self._output.isatty()):
            raise RuntimeError(
                "playing in a terminal needs one: standard input and output must not be redirected; "
                "leave --terminal out to play in a window"
            )
        try:
            import termios
            import tty
        except ImportError:
            raise RuntimeError(
                "playing in a terminal needs a Unix terminal; leave --terminal out to play in a window"
            ) from None
        self._termios = termios
        self._fps, self._holds, self._keys = fps, holds, keys
        self._typed: list[str] = []  # keys that are not played yet
        self._held: frozenset[str] = frozenset()
        self._shown: tuple[str, os.terminal_size] | None = None  # what the terminal shows, and its size at that time
        self._open, self._due = True, time.monotonic()
        self._original: Any = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)
        self._write(_OPEN_SCREEN)

    def show(self, frame: Any, score: Score) -> None:
        """Show a text frame, then wait until the next one is due.

        Where the game waits for the player, a typed key ends the wait early. Nothing is written while nothing changes.
        """
        status = score.status if score.message else f"{score.status}  {score.last_status}"
        message = score.message and f"{_BOLD}{score.message}{_PLAIN}"
        size = shutil.get_terminal_size()
        keys = [line for group in self._keys for line in wrap_items(group, size.columns, len)]
        lines = [*str(frame).rstrip("\n").split("\n"), status, message, *keys]
        text = f"{_CLEAR_LINE}\n".join(lines)
        if self._shown != (text, size):
            self._shown = text, size
            self._write(_HOME + text + _CLEAR_LINE + _CLEAR_BELOW)
        self._due = max(self._due + 1 / (self._fps * score.speed), time.monotonic())
        seconds = max(self._due - time.monotonic(), 0.0)
        if self._holds:
            time.sleep(seconds)
        else:
            select.select([self._input], [], [], seconds)

    def pressed(self) -> Pressed:
        """Return the next typed key, or the last one if keys count as held."""
        self._typed += parse(self._read())
        if self._holds:
            played, self._typed = self._typed, []
        else:
            played, self._typed = self._typed[:1], self._typed[1:]  # the others are played in later steps
        if {"escape", "\x03", "\x04"}.intersection(played):
            self._open = False
        if self._holds and played:
            self._held = frozenset(played[-1:])
        return Pressed(self._held if self._holds else frozenset(played), frozenset(played))

    @property
    def is_open(self) -> bool:
        """False once escape was typed."""
        return self._open

    def close(self) -> None:
        """Restore the terminal; a second call does nothing."""
        if self._original is not None:
            self._write(_CLOSE_SCREEN)
            self._termios.tcsetattr(self._input, self._termios.TCSADRAIN, self._original)
            self._original = None
        self._open = False

    def _read(self) -> str:
        characters = b""
        while select.select([self._input], [], [], 0)[0]:
            chunk = os.read(self._input.fileno(), 1024)
            if not chunk:  # the terminal was disconnected
                self._open = False
                break
            characters += chunk
        return characters.decode(errors="ignore")

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()


def parse(characters: str) -> list[str]:
    r"""Return the names of the keys that typed some characters, in order.

    >>> parse("a\x1b[Cw \x1b")
    ['a', 'right', 'w', 'space', 'escape']
    """
    return [_ARROWS[match["arrow"]] if match["arrow"] else key_name(match[0]) for match in _KEY.finditer(characters)]
