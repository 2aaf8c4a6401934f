"""Docstrings of environments, read for the pages of the site.

The docstring of a class has a title, sections such as `Observation: ...`, perhaps `Args:`, and an example.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import docstrings

import funcenv

_OTHER = re.compile(r"\w+ `\[\d+\]`: that of `(\w+)`\.")
_SECTION = re.compile(r"^(Observation|Action|Reward|Termination|Initial state|Info): ", flags=re.MULTILINE)
_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", flags=re.MULTILINE)
_REST = re.compile(r"^(Args|Raises|>>>)", flags=re.MULTILINE)


def parse_docstring(build: Any) -> tuple[str, list[tuple[str, str]], str]:
    """Return the title, the sections and the example of a class's docstring.

    A section "float32 `[17]`: that of `Humanoid`." is the section of that name in the docstring of another environment.
    """
    text = inspect.getdoc(build) or ""
    described = text[: match.start()] if (match := _REST.search(text)) else text
    starts = [*_SECTION.finditer(described)]
    ends = [*(match.start() for match in starts[1:]), len(described)]
    sections = [(match[1], unindent(described[match.end() : end])) for match, end in zip(starts, ends, strict=True)]
    for index, (name, section) in enumerate(sections):
        if match := _OTHER.fullmatch(section.strip()):
            sections[index] = name, dict(parse_docstring(getattr(funcenv.envs, match[1]))[1])[name]
    example = text[text.index(">>>") :] if ">>>" in text else ""
    if f"import {build.__name__}" not in example:
        example = f">>> from funcenv.envs import {build.__name__}\n{example}"
    return text.splitlines()[0].rstrip("."), sections, example


def arguments(build: Any) -> dict[str, str]:
    """Return the entries of the `Args:` section of a class's docstring, by parameter."""
    _, found, listed = (inspect.getdoc(build) or "").partition("\nArgs:\n")
    text = re.split(r"^\S", listed, maxsplit=1, flags=re.MULTILINE)[0] if found else ""
    return {match[1]: " ".join(match[2].split()).rstrip(".") for match in _ARGUMENT.finditer(text)}


def state_comments(build: Any) -> dict[str, str]:
    """Return the meanings of the fields of an environment's state."""
    state = getattr(inspect.getmodule(build), f"{build.__name__}State", None)
    return {} if state is None else dict(docstrings.field_comments(state))


def split_list(text: str) -> list[str]:
    """Return the members of the list with which a text begins; commas in brackets and code do not count.

    >>> split_list("cos theta, x [m] in `[a, b]`, bounded by 1. More.")
    ['cos theta', 'x [m] in `[a, b]`']
    """
    hidden = re.sub(r"`[^`]*`|\([^)]*\)", lambda match: "\0" * len(match[0]), " ".join(text.split()))
    end = min(found.start() for stop in (r"[.;](?= |$)", r", bounded", "$") if (found := re.search(stop, hidden)))
    spans = re.finditer(r"(?:, and |, |^)(?:and )?(.*?)(?=, |$)", hidden[:end])
    return [" ".join(text.split())[match.start(1) : match.end(1)] for match in spans]


def split_unit(part: str) -> tuple[str, str]:
    """Return the name and the unit of a member of a list.

    >>> split_unit("position [m] in `[low, high]`"), split_unit("cos theta")
    (('position', 'm'), ('cos theta', ''))
    """
    match = re.fullmatch(r"(.+?)(?: in `.*`)?", re.sub(r" \(\d+( to \d+| or \d+)\)$", "", part))
    assert match is not None
    name, _, unit = match[1].partition(" [")
    return name, unit.partition("]")[0]


def split_count(part: str) -> tuple[str, int]:
    """Return the name of a member of a list, and its count of numbers.

    >>> split_count("velocities `[9]` [m/s]"), split_count("position [m]")
    (('velocities', 9), ('position', 1))
    """
    match = re.fullmatch(r"(.+?) `\[(\d+)\]`(?: \[.*\])?", part)
    return (match[1], int(match[2])) if match else (split_unit(part)[0], 1)


def unindent(text: str) -> str:
    """Return text without the indentation of its lines."""
    return "\n".join(line.strip() for line in text.strip().splitlines())
