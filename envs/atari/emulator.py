"""ALE's emulator as a pure function on the host: `advance`, for a batch of games.

The state of an emulator is what its `cloneState` serializes, a few kilobytes, as a row of 32-bit words: the number of
bytes, a checksum, and the bytes. The screen is not part of it, because ALE draws it only while it plays.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import dataclasses
import difflib
import functools
import os
import zlib
from typing import Any, NamedTuple

import numpy as np

from funcenv.envs.atari.games import GAMES
from funcenv.host import Pool
from funcenv.struct import NDArray

INSTALL = 'pip install "funcenv[atari]"'
RAM_SIZE = 128  # bytes
_HEADER = 2  # words: the number of bytes, and the checksum
_MAX_SLACK = 64  # bytes by which a state may become longer than the first one
_MAX_KEPT = 16  # emulators that each keep the game of one row; to load a game takes as long as 400 steps of ALE


@dataclasses.dataclass(frozen=True)
class Cartridge:
    """A game and its switches."""

    game: str
    mode: int | None = None
    difficulty: int | None = None
    max_num_frames: int | None = None


class Console(NamedTuple):
    """ALE's properties of a cartridge, and the start of every episode, which does not depend on ALE's seed."""

    minimal_actions: tuple[int, ...]  # ALE's numbers of the actions that do something in this game
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    screen_shape: tuple[int, int]  # height, width
    start: dict[str, NDArray]  # results of `advance` for one row


def import_ale() -> Any:
    """Return the module `ale_py`.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        import ale_py
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"Atari games need ale-py: {INSTALL}", name=error.name) from None
    return ale_py


def require_game(game: Any) -> None:
    """Raise `ValueError` unless ALE has the game.

    >>> require_game("pong")
    >>> require_game("Pnog")
    Traceback (most recent call last):
        ...
    ValueError: ALE has no game 'Pnog'; did you mean 'pong'?
    """
    if game in GAMES:
        return
    close = difflib.get_close_matches(str(game).lower(), GAMES, n=1)
    guess = f"did you mean {close[0]!r}?" if close else "funcenv.envs.atari.games.GAMES lists them"
    raise ValueError(f"ALE has no game {game!r}; {guess}")


@functools.cache
def console(cartridge: Cartridge) -> Console:
    """Return the facts of a cartridge.

    Raises:
        ModuleNotFoundError: ALE is not installed.
        ValueError: the game has no such mode or difficulty.
    """
    emulator = _Emulator(cartridge)
    ale = emulator.ale
    state = emulator.serialized()
    capacity = _HEADER + -(-(len(state) + _MAX_SLACK) // 4)
    start = _outputs(1, capacity, ale.getScreenDims())
    _read(emulator, start, 0, 0)
    return Console(
        tuple(action.value for action in ale.getMinimalActionSet()),
        tuple(ale.getAvailableModes()),
        tuple(ale.getAvailableDifficulties()),
        tuple(ale.getScreenDims()),
        {name: array[0] for name, array in start.items()},
    )


def advance(
    cartridge: Cartridge,
    num_threads: int | None,
    words: NDArray,
    actions: NDArray,
    strengths: NDArray,
    num_frames: NDArray,
) -> dict[str, NDArray]:
    """Play some frames in every row.

    Args:
        cartridge: the game.
        num_threads: at most so many threads play; None for one on each CPU of this process.
        words: states, uint32 `[num, words]`.
        actions: ALE's number of the action in each frame, `[num, max_frames]`.
        strengths: of the turn of a knob in each frame, `[num, max_frames]`; 1 is the fastest.
        num_frames: how many of them are played, `[num]`. A game that is over stays as it is.

    Returns:
        By name: emulator, the next states, uint32 `[num, words]`; screen, indices of colours, four in each word, uint32
        `[num, height * width / 4]`; ram, uint32 `[num, 32]`; and reward, lives, frame, terminal and truncated, `[num]`.

    Raises:
        ValueError: a row is not a state of this game.
    """
    num = len(words)
    results = _outputs(num, words.shape[1], console(cartridge).screen_shape)
    threads = min(num, num_threads or _num_cpus())
    with _players.borrow(cartridge, threads, num if num <= _MAX_KEPT else 0) as players:

        def play(thread: int) -> None:
            for row in range(thread, num, threads):
                emulator = players.emulator(row, thread)
                emulator.load(words[row])
                reward = 0
                played = slice(num_frames[row])
                for action, strength in zip(
                    actions[row, played].tolist(), strengths[row, played].tolist(), strict=True
                ):
                    reward += emulator.ale.act(action, strength)
                _read(emulator, results, row, reward)

        players.run(play)
    return results


class _Emulator:
    """An emulator, and the state that it is in."""

    def __init__(self, cartridge: Cartridge) -> None:
        require_game(cartridge.game)
        ale_py = import_ale()
        self._state_of = ale_py.ALEState
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.cartridge, self.ale = cartridge, ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        if cartridge.max_num_frames is not None:
            self.ale.setInt("max_num_frames_per_episode", cartridge.max_num_frames)
        self.ale.loadROM(ale_py.roms.get_rom_path(cartridge.game))
        for name, choices in (
            ("mode", self.ale.getAvailableModes()),
            ("difficulty", self.ale.getAvailableDifficulties()),
        ):
            value = getattr(cartridge, name)
            if value is not None and value not in choices:
                raise ValueError(
                    f"{cartridge.game} has no {name} {value!r}; choose one of {', '.join(map(str, choices))}"
                )
        if cartridge.mode is not None:
            self.ale.setMode(cartridge.mode)
        if cartridge.difficulty is not None:
            self.ale.setDifficulty(cartridge.difficulty)
        self.ale.reset_game()
        self._seed = zlib.crc32(repr((cartridge.game, cartridge.mode, cartridge.difficulty)).encode())
        self._first = self.serialized()
        self._held = b""  # the row of the state that it is in

    def serialized(self) -> bytes:
        """Return the state as bytes."""
        state: bytes = self.ale.cloneState().serialize()
        return state

    def load(self, row: NDArray) -> None:
        """Put the emulator into a state, unless it is in it already.

        In five games (Amidar, Kool-Aid Man, Q*bert, Tetris, TRON Deadly Discs) something of the first state is not in
        what ALE serializes; a reset before the state is restored brings it back.
        """
        data = row.tobytes()
        if data == self._held:
            return
        size, checksum = row[:_HEADER].tolist()
        state = data[4 * _HEADER : 4 * _HEADER + size]
        if len(state) != size or zlib.crc32(state, self._seed) != checksum:
            raise ValueError(
                f"a state is not one of {self.cartridge.game} with this mode and difficulty; "
                "pass a state that reset or step of the same environment returned"
            )
        if state == self._first:
            self.ale.reset_game()
        self.ale.restoreState(self._state_of(state))

    def store(self, row: NDArray) -> None:
        """Write the state into a row."""
        state = self.serialized()
        data = np.frombuffer(state + bytes(-len(state) % 4), np.uint32)
        row[0], row[1] = len(state), zlib.crc32(state, self._seed)
        row[_HEADER : _HEADER + len(data)], row[_HEADER + len(data) :] = data, 0
        self._held = row.tobytes()


class _Players:
    """Emulators and threads for a batch: an emulator for each row, or for each thread if no row has one to keep."""

    def __init__(self, cartridge: Cartridge, num_threads: int, num_kept: int) -> None:
        self._cartridge, self._threads, self._num_kept = cartridge, num_threads, num_kept
        self._emulators: dict[int, _Emulator] = {}
        self._executor = concurrent.futures.ThreadPoolExecutor(num_threads) if num_threads > 1 else None

    def emulator(self, row: int, thread: int) -> _Emulator:
        """Return the emulator for a row, which is played by a thread."""
        number = row if self._num_kept else thread
        if number not in self._emulators:
            self._emulators[number] = _Emulator(self._cartridge)
        return self._emulators[number]

    def run(self, play: Any) -> None:
        """Call the function with the number of each thread."""
        if self._executor is None:
            play(0)
        else:
            list(self._executor.map(play, range(self._threads)))


_players: Pool[_Players] = Pool(_Players, max_idle=8)
atexit.register(_players.clear)  # ALE reports emulators that are left when it is unloaded


def _outputs(num: int, num_words: int, screen_shape: tuple[int, int]) -> dict[str, NDArray]:
    height, width = screen_shape
    return {
        "emulator": np.empty((num, num_words), np.uint32),
        "screen": np.empty((num, height * width // 4), np.uint32),
        "ram": np.empty((num, RAM_SIZE // 4), np.uint32),
        "reward": np.empty(num, np.float32),
        "lives": np.empty(num, np.int32),
        "frame": np.empty(num, np.int32),
        "terminal": np.empty(num, bool),
        "truncated": np.empty(num, bool),
    }


def _read(emulator: _Emulator, results: dict[str, NDArray], row: int, reward: int) -> None:
    """Write what an emulator shows into a row of the results."""
    ale = emulator.ale
    emulator.store(results["emulator"][row])
    ale.getScreen(results["screen"][row].view(np.uint8).reshape(ale.getScreenDims()))
    ale.getRAM(results["ram"][row].view(np.uint8))
    results["reward"][row] = reward
    results["lives"][row] = ale.lives()
    results["frame"][row] = ale.getEpisodeFrameNumber()
    results["terminal"][row] = ale.game_over(with_truncation=False)
    results["truncated"][row] = ale.game_truncated()


def _num_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
