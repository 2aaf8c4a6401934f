"""A terminal to play in, say over SSH: frames as text, keys as they are typed.

A terminal tells which keys are typed, not which are held. In a game that goes on by itself a key therefore counts as
held until another is typed; where each step waits for the player, a key plays one step.
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Any, TextIO

from funcenv.adapters.playing.keys import key_name
from funcenv.adapters.playing.loop import Score

_ESCAPES = {"A": "up", "B": "down", "C": "right", "D": "left"}
_ALTERNATE, _ORDINARY = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # screen and cursor
_HOME, _TO_LINE_END, _TO_SCREEN_END = "\x1b[H", "\x1b[K", "\x1b[J"


class TerminalScreen:
    """Shows text frames on the whole terminal and reads keys without waiting for a line.

    Args:
        fps: frames a second.
        holds: whether a key counts as held until another one is typed.
        keys: a line that says what plays what.

    Raises:
        RuntimeError: the standard input or output is no terminal, or the system has none.
    """

    def __init__(self, fps: float, holds: bool, keys: str = "") -> None:
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
        self._typed: list[str] = []  # and not played yet
        self._held: frozenset[str] = frozenset()
        self._open, self._due = True, time.monotonic()
        self._before: Any = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)
        self._say(_ALTERNATE)

    def show(self, picture: Any, score: Score) -> None:
        """A frame of text, or the last of a list of them; then wait until the next one is due."""
        text = str(picture[-1] if isinstance(picture, list) else picture)
        status = f"episode {score.episode}  step {score.step}  return {score.episode_return:g}"
        lines = [*text.rstrip("\n").split("\n"), status, score.last and f"last: {score.last}", self._keys]
        self._say(_HOME + f"{_TO_LINE_END}\n".join(lines) + _TO_LINE_END + _TO_SCREEN_END)
        self._wait()

    def pressed(self) -> frozenset[str]:
        """The next key typed; or, where keys are held, the last one."""
        self._typed += parse(self._read())
        if self._holds:
            if self._typed:
                self._held = frozenset(self._typed[-1:])
            played, self._typed = self._typed, []
        else:
            played, self._typed = self._typed[:1], self._typed[1:]  # no move is lost, however fast it was typed
        if {"escape", "\x03", "\x04"}.intersection(played):
            self._open = False
        return self._held if self._holds else frozenset(played)

    @property
    def is_open(self) -> bool:
        """False once escape was typed."""
        return self._open

    def close(self) -> None:
        """Put the terminal back as it was; calling it again does nothing."""
        if self._before is not None:
            self._say(_ORDINARY)
            self._termios.tcsetattr(self._input, self._termios.TCSADRAIN, self._before)
            self._before = None
        self._open = False

    def _wait(self) -> None:
        """A key cuts it short where the game waits for keys."""
        self._due = max(self._due + 1 / self._fps, time.monotonic())
        rest = max(self._due - time.monotonic(), 0.0)
        if self._holds:
            time.sleep(rest)
        else:
            select.select([self._input], [], [], rest)

    def _read(self) -> str:
        characters = b""
        while select.select([self._input], [], [], 0)[0]:
            chunk = os.read(self._input.fileno(), 1024)
            if not chunk:  # the other end is gone
                self._open = False
                break
            characters += chunk
        return characters.decode(errors="ignore")

    def _say(self, text: str) -> None:
        output: TextIO = self._output
        output.write(text)
        output.flush()


def parse(characters: str) -> list[str]:
    r"""The keys that typed some characters, in order.

    >>> parse("a\x1b[Cw \x1b")
    ['a', 'right', 'w', 'space', 'escape']
    """
    keys, at = [], 0
    while at < len(characters):
        start, name = characters[at : at + 2], characters[at + 2 : at + 3]
        if start in ("\x1b[", "\x1bO") and name in _ESCAPES:
            keys.append(_ESCAPES[name])
            at += 3
        else:
            keys.append(key_name(characters[at]))
            at += 1
    return keys
