"""The contents of a program that XLA has compiled for an accelerator: kernels, bytes, loops and collectives."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

NO_KERNELS = {"get-tuple-element", "tuple", "parameter", "constant", "bitcast", "while", "conditional", "call"}
"""The operations that no kernel computes."""

COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter")

_START = re.compile(r"(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_OPERATION = re.compile(r" = (\((?:[^()]|\([^()]*\))*\)|\S+) ([\w\-]+)\(")
_COLLECTIVE = re.compile(rf" = (.*?) ({'|'.join(COLLECTIVES)})(?:-start)?\(")
_REFERENCE = re.compile(r"%([\w.\-]+)")
_ARRAY = re.compile(r"\b(pred|[a-z]+?)(\d*)\[([\d,]*)\]")


class Operation(NamedTuple):
    """A line of a program."""

    shapes: str  # of its results
    name: str  # of the operation
    line: str


class Loop(NamedTuple):
    """A loop of a program."""

    body: str  # name of its computation
    trips: int | None  # how often it runs, None if XLA does not know


class Collective(NamedTuple):
    """An operation by which devices exchange data."""

    kind: str  # one of `COLLECTIVES`
    num_bytes: int  # size of its result on one device
    computation: str  # the loop's body, or what else it is in


class Program:
    """A compiled program, read from its text.

    Args:
        compiled: what `jax.jit(...).lower(...).compile()` returns.
    """

    def __init__(self, compiled: Any) -> None:
        self.computations: dict[str, list[str]] = {}
        self.entry = ""
        lines: list[str] = []
        for line in compiled.as_text().splitlines():
            if start := _START.match(line):
                self.entry = start.group(1) if line.startswith("ENTRY") else self.entry
                lines = self.computations[start.group(1)] = []
            else:
                lines.append(line)

    def loops(self, computation: str | None = None) -> list[Loop]:
        """Return the loops of a computation with its branches and calls, or those of the whole program."""
        lines = self.lines(computation) if computation else [line for all in self.computations.values() for line in all]
        found = []
        for line in lines:
            if body := re.search(r" while\(.*body=%?([\w.\-]+)", line):
                trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
                found.append(Loop(body.group(1), int(trips.group(1)) if trips else None))
        return found

    def main_loop(self) -> Loop:
        """Return the loop with the most kernels among those that are in no other loop: that over steps, or updates."""
        return max(self.loops(self.entry), key=lambda loop: len(self.lines(loop.body)))

    def computations_of(self, computation: str) -> set[str]:
        """Return a computation and all that it refers to: loops, branches, calls and fusions."""
        found, left = set(), [computation]
        while left:
            name = left.pop()
            if name in self.computations and name not in found:
                found.add(name)
                left += [used for line in self.computations[name] for used in _REFERENCE.findall(line)]
        return found

    def lines(self, computation: str) -> list[str]:
        """Return the lines of a computation with those of its branches and calls, but not of its loops."""
        lines = list(self.computations[computation])
        for line in self.computations[computation]:
            what = operation(line)
            if what and what.name in ("conditional", "call"):
                branches = re.search(r"branch_computations=\{([^}]*)\}", line)
                names = branches.group(1).split(", ") if branches else re.findall(r"_computation=%?([\w.\-]+)", line)
                called = names or re.findall(r"to_apply=%?([\w.\-]+)", line)
                lines += [more for name in called for more in self.lines(name.lstrip("%"))]
        return lines

    def kernels(self, computation: str) -> list[Operation]:
        """Return what becomes kernels in a computation, its branches and its calls."""
        found = map(operation, self.lines(computation))
        return [what for what in found if what and what.name not in NO_KERNELS]

    def traffic(self, computation: str) -> int:
        """Return the bytes that the kernels of a computation read and write; each operand and result counts once."""
        kinds = {}
        for line in self.lines(computation):
            if what := operation(line):
                kinds[line.split(" = ")[0].split()[-1].lstrip("%")] = what.shapes
        total = 0
        for kernel in self.kernels(computation):
            operands = re.search(r" [\w\-]+\((.*?)\)(?:,|$)", kernel.line.split(" = ", 1)[1])
            names = re.findall(r"%([\w.\-]+)", operands.group(1)) if operands else []
            total += sum(num_bytes(kinds.get(name, "")) for name in names) + num_bytes(kernel.shapes)
        return total

    def collectives(self) -> list[Collective]:
        """Return the operations by which devices exchange data, and the computations that hold them."""
        return [
            Collective(kind, num_bytes(shapes), name)
            for name, lines in self.computations.items()
            for line in lines
            for shapes, kind in _COLLECTIVE.findall(line)
        ]


def operation(line: str) -> Operation | None:
    """Return the operation in a line, if there is one.

    >>> operation("  %fusion.1 = f32[4]{0} fusion(%x), kind=kLoop")[:2]
    ('f32[4]{0}', 'fusion')
    """
    match = _OPERATION.search(line)
    return Operation(match.group(1), match.group(2), line) if match else None


def num_bytes(shapes: str) -> int:
    """Return the size of all arrays in a type of XLA.

    >>> num_bytes("(f32[2,3]{1,0}, pred[5], u8[])")
    30
    """
    total = 0
    for kind, bits, dims in _ARRAY.findall(shapes):
        count = math.prod(int(size) for size in dims.split(",") if size)
        total += count * (1 if kind == "pred" else max(int(bits or 0), 8) // 8)
    return total
