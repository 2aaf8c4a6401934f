"""Runs the code of a documentation page: `python docs/run_page.py docs/guides/scaling.md`.

The blocks of a page run from top to bottom in one namespace, in an empty folder. The language of a block decides how:

    python    plain code, in which `assert` checks what the text claims
    pycon     an interpreter session (>>>); its output must be the output on the page
    sh        a shell command; it runs if the page contains `<!-- shell: run -->`, and not if `<!-- shell: read -->`

Blocks in other languages (text, toml, ...) are not run. A page that contains `<!-- environment: NAME=value -->` runs in
a process of its own with that environment variable. tests/docs/test_pages.py runs every page in this way.
"""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

_FENCE = re.compile(r"^```([\w.-]*)[^\n]*\n(.*?)^```[ ]*$", flags=re.DOTALL | re.MULTILINE)
_MARKER = re.compile(r"^<!-- (shell|environment): (\S+) -->$", flags=re.MULTILINE)
_MODULE = "funcenv_docs_page"
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block: its language, its text and its first line number."""

    language: str
    text: str
    line: int


class PageError(Exception):
    """A block of a page that cannot run, or whose output differs from the page."""


def blocks(page: pathlib.Path) -> list[Block]:
    """Return every fenced block of a page, in order."""
    text = page.read_text()
    return [Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1) for match in _FENCE.finditer(text)]


def markers(page: pathlib.Path) -> dict[str, str]:
    """Return the markers of a page, such as `{"shell": "run", "environment": "NAME=value"}`."""
    return {match[1]: match[2] for match in _MARKER.finditer(page.read_text())}


def run_page(
    page: pathlib.Path, around: Callable[[Block], AbstractContextManager[Any]] = lambda block: nullcontext()
) -> dict[str, Any]:
    """Run every block of a page in the current folder, and return the names that its Python code defines.

    Args:
        page: the page.
        around: gives the context in which a block of plain Python runs.
    """
    shell = markers(page).get("shell")
    module = sys.modules[_MODULE] = types.ModuleType(_MODULE)  # dataclasses look up their module
    names = vars(module)
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text  # a traceback then has the page's line numbers
            with around(block):
                exec(compile(source, str(page), "exec"), names)
        elif block.language == "pycon":
            _run_session(page, block, names)
        elif block.language == "sh":
            if shell not in ("run", "read"):
                raise PageError(
                    f"{page}:{block.line} is a shell block; add <!-- shell: run --> or <!-- shell: read --> to the page"
                )
            if shell == "run":
                _run_shell(page, block)
    return names


def _run_session(page: pathlib.Path, block: Block, names: dict[str, Any]) -> None:
    report: list[str] = []
    parsed = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line - 1)
    parsed.globs = names  # shared with the other blocks
    doctest.DocTestRunner(verbose=False, optionflags=_FLAGS).run(parsed, out=report.append, clear_globs=False)
    if report:
        raise PageError("".join(report))


def _run_shell(page: pathlib.Path, block: Block) -> None:
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = ["bash", "-euo", "pipefail", "-c", block.text]
    result = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if result.returncode:
        raise PageError(f"{page}:{block.line} exits with {result.returncode}:\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    wanted = [pathlib.Path(argument).resolve() for argument in sys.argv[1:]]
    for one in wanted:
        environment = markers(one).get("environment")
        if environment and environment.partition("=")[0] not in os.environ:
            os.environ.update([environment.split("=", 1)])
            os.execv(sys.executable, [sys.executable, __file__, *map(str, wanted)])
    for one in wanted:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run_page(one)
        print(f"{one}: {len(blocks(one))} blocks")
