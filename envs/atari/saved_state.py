"""ALE's serialized states, and states that give an emulator the few things which those lack.

A serialized state is a sequence of 32-bit integers and of strings, each after its length. The parts that matter here:

    6 integers of ALE | length | md5 | "System" cycles, random numbers | "M6502..." registers | "M6532" memory |
    "TIA" registers | "TIASound" ... | cartridge | score and lives

Two things are missing from it (in ale-py 0.12):

- The TIA, the chip that draws, computes where its five moving objects appear in a line when a program writes to
  certain registers. An emulator that restores a state keeps its own objects until the program does.
- ALE plays a frame until the program asks for the next one, or for 25,000 instructions. An unfinished frame is
  continued by the next one. An emulator that restores a state continues what it did before. The status of the
  processor, which is saved, tells whether a frame was finished.

A `Preparation` is a state whose next frame sets both. In it, the processor is about to run a short program in the
memory of the console. The program writes the registers as the state to be restored has them. Then it either asks for
the next frame, or waits until 25,000 instructions are over. The state proper is restored after that frame.
"""

from __future__ import annotations

_INTEGER = 4  # bytes
_INNER_LENGTH = 6 * _INTEGER  # place of the length of all that follows the integers of ALE
_RAM_ADDRESS = 0x80  # first address of the memory of the console

# Numbers of integers after the name of a part.
_PROGRAM_COUNTER, _STATUS = 5, 13  # of "M6502"
_RAM = 1  # "M6532": the size of the memory comes first
_STOPPED = 1  # bit of the status: the program has asked for the next frame

# Bytes after the name "TIA": the registers for sizes and copies of the objects, and their columns.
_MASK_REGISTERS = (11 * _INTEGER, 12 * _INTEGER, 17 * _INTEGER)
_POSITIONS = slice(41 * _INTEGER, 46 * _INTEGER)

# Instructions of the processor, and addresses of the TIA.
_LOAD, _STORE, _JUMP = 0xA9, 0x85, 0x4C
_MASK_ADDRESSES = (0x04, 0x05, 0x0A)  # of `_MASK_REGISTERS`
_VSYNC_ADDRESS, _WSYNC_ADDRESS = 0x00, 0x02  # begin and end the gap between frames; wait for the end of the line
_END_OF_FRAME = bytes(
    [_LOAD, 2, _STORE, _VSYNC_ADDRESS, _STORE, _WSYNC_ADDRESS, _STORE, _WSYNC_ADDRESS, _LOAD, 0, _STORE, _VSYNC_ADDRESS]
)


def is_unfinished(state: bytes) -> bool:
    """Return whether the last frame before a state has not ended, so that the next one continues it."""
    return not _integer(state, _fields(state, b"M6502") + _STATUS * _INTEGER) & _STOPPED


class Preparation:
    """A state to play for one frame before another one is restored.

    Args:
        state: any state of the same game that is not over.
        ends: whether the frame ends; otherwise the next one continues it.
    """

    def __init__(self, state: bytes, ends: bool) -> None:
        self._bytes = _without_random_numbers(state)
        ram = _fields(self._bytes, b"M6532") + _RAM * _INTEGER
        program = b"".join(bytes([_LOAD, 0, _STORE, address]) for address in _MASK_ADDRESSES)
        program += _END_OF_FRAME if ends else b""
        program += bytes([_JUMP, _RAM_ADDRESS + len(program), 0])  # wait for the end of the frame
        for index, byte in enumerate(program):
            _write(self._bytes, ram + _INTEGER * index, byte)
        _write(self._bytes, _fields(self._bytes, b"M6502") + _PROGRAM_COUNTER * _INTEGER, _RAM_ADDRESS)
        self._values = [ram + _INTEGER * (4 * index + 1) for index in range(len(_MASK_ADDRESSES))]
        self._positions = _fields(self._bytes, b"TIA") + _POSITIONS.start

    def of(self, state: bytes) -> bytes:
        """Return the preparation of a state, as ALE serializes it."""
        tia = _fields(state, b"TIA")
        for place, register in zip(self._values, _MASK_REGISTERS, strict=True):
            self._bytes[place] = state[tia + register]
        positions = state[tia + _POSITIONS.start : tia + _POSITIONS.stop]
        self._bytes[self._positions : self._positions + len(positions)] = positions
        return bytes(self._bytes)


def _without_random_numbers(state: bytes) -> bytearray:
    """Return a state that is restored five times as fast, and must not be played for longer than a frame.

    ALE writes its generator of random numbers, which games read at a reset only, as text of nearly seven kilobytes.
    """
    place = _random_numbers(state)
    size = _integer(state, place)
    short = bytearray(state[:place] + bytes(_INTEGER) + state[place + _INTEGER + size :])
    _write(short, _INNER_LENGTH, _integer(state, _INNER_LENGTH) - size)
    return short


def _random_numbers(state: bytes | bytearray) -> int:
    """Return the place of the length of the random numbers."""
    return state.index(b"System") + len(b"System") + _INTEGER


def _fields(state: bytes | bytearray, name: bytes) -> int:
    """Return where the integers of a part begin, whose name begins with `name`."""
    numbers = _random_numbers(state)
    place = state.index(name, numbers + _INTEGER + _integer(state, numbers))
    return place + _integer(state, place - _INTEGER)


def _integer(state: bytes | bytearray, place: int) -> int:
    return int.from_bytes(state[place : place + _INTEGER], "little", signed=True)


def _write(state: bytearray, place: int, value: int) -> None:
    state[place : place + _INTEGER] = value.to_bytes(_INTEGER, "little", signed=True)
