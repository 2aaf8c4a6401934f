"""Play in a pseudo-terminal: the program has one end, the test types at the other."""

import itertools
import os
import pty
import re
import select
import sys
import threading

import pytest

from funcenv.adapters.playing import play_in_terminal
from funcenv.adapters.playing.loop import Score
from funcenv.adapters.playing.terminal import TerminalScreen, parse


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


def test_where_the_game_goes_on_a_key_counts_until_the_next(terminal):
    person = terminal()
    screen = TerminalScreen(1000, holds=True)

    def typed(characters):
        os.write(person.person, characters)
        select.select([sys.stdin], [], [], 10)
        return screen.pressed().down

    assert screen.pressed().down == frozenset()
    assert typed(b"\x1b[D") == {"left"}
    assert [screen.pressed().down for _ in range(3)] == [{"left"}] * 3
    assert typed(b" ") == {"space"} == screen.pressed().down
    assert screen.pressed().new == frozenset()
    screen.close()


def test_an_unchanged_picture_is_not_written_again(terminal, monkeypatch):
    terminal()
    screen, score = TerminalScreen(1000, holds=True), Score(1, 0, 0.0, "", message="press a key")
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
    assert parse("\x1b[A\x1bOB") == ["up", "down"]


def test_a_game_in_a_terminal_starts_at_a_key_and_says_what_the_keys_play(corridor, terminal):
    env, person = corridor("ansi"), terminal("x")
    env.action_names = ("stay", "back", "forward")
    play_in_terminal(env, fps=200, wait_for_start=True)
    assert "press a key to start" in person.shown
    assert "left: back   right: forward   no key: stay" in person.shown and "enter: pause" in person.shown
