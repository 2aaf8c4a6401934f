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

`preparation` returns a state whose next frame sets both. In it, the processor is about to run a short program in the
memory of the console. The program writes the registers as the state to be restored has them. Then it either asks for
the next frame, or waits until 25,000 instructions are over. The state proper is restored after that frame.
"""

from __future__ import annotations

import struct

_INTEGER = 4  # bytes
_INNER_LENGTH = 6 * _INTEGER  # place of the length of all that follows the integers of ALE
_RAM_ADDRESS = 0x80  # first address of the memory of the console

# Numbers of integers after the name of a part.
_PROGRAM_COUNTER, _STATUS = 5, 13  # of "M6502"
_RAM = 1  # "M6532": the size of the memory comes first
_NUSIZ0, _NUSIZ1, _CTRLPF = 11, 12, 17  # of "TIA": sizes and copies of the objects
_POSITIONS = slice(41, 46)  # columns of the objects
_STOPPED = 1  # bit of the status: the program has asked for the next frame

# Instructions of the processor, and addresses of the TIA.
_LOAD, _STORE, _JUMP = 0xA9, 0x85, 0x4C
_VSYNC_ADDRESS, _WSYNC_ADDRESS, _NUSIZ0_ADDRESS, _NUSIZ1_ADDRESS, _CTRLPF_ADDRESS = 0x00, 0x02, 0x04, 0x05, 0x0A
_END_OF_FRAME = bytes(
    [_LOAD, 2, _STORE, _VSYNC_ADDRESS, _STORE, _WSYNC_ADDRESS, _STORE, _WSYNC_ADDRESS, _LOAD, 0, _STORE, _VSYNC_ADDRESS]
)


def is_unfinished(state: bytes) -> bool:
    """Return whether the last frame before a state has not ended, so that the next one continues it."""
    return not _integer(state, _fields(state, b"M6502") + _STATUS * _INTEGER) & _STOPPED


def without_random_numbers(state: bytes) -> bytes:
    """Return a state that is restored five times as fast, and must not be played for longer than a frame.

    ALE writes its generator of random numbers, which games read at a reset only, as text of nearly seven kilobytes.
    """
    place = _fields(state, b"System") + _INTEGER
    size = _integer(state, place)
    short = bytearray(state[:place] + bytes(_INTEGER) + state[place + _INTEGER + size :])
    _write(short, _INNER_LENGTH, _integer(state, _INNER_LENGTH) - size)
    return bytes(short)


def preparation(template: bytes, state: bytes, ends: bool) -> bytes:
    """Return a state to play for one frame before `state` is restored.

    Args:
        template: any state of the same game that is not over.
        state: the state that will be restored.
        ends: whether the frame ends; otherwise the next one continues it.
    """
    tia = _fields(state, b"TIA")
    positions = slice(*(tia + _INTEGER * index for index in (_POSITIONS.start, _POSITIONS.stop)))
    prepared = bytearray(template)
    start = _fields(template, b"TIA") + _INTEGER * _POSITIONS.start
    prepared[start : start + positions.stop - positions.start] = state[positions]
    nusiz0, nusiz1, ctrlpf = (state[tia + _INTEGER * index] for index in (_NUSIZ0, _NUSIZ1, _CTRLPF))
    program = _program(nusiz0, nusiz1, ctrlpf, ends)
    ram = _fields(template, b"M6532") + _RAM * _INTEGER
    prepared[ram : ram + _INTEGER * len(program)] = struct.pack(f"<{len(program)}i", *program)
    _write(prepared, _fields(template, b"M6502") + _PROGRAM_COUNTER * _INTEGER, _RAM_ADDRESS)
    return bytes(prepared)


def _program(nusiz0: int, nusiz1: int, ctrlpf: int, ends: bool) -> bytes:
    writes = ((nusiz0, _NUSIZ0_ADDRESS), (nusiz1, _NUSIZ1_ADDRESS), (ctrlpf, _CTRLPF_ADDRESS))
    program = b"".join(bytes([_LOAD, value, _STORE, address]) for value, address in writes)
    program += _END_OF_FRAME if ends else b""
    return program + bytes([_JUMP, _RAM_ADDRESS + len(program), 0])  # wait for the end of the frame


def _fields(state: bytes, name: bytes) -> int:
    """Return where the integers of a part begin, whose name begins with `name`."""
    place = state.index(name)
    return place + _integer(state, place - _INTEGER)


def _integer(state: bytes, place: int) -> int:
    return int.from_bytes(state[place : place + _INTEGER], "little", signed=True)


def _write(state: bytearray, place: int, value: int) -> None:
    state[place : place + _INTEGER] = value.to_bytes(_INTEGER, "little", signed=True)
