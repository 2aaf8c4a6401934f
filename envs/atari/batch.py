"""ALE's emulator as pure functions on the host, each for a batch of games: `advance` and `restart`."""

from __future__ import annotations

import atexit
import concurrent.futures
import functools
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from funcenv.envs.atari.emulator import Cartridge, Emulator
from funcenv.host import Pool
from funcenv.struct import NDArray

RAM_SIZE = 128  # bytes
_MAX_KEPT = 16  # emulators that each keep the game of one row; to make one takes as long as 400 steps of ALE
_MAX_RESTARTS = 128  # results of `restart` that are kept

Results = dict[str, NDArray]


class Console(NamedTuple):
    """ALE's properties of a cartridge, and the start of the first episode, which does not depend on ALE's seed."""

    minimal_actions: tuple[int, ...]  # ALE's numbers of the actions that do something in this game
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    screen_shape: tuple[int, int]  # height, width
    start: Results  # results of `advance` for one row


@functools.cache
def console(cartridge: Cartridge) -> Console:
    """Return the facts of a cartridge.

    Raises:
        ModuleNotFoundError: ALE is not installed.
        ValueError: the game has no such mode or difficulty.
    """
    emulator = Emulator(cartridge)
    ale = emulator.ale
    start = _outputs(1, emulator.num_words, ale.getScreenDims())
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
) -> Results:
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
        `[num, height * width / 4]`; ram, uint32 `[num, 32]`; and reward, lives, frame, total_frames, terminal and
        truncated, `[num]`.

    Raises:
        ValueError: a row is not a state of this game.
    """
    num = len(words)
    results = _outputs(num, words.shape[1], console(cartridge).screen_shape)

    def play(emulator: Emulator, row: int) -> None:
        emulator.load(words[row])
        played = slice(num_frames[row])
        frames = zip(actions[row, played].tolist(), strengths[row, played].tolist(), strict=True)
        reward = sum(emulator.act(action, strength) for action, strength in frames)
        _read(emulator, results, row, reward)

    _play_rows(cartridge, num_threads, num, words, play, num if num <= _MAX_KEPT else 0)
    return results


def restart(cartridge: Cartridge, num_threads: int | None, words: NDArray) -> Results:
    """Begin the next episode in every row, as ALE does after the episode in which the row is a state.

    A reset takes as long as 70 frames, and compiled programs often ask for one repeatedly, so it is computed once.

    Args:
        cartridge: as for `advance`, and so are the others.
        num_threads: see there.
        words: see there.

    Returns:
        See `advance`.

    Raises:
        ValueError: a row is not a state of this game.
    """
    num = len(words)
    keys = [(cartridge, row.tobytes()) for row in words]
    first_rows = {key: row for row, key in reversed(list(enumerate(keys)))}
    known = {key: result for key in first_rows if (result := _restarts.get(key)) is not None}
    missing = [row for key, row in first_rows.items() if key not in known]
    fresh = _outputs(len(missing), words.shape[1], console(cartridge).screen_shape)

    def play(emulator: Emulator, index: int) -> None:
        emulator.load(words[missing[index]])
        emulator.reset()
        _read(emulator, fresh, index, 0)

    if missing:
        _play_rows(cartridge, num_threads, num, words[missing], play, 0)
    for index, row in enumerate(missing):
        known[keys[row]] = {name: array[index] for name, array in fresh.items()}
        _restarts.put(keys[row], known[keys[row]])
    return {name: np.stack([known[key][name] for key in keys]) for name in fresh}


class _Restarts:
    """The latest results of `restart`, by cartridge and row."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[Cartridge, bytes], Results] = OrderedDict()

    def get(self, key: tuple[Cartridge, bytes]) -> Results | None:
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def put(self, key: tuple[Cartridge, bytes], result: Results) -> None:
        with self._lock:
            self._results[key] = result
            while len(self._results) > _MAX_RESTARTS:
                self._results.popitem(last=False)


_restarts = _Restarts()


class _Players:
    """Emulators and threads for a batch."""

    def __init__(self, cartridge: Cartridge, num_threads: int, num: int) -> None:
        del num  # Batches of several sizes have emulators of their own, which hold their games.
        self._cartridge, self._num_threads = cartridge, num_threads
        self._emulators: list[Emulator] = []
        self._executor = concurrent.futures.ThreadPoolExecutor(num_threads) if num_threads > 1 else None

    def run(self, play: Callable[[Emulator, int], None], words: NDArray, num_kept: int) -> None:
        """Call `play` for every row with an emulator, at best with the one that is in the row's state.

        Args:
            play: is called from several threads.
            words: states, `[num, words]`.
            num_kept: how many emulators there should be; 0 for one for each thread.
        """
        shares = list(self._assign(words[:, 0].tolist(), num_kept or self._num_threads).items())

        def play_share(thread: int) -> None:
            for number, rows in shares[thread :: self._num_threads]:
                for row in rows:
                    play(self._emulators[number], row)

        if self._executor is None:
            play_share(0)
        else:
            list(self._executor.map(play_share, range(self._num_threads)))

    def _assign(self, checksums: list[int], num_emulators: int) -> dict[int, list[int]]:
        """Return the rows that each emulator plays."""
        for _ in range(num_emulators - len(self._emulators)):
            self._emulators.append(Emulator(self._cartridge))
        holders = {emulator.checksum: number for number, emulator in enumerate(self._emulators)}
        shares: dict[int, list[int]] = {}
        others = []
        for row, checksum in enumerate(checksums):
            number = holders.pop(checksum, None)
            if number is None:
                others.append(row)
            else:
                shares[number] = [row]
        spare = [number for number in range(len(self._emulators)) if number not in shares] or list(shares)
        for index, row in enumerate(others):
            shares.setdefault(spare[index % len(spare)], []).append(row)
        return shares


_players: Pool[_Players] = Pool(_Players, max_idle=8)
atexit.register(_players.clear)  # ALE reports emulators that are left when it is unloaded


def _play_rows(
    cartridge: Cartridge,
    num_threads: int | None,
    num: int,
    words: NDArray,
    play: Callable[[Emulator, int], None],
    num_kept: int,
) -> None:
    """Call `play` for every row of `words`, with the emulators of batches of `num` rows."""
    threads = max(min(num, num_threads or _num_cpus()), 1)
    with _players.borrow(cartridge, threads, num if num <= _MAX_KEPT else 0) as players:
        players.run(play, words, num_kept)


def _outputs(num: int, num_words: int, screen_shape: tuple[int, int]) -> Results:
    height, width = screen_shape
    return {
        "emulator": np.empty((num, num_words), np.uint32),
        "screen": np.empty((num, height * width // 4), np.uint32),
        "ram": np.empty((num, RAM_SIZE // 4), np.uint32),
        "reward": np.empty(num, np.float32),
        "lives": np.empty(num, np.int32),
        "frame": np.empty(num, np.int32),
        "total_frames": np.empty(num, np.int32),
        "terminal": np.empty(num, bool),
        "truncated": np.empty(num, bool),
    }


def _read(emulator: Emulator, results: Results, row: int, reward: int) -> None:
    """Write what an emulator shows into a row of the results."""
    ale = emulator.ale
    emulator.store(results["emulator"][row])
    ale.getScreen(results["screen"][row].view(np.uint8).reshape(ale.getScreenDims()))
    ale.getRAM(results["ram"][row].view(np.uint8))
    results["reward"][row] = reward
    results["lives"][row] = ale.lives()
    results["frame"][row] = ale.getEpisodeFrameNumber()
    results["total_frames"][row] = ale.getFrameNumber()
    results["terminal"][row] = ale.game_over(with_truncation=False)
    results["truncated"][row] = ale.game_truncated()


def _num_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
