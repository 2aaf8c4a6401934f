"""Play in a pseudo-terminal: the program has one end, the test types at the other."""

import itertools
import os
import pty
import re
import select
import sys
import threading
import time

import pytest

from funcenv.adapters.playing import play_in_terminal
from funcenv.adapters.playing.loop import Score
from funcenv.adapters.playing.terminal import TerminalScreen
from funcenv.adapters.playing.typed_keys import HeldKeys, parse


class Terminal:
    """The player's end, which types a key for every frame and records the output."""

    def __init__(self, keys):
        self.person, program = pty.openpty()
        self.program = os.fdopen(program, "r+b", buffering=0)
        self.keys, self.shown = list(keys), ""
        self.thread = threading.Thread(target=self._attend, daemon=True)
        self.thread.start()

    def _attend(self):
        frames = 0
        while True:
            try:
                chunk = os.read(self.person, 65536).decode()
            except OSError:
                return
            self.shown += chunk
            while self.shown.count("\x1b[J") > frames:
                frames += 1
                if self.keys:
                    os.write(self.person, self.keys.pop(0).encode())
                else:
                    os.write(self.person, b"\x1b")


@pytest.fixture
def terminal(monkeypatch):
    made, streams = [], []

    def make(*keys):
        one = Terminal(keys)
        made.append(one)
        for name, mode in (("sys.stdin", "r"), ("sys.stdout", "w")):
            stream = os.fdopen(os.dup(one.program.fileno()), mode)
            monkeypatch.setattr(name, stream)
            streams.append(stream)
        return one

    yield make
    for stream in streams:
        stream.close()
    for one in made:
        one.program.close()
        one.thread.join(timeout=10)  # else it reads from the next terminal, which gets the same file descriptor
        os.close(one.person)


def test_arrows_play_and_escape_leaves(corridor, terminal):
    env, person = corridor("ansi"), terminal("\x1b[C", "\x1b[C", "\x1b[D")
    play_in_terminal(env, fps=200, wait_on_player=True)
    assert env.actions == [2, 2, 1]
    frames = re.findall(r"^[.@]{4}", person.shown.replace("\x1b[H", "\n"), re.MULTILINE)
    assert [frame for frame, _ in itertools.groupby(frames)] == ["@...", ".@..", "..@.", ".@.."]
    assert "step 2  return 2" in person.shown and "left: 1" in person.shown


@pytest.fixture
def typing(terminal):
    """Return a screen and a function that types characters and returns the keys that are then held."""

    def start(held):
        person = terminal()
        screen = TerminalScreen(1000, held)

        def typed(characters):
            os.write(person.person, characters)
            select.select([sys.stdin], [], [], 10)
            return screen.pressed().down

        return screen, typed, person

    return start


def test_a_key_may_count_until_the_next(typing):
    screen, typed, _ = typing(HeldKeys(None))
    assert screen.pressed().down == frozenset()
    assert typed(b"\x1b[D") == {"left"}
    assert [screen.pressed().down for _ in range(3)] == [{"left"}] * 3
    assert typed(b" ") == {"space"} == screen.pressed().down
    assert screen.pressed().new == frozenset()
    screen.close()


def test_a_key_counts_for_a_time(typing, monkeypatch):
    now = itertools.count(step=0.1)
    monkeypatch.setattr("funcenv.adapters.playing.terminal.time.monotonic", lambda: next(now))
    screen, typed, _ = typing(HeldKeys(0.45))
    assert typed(b"\x1b[D") == {"left"}
    held = [screen.pressed().down for _ in range(8)]
    assert held[0] == {"left"} and held[-1] == frozenset()
    screen.close()


def test_a_terminal_that_reports_releases_is_asked_to(typing):
    screen, typed, person = typing(HeldKeys(0.0))
    assert typed(b"\x1b[?0u") == frozenset()
    assert typed(b"\x1b[A") == {"up"} == screen.pressed().down
    assert typed(b"\x1b[97u") == {"up", "a"}
    assert typed(b"\x1b[1;1:3A\x1b[98u\x1b[98;1:3u") == {"a", "b"}  # a tap counts once
    assert screen.pressed() == ({"a"}, frozenset())
    assert typed(b"\x1b[97;1:2u") == {"a"} and screen.is_open
    typed(b"\x1b[27u")
    assert not screen.is_open
    screen.close()
    while not person.shown.endswith("\x1b[?1049l"):
        time.sleep(0.001)
    order = [person.shown.index(text) for text in ("\x1b[?1049h", "\x1b[?u", "\x1b[>11u", "\x1b[<u", "\x1b[?1049l")]
    assert order == sorted(order)


def test_an_unchanged_picture_is_not_written_again(terminal, monkeypatch):
    terminal()
    screen, score = TerminalScreen(1000, HeldKeys(None)), Score(1, 0, 0.0, "", message="press a key")
    written = []
    monkeypatch.setattr(screen, "_write", written.append)
    for frame in ["@..", "@..", "@..", ".@."]:
        screen.show(frame, score)
    screen.show(".@.", score._replace(message=""))
    screen.close()
    assert len(written) == 4  # three pictures, and what restores the screen


def test_the_terminal_is_left_as_it_was(corridor, terminal):
    import termios

    person = terminal("\x1b[C")
    before = termios.tcgetattr(person.program)
    play_in_terminal(corridor("ansi"), fps=200, wait_on_player=True)
    assert termios.tcgetattr(person.program) == before


def test_redirected_output_is_refused(corridor, capsys):
    with pytest.raises(RuntimeError, match="must not be redirected; leave --terminal out"):
        play_in_terminal(corridor("ansi"))


def test_another_render_mode_is_refused(corridor):
    with pytest.raises(ValueError, match="made with render_mode=\"ansi\", got 'rgb_array'"):
        play_in_terminal(corridor())


def test_sequences_of_arrows_in_both_dialects():
    assert [typed.key for typed in parse("\x1b[A\x1bOB")] == ["up", "down"]


def test_other_keys_of_a_keyboard_are_no_escape():
    """Home, delete, F5 and shift+tab; a left shift and plus of a number pad in Kitty's protocol."""
    assert parse("\x1b[H\x1b[3~\x1b[15~\x1b[Z\x1b[57441u") == []
    assert [typed.key for typed in parse("\x1b[57413u\x1b[13u\x1b[61:43;2u")] == ["+", "return", "="]


def test_a_game_in_a_terminal_starts_at_a_key_and_says_what_the_keys_play(corridor, terminal):
    env, person = corridor("ansi"), terminal("x")
    env.action_names = ("stay", "back", "forward")
    play_in_terminal(env, fps=200, wait_for_start=True)
    assert "press a key to start" in person.shown
    assert "left: back   right: forward   no key: stay" in person.shown and "enter: pause" in person.shown
