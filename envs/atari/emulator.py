"""ALE's emulator, which is put into states that are rows of 32-bit words.

A row holds a checksum, the number of bytes, what has been played since, and what ALE's `cloneState` serializes, a few
kilobytes. The screen is not part of it, because ALE draws it only while it plays.

Two frames after a reset may still show what was drawn before them. A row of these frames holds the state before the
reset, and the actions since, so that an emulator which loads it draws the same.
"""

from __future__ import annotations

import dataclasses
import difflib
import zlib
from typing import Any

import numpy as np

from funcenv.envs.atari.games import GAMES
from funcenv.envs.atari.saved_state import Preparation, is_unfinished
from funcenv.struct import NDArray

INSTALL = 'pip install "funcenv[atari]"'
_MAX_REPLAYED = 2  # frames after a reset that are played again when a state is loaded
_CHECKSUM, _SIZE, _NUM_REPLAYED, _ACTIONS = 0, 1, 2, 3  # words of a row
_STRENGTHS = _ACTIONS + _MAX_REPLAYED
_HEADER = _STRENGTHS + _MAX_REPLAYED
_MAX_SLACK = 256  # bytes by which a state may become longer than the first one


@dataclasses.dataclass(frozen=True)
class Cartridge:
    """A game and its switches."""

    game: str
    mode: int | None = None
    difficulty: int | None = None
    max_num_frames: int | None = None


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


class Emulator:
    """An emulator after the first reset of a game, and the state that it is in.

    Args:
        cartridge: the game and its switches.

    Raises:
        ModuleNotFoundError: ALE is not installed.
        ValueError: the game has no such mode or difficulty.

    Attributes:
        ale: ALE's interface.
        checksum: the checksum of the row that it holds.
    """

    def __init__(self, cartridge: Cartridge) -> None:
        require_game(cartridge.game)
        ale_py = import_ale()
        self._state_of = ale_py.ALEState
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        if cartridge.max_num_frames is not None:
            self.ale.setInt("max_num_frames_per_episode", cartridge.max_num_frames)
        self.ale.loadROM(ale_py.roms.get_rom_path(cartridge.game))
        self._set_switches(cartridge)
        self._game = cartridge.game
        self._seed = zlib.crc32(repr((cartridge.game, cartridge.mode, cartridge.difficulty)).encode())
        self._held, self.checksum = b"", -1  # the row that it is in
        self.reset()
        assert self._base is not None
        self._end_of_frame, self._middle_of_frame = (Preparation(self._base, ends) for ends in (True, False))

    def _set_switches(self, cartridge: Cartridge) -> None:
        for name, choices, set_switch in (
            ("mode", self.ale.getAvailableModes(), self.ale.setMode),
            ("difficulty", self.ale.getAvailableDifficulties(), self.ale.setDifficulty),
        ):
            value = getattr(cartridge, name)
            if value is None:
                continue
            if value not in choices:
                raise ValueError(
                    f"{cartridge.game} has no {name} {value!r}; choose one of {', '.join(map(str, choices))}"
                )
            set_switch(value)

    @property
    def num_words(self) -> int:
        """The number of words in a row of this game."""
        return _HEADER + -(-(len(self._serialized()) + _MAX_SLACK) // 4)

    def reset(self, base: bytes | None = None) -> None:
        """Begin the episode that follows the present one in ALE, where memory and random numbers outlast a reset.

        Args:
            base: the present state, if it is serialized already.
        """
        self._base: bytes | None = base or self._serialized()  # the state before the reset, while it is needed
        self._replayed: list[tuple[int, float]] = []  # actions and strengths since then
        self.ale.reset_game()
        self._is_unfinished = is_unfinished(self._serialized())

    def act(self, action: int, strength: float) -> int:
        """Play a frame, unless the game is over, and return its points."""
        if self._base is not None and not self.ale.game_over():
            self._replayed.append((action, strength))
        points: int = self.ale.act(action, strength)
        return points

    def load(self, row: NDArray) -> None:
        """Put the emulator into a state, unless it is in it already.

        Raises:
            ValueError: the row is not a state of this game.
        """
        data = row.tobytes()
        if data == self._held:
            return
        size, num_replayed = row[_SIZE].item(), row[_NUM_REPLAYED].item()
        state = data[4 * _HEADER : 4 * _HEADER + size]
        if len(state) != size or zlib.crc32(data[4:], self._seed) != row[_CHECKSUM]:
            raise ValueError(
                f"a state is not one of {self._game} with this mode and difficulty; "
                "pass a state that reset or step of the same environment returned"
            )
        self._restore(state)
        if num_replayed:
            self.reset(state)
            for played in range(num_replayed - 1):
                strength = row[_STRENGTHS + played : _STRENGTHS + played + 1].view(np.float32)
                self.act(row[_ACTIONS + played].item(), strength.item())

    def store(self, row: NDArray) -> None:
        """Write the state into a row."""
        state = self._serialized()
        self._is_unfinished = is_unfinished(state)
        if self.ale.getEpisodeFrameNumber() > _MAX_REPLAYED:
            self._base = None
        row[:] = 0
        if self._base is not None:
            state = self._base
            row[_NUM_REPLAYED] = 1 + len(self._replayed)
            for played, (action, strength) in enumerate(self._replayed):
                row[_ACTIONS + played] = action
                row[_STRENGTHS + played] = np.float32(strength).view(np.uint32)
        row[_SIZE] = len(state)
        row.view(np.uint8)[4 * _HEADER : 4 * _HEADER + len(state)] = np.frombuffer(state, np.uint8)
        row[_CHECKSUM] = zlib.crc32(row[1:].tobytes(), self._seed)
        self._held, self.checksum = row.tobytes(), row[_CHECKSUM].item()

    def _serialized(self) -> bytes:
        state: bytes = self.ale.cloneState().serialize()
        return state

    def _restore(self, state: bytes) -> None:
        """Restore a state that ALE has serialized, and what it lacks."""
        self._held, self.checksum, self._base = b"", -1, None
        prepared = self._middle_of_frame if is_unfinished(state) else self._end_of_frame
        if self._is_unfinished:
            self._play_once(self._end_of_frame.of(state))
        self._play_once(prepared.of(state))
        self._is_unfinished = prepared is self._middle_of_frame
        self.ale.restoreState(self._state_of(state))

    def _play_once(self, state: bytes) -> None:
        self.ale.restoreState(self._state_of(state))
        self.ale.act(0)
