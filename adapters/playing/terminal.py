"""A terminal to play in: frames as text, and the keys that are typed.

If the game runs at its own pace, keys are held as `typed_keys.HeldKeys` says. If each step waits for the player, a key
plays one step.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

from funcenv.adapters.playing.loop import Pressed, Score
from funcenv.adapters.playing.pace import Pace
from funcenv.adapters.playing.typed_keys import ANSWER, ASK, NO_MORE, REPORT_RELEASES, HeldKeys, Typed, parse
from funcenv.keyboard import wrap_items

# Escape sequences of the output.
_OPEN_SCREEN, _CLOSE_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


class TerminalScreen:
    """A screen of `loop.run` that covers the terminal and reads each key as it is typed.

    Args:
        fps: Frames per second.
        held: The keys that count as held; None where each typed key plays one step.
        keys: Groups of short texts that explain the keys; every group begins a line.

    Raises:
        RuntimeError: Standard input or output is not a Unix terminal.
    """

    def __init__(self, fps: float, held: HeldKeys | None, keys: Sequence[Sequence[str]] = ()) -> None:
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
        self._pace, self._held, self._keys = Pace(fps), held, keys
        self._typed: list[Typed] = []  # keys that are not played yet
        self._shown: tuple[str, os.terminal_size] | None = None  # what the terminal shows, and its size at that time
        self._open = True
        self._original: Any = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)
        self._write(_OPEN_SCREEN + ("" if held is None else ASK))

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
        self.skip(score)

    def skip(self, score: Score) -> None:
        """Wait until the next frame is due, without showing one."""
        if self._held is not None:
            self._pace.wait(score.speed)
        else:
            self._pace.wait(score.speed, lambda seconds: select.select([self._input], [], [], seconds))

    @property
    def is_late(self) -> bool:
        """True if the game is behind its pace."""
        return self._pace.is_late

    def pressed(self) -> Pressed:
        """Return the keys that are held and those typed anew; or the next typed key, if each plays one step."""
        self._typed += parse(self._read())
        number = len(self._typed) if self._held is not None else 1  # the others are played in later steps
        played, self._typed = self._typed[:number], self._typed[number:]
        new = frozenset(typed.key for typed in played if typed.is_new and typed.key != ANSWER)
        if {"escape", "\x03", "\x04"} & new:
            self._open = False
        if self._held is None:
            return Pressed(new, new)
        for typed in played:
            if typed.key == ANSWER:
                self._ask_for_releases(self._held)
            else:
                self._held.take(typed, time.monotonic())
        down = self._held.down(time.monotonic())
        return Pressed(down | new if self._held.reports_releases else down, new)

    @property
    def is_open(self) -> bool:
        """False once escape was typed."""
        return self._open

    def close(self) -> None:
        """Restore the terminal; a second call does nothing."""
        if self._original is not None:
            reports = self._held is not None and self._held.reports_releases
            self._write((NO_MORE if reports else "") + _CLOSE_SCREEN)
            self._termios.tcsetattr(self._input, self._termios.TCSADRAIN, self._original)
            self._original = None
        self._open = False

    def _ask_for_releases(self, held: HeldKeys) -> None:
        if not held.reports_releases:
            held.reports_releases = True
            self._write(REPORT_RELEASES)

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
