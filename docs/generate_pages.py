"""Pages generated from other sources: the help of the command line, the changelog, and the guide for contributors.

mkdocs calls `on_files` and `on_page_markdown` while it builds the site (`hooks:` in mkdocs.yml).
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
from typing import Any
from unittest import mock

from funcenv import cli

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = "96"  # columns of the terminal for which the help is formatted


def help_text(command: str) -> str:
    """Return the output of `funcenv COMMAND --help`."""
    shown = io.StringIO()
    plain = {"COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}
    with mock.patch.dict(os.environ, plain), contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            status = cli.main([command, "--help"])
        except SystemExit as left:
            status = int(left.code or 0)
    if status:
        raise RuntimeError(f"funcenv {command} --help exits with {status}:\n{shown.getvalue()}")
    return "\n".join(line.rstrip() for line in shown.getvalue().strip().splitlines())


def cli_reference() -> str:
    """Return a section for each command, with its help."""
    return "\n\n".join(f"## funcenv {name}\n\n```text\n{help_text(name)}\n```" for name in cli.COMMANDS)


def exit_statuses() -> str:
    """Return a table of the exit statuses of all commands."""
    rows = [f"| {status} | {meaning} |" for status, meaning in cli.EXIT_STATUSES.items()]
    return "\n".join(["| status | meaning |", "|---|---|", *rows])


def command_table() -> str:
    """Return a table of the commands."""
    rows = [f"| [`{one.usage}`](#funcenv-{one.name}) | {one.summary} |" for one in cli.COMMANDS.values()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def site_links(text: str) -> str:
    """Return the text of a file at the top of the repository with the links that it needs in docs/.

    >>> site_links("[style](docs/style.md), [licence](LICENSE)")
    '[style](style.md), licence'
    >>> site_links("## [0.1.0] - 2026-11-22")  # the brackets of Keep a Changelog
    '## 0.1.0 - 2026-11-22'
    """
    text = re.sub(r"^## \[([^\]]+)\](?!\()", r"## \1", text, flags=re.MULTILINE)
    text = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|[\w/]+\.md)[^)]+\)", r"\1", text)


def on_files(files: Any, config: Any) -> Any:
    """Add the changelog and the guide for contributors (called by mkdocs)."""
    from mkdocs.structure.files import File

    for name in "changelog", "contributing":
        text = site_links((ROOT / f"{name.upper()}.md").read_text())
        files.append(File.generated(config, f"{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Replace the markers of the page of the command line (called by mkdocs)."""
    del kwargs
    if page.file.src_uri == "cli.md":
        made = {"table": command_table, "statuses": exit_statuses, "commands": cli_reference}
        for name, text in made.items():
            markdown = markdown.replace(f"<!-- {name} -->", text())
    return markdown
