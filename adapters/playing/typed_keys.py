r"""The keys that are typed in a terminal, and how long each of them counts as held.

Most terminals report which keys are typed, and not when they are released. A key that stays down is typed again by the
keyboard's repetition. Terminals with Kitty's keyboard protocol (kitty, foot, WezTerm, Ghostty, Konsole, iTerm2 and
others) report releases, if they are asked to.

Source: https://sw.kovidgoyal.net/kitty/keyboard-protocol
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from funcenv.keyboard import key_name

ASK, REPORT_RELEASES, NO_MORE = "\x1b[?u", "\x1b[>11u", "\x1b[<u"
"""Sequences of the protocol. The number 11 asks for every key as a sequence, with its press and its release."""
ANSWER = "protocol"
"""The name under which `parse` returns the answer to `ASK`."""

_PRESS, _REPEAT, _RELEASE = 1, 2, 3
_CONTROL = 4  # bit of a modifier
_SEQUENCES = re.compile(
    r"""\x1b\[\?(?P<answer>\d+)u
    | \x1b\[(?P<code>\d+)[\d:]*(?:;(?P<held>\d*)(?::(?P<event>\d))?)?(?:;[\d:]*)?u
    | \x1b[\[O](?:1;\d*(?::(?P<arrow_event>\d))?)?(?P<arrow>[A-D])
    | \x1b[\[O][\d;:]*[A-Z~]
    | (?P<character>.)""",
    re.DOTALL | re.VERBOSE,
)
_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
_NUMBER_PAD = {
    57412: "-",
    57413: "+",
    57414: "return",
    57417: "left",
    57418: "right",
    57419: "up",
    57420: "down",
}
_PRIVATE = range(57344, 63744)  # codes of keys that type no character, such as shift


class Typed(NamedTuple):
    """A key that was typed or released."""

    key: str
    event: int = _PRESS

    @property
    def is_release(self) -> bool:
        """True where the key was released."""
        return self.event == _RELEASE

    @property
    def is_new(self) -> bool:
        """True where the key was pressed, as far as a terminal tells that from a repetition."""
        return self.event == _PRESS


class HeldKeys:
    """The keys that count as held down.

    Args:
        seconds: How long a key counts as held where the terminal does not report its release; None for "until another
            key is typed".
        combines: Function that says whether keys play an action together. Where they do not, a key that is typed
            releases those before it.

    >>> held = HeldKeys(0.25, lambda keys: keys == {"left", "up"})
    >>> held.take(Typed("up"), now=0.0)
    >>> held.take(Typed("left"), now=0.1)
    >>> [sorted(held.down(now)) for now in (0.2, 0.3, 0.4)]
    [['left', 'up'], ['left'], []]
    """

    def __init__(self, seconds: float | None, combines: Callable[[frozenset[str]], bool] = lambda keys: False) -> None:
        self._seconds = float("inf") if seconds is None else seconds
        self._combines = combines
        self._until: dict[str, float] = {}  # the time at which a key is released, the oldest key first
        self.reports_releases = False

    def take(self, typed: Typed, now: float) -> None:
        """Take a key into account that was typed or released at a time in seconds."""
        if self.reports_releases:
            self._until.pop(typed.key, None)
            if not typed.is_release:
                self._until[typed.key] = float("inf")
            return
        until = {typed.key: now + self._seconds}
        for key in reversed(self._until):
            if self._until[key] > now and key not in until and self._combines(frozenset({*until, key})):
                until[key] = self._until[key]
        self._until = dict(reversed(until.items()))

    def down(self, now: float) -> frozenset[str]:
        """Return the keys that are held at a time in seconds."""
        return frozenset(key for key, until in self._until.items() if until > now)


def parse(characters: str) -> list[Typed]:
    r"""Return the keys that typed some characters, in order; keys without a name here are left out.

    >>> [typed.key for typed in parse("a\x1b[Cw \x1b")]
    ['a', 'right', 'w', 'space', 'escape']
    >>> [(typed.key, typed.is_release) for typed in parse("\x1b[97u\x1b[1;1:3A\x1b[99;5u")]
    [('a', False), ('up', True), ('\x03', False)]
    """
    found = (_typed(match) for match in _SEQUENCES.finditer(characters))
    return [typed for typed in found if typed is not None]


def _typed(match: re.Match[str]) -> Typed | None:
    if match["answer"]:
        return Typed(ANSWER)
    if match["arrow"]:
        return Typed(_ARROWS[match["arrow"]], int(match["arrow_event"] or _PRESS))
    if match["character"]:
        return Typed(key_name(match["character"]))
    if not match["code"]:
        return None
    code, event = int(match["code"]), int(match["event"] or _PRESS)
    if code in _NUMBER_PAD:
        return Typed(_NUMBER_PAD[code], event)
    if code in _PRIVATE or code > 0x10FFFF:
        return None
    if (int(match["held"] or 1) - 1) & _CONTROL and chr(code) in "cd":
        return Typed({"c": "\x03", "d": "\x04"}[chr(code)], event)
    return Typed(key_name(chr(code)), event)
