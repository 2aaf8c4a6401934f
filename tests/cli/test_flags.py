"""Flags from the fields of dataclasses."""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar, Literal

import pytest

from funcenv.cli.flags import Parser, Word, flags_of, read
from funcenv.cli.table import UsageError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shared:
    """Options with a section of their own."""

    section: ClassVar[str] = "shared"

    limit: int | None = None
    """largest number"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """Do something with files."""

    files: Annotated[tuple[str, ...], Word("FILE")]
    """some files"""
    rate: float = 0.5
    """a rate,
    as 100% of a number"""
    sizes: tuple[int, ...] = (8, 8)
    """sizes"""
    pair: tuple[float, float] = (0.0, 1.0)
    """bounds"""
    kind: Literal["a", "b"] = "a"
    """a kind"""
    is_open: bool = True
    """open it"""
    is_quick: bool = False
    """be quick"""
    wait: bool | None = None
    """wait"""
    params: dict[str, float] = dataclasses.field(default_factory=dict)
    """parameters"""
    function: object = None
    """what no flag can say"""

    def __post_init__(self) -> None:
        if not self.rate >= 0:
            raise ValueError(f"rate must be at least 0, got {self.rate}")


def parsed(line):
    return read("check", Options, ["--no-compile-cache", *line.split()])


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("x", {}),
        ("x y --rate 2e-1", {"files": ("x", "y"), "rate": 0.2}),
        ("--rate -0.0 x", {"rate": 0.0}),
        ("x --limit 100k", {"limit": 100_000}),
        ("x --limit=1e3 --sizes 1e1 2k", {"limit": 1000, "sizes": (10, 2000)}),
        ("x --limit none --sizes", {"sizes": ()}),
        ("x --pair -1e-3 -2", {"pair": (-0.001, -2.0)}),
        (
            "x --no-is-open --is-quick --no-wait --kind b",
            {"is_open": False, "is_quick": True, "wait": False, "kind": "b"},
        ),
        ("x --is-quick --no-is-quick", {}),
        ("x --params g 1.6 flat TRUE map 8x8", {"params": {"g": 1.6, "flat": True, "map": "8x8"}}),
    ],
)
def test_values_are_read_by_type(line, changes):
    assert parsed(line) == dataclasses.replace(Options(files=("x",)), **changes)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "check needs FILE, some files: funcenv check ENV ..."),
        ("x --limit 1.5", "'1.5' is not a whole number; write 1000, 1e3 or 1k"),
        ("x --limit inf", "'inf' is not a whole number"),
        ("x --rate fast", "'fast'"),
        ("x --rate -1", "rate must be at least 0, got -1.0"),
        ("x --kind c", "choose from 'a', 'b'"),
        ("x --pair 1", "--pair: expected 2 arguments"),
        ("x --params g", "takes names and values in turn, got g"),
        ("x --quick", "there is no flag --quick; did you mean --is-quick?"),
        ("x --iq", "there is no flag --iq; did you mean --is-quick?"),
        ("x --function f", "there is no flag --function; funcenv check --help lists the flags"),
        ("x --lim 3", "there is no flag --lim; did you mean --limit?"),
    ],
)
def test_mistakes_are_named(line, message):
    with pytest.raises(UsageError) as caught:
        parsed(line)
    assert message in str(caught.value)


def test_the_help_has_sections_defaults_and_no_types_of_python():
    text = Parser("check", "About.", flags_of(Options)).format_help()
    titles = [line for line in text.splitlines() if line.endswith(":")]
    assert titles == ["arguments:", "shared:", "options:", "general:", "examples:"]
    words = " ".join(text.split())
    for part in ("--rate X a rate, as 100% of a number (default: 0.5)", "--sizes [N ...] sizes (default: 8 8)"):
        assert part in words
    assert "--is-open, --no-is-open open it (default: on)" in words and "--no-is-quick" not in words
    assert "None" not in text and "--function" not in text


def test_defaults_are_those_of_an_instance():
    flags = {flag.name: flag.default for flag in flags_of(Options, Options(files=("x",), limit=3))}
    assert flags["limit"] == 3 and flags["files"] == ("x",)
