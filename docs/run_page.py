"""Run the code of a documentation page: `python docs/run_page.py docs/guides/scaling.md`.

The blocks of a page run from top to bottom in one namespace, in an empty folder:

    python    plain code, in which asserts check what the text claims
    pycon     an interpreter session (>>>), whose output must be what is shown, as in a docstring
    sh        a shell command; run if the page says `<!-- shell: run -->`, read only if `<!-- shell: read -->`

`<!-- environment: NAME=value -->` on a page runs all of it in a process of its own with that variable. Blocks in other
languages (text, toml, ...) are not run. tests/docs/test_pages.py does this with every page.
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
from typing import Any, NamedTuple

_FENCE = re.compile(r"^```([\w.-]*)[^\n]*\n(.*?)^```[ ]*$", flags=re.DOTALL | re.MULTILINE)
_MARKER = re.compile(r"^<!-- (shell|environment): (\S+) -->$", flags=re.MULTILINE)
_MODULE = "funcenv_docs_page"
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block: its language, its text and the number of its first line."""

    language: str
    text: str
    line: int


class PageError(Exception):
    """A page whose blocks cannot be run, or do not do what they show."""


def blocks(page: pathlib.Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = page.read_text()
    return [Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1) for match in _FENCE.finditer(text)]


def markers(page: pathlib.Path) -> dict[str, str]:
    """What a page says about how it is run: `{"shell": "run", "environment": "NAME=value"}`."""
    return {match[1]: match[2] for match in _MARKER.finditer(page.read_text())}


def run_page(page: pathlib.Path) -> dict[str, Any]:
    """Run every block of a page in the present folder; returns the names that its Python defined."""
    shell = markers(page).get("shell")
    module = sys.modules[_MODULE] = types.ModuleType(_MODULE)  # dataclasses look their module up
    names = vars(module)
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text  # so that a traceback shows the line of the page
            exec(compile(source, str(page), "exec"), names)
        elif block.language == "pycon":
            _run_session(page, block, names)
        elif block.language == "sh":
            if shell not in ("run", "read"):
                raise PageError(
                    f"{page}:{block.line} is a shell block; say <!-- shell: run --> or <!-- shell: read -->"
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
