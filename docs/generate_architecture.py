"""The diagram of the layers and the map of the modules on docs/architecture.md, made from docs/layers.toml.

mkdocs calls `on_page_markdown` while it builds the site (`hooks:` in mkdocs.yml). tests/static/test_imports.py
enforces the same table, so the diagram cannot differ from the code.
"""

from __future__ import annotations

import ast
import html
import pathlib
import re
import tomllib
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load_layers() -> list[dict[str, Any]]:
    """Return the layers from the bottom to the top, each with its `name`, `about` and `modules`."""
    layers: list[dict[str, Any]] = tomllib.loads((ROOT / "docs" / "layers.toml").read_text())["layer"]
    return layers


def diagram() -> str:
    """Return the layers as HTML, the highest first; assets/site.css draws it in both colour schemes."""
    rows = []
    for layer in reversed(load_layers()):
        modules = "".join(
            f'<li title="{html.escape(_summary(module), quote=True)}"><code>{_short(module)}</code></li>'
            for module in layer["modules"]
        )
        rows.append(
            f'<div class="layer layer-{_folder(layer["modules"][0])}">'
            f"<div><strong>{html.escape(layer['name'].capitalize())}</strong>"
            f"<span>{html.escape(layer['about'])}</span></div><ul>{modules}</ul></div>"
        )
    arrow = '<p class="layers-arrow">Imports point down: a module may import its own layer and every layer below.</p>'
    return f'<div class="layers">{"".join(rows)}{arrow}</div>'


def module_table() -> str:
    """Return a table of every module of the layers with the first sentence of its docstring, the lowest layer first."""
    rows = ["| layer | module | what it holds |", "|---|---|---|"]
    for layer in load_layers():
        for i, module in enumerate(layer["modules"]):
            name = layer["name"] if i == 0 else ""
            summary = re.sub(r"([|\[\]])", r"\\\1", _summary(module))
            rows.append(f"| {name} | `{module}` | {summary} |")
    return "\n".join(rows)


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Replace the markers of the architecture page (called by mkdocs)."""
    del kwargs
    if page.file.src_uri == "architecture.md":
        markdown = markdown.replace("<!-- layers -->", diagram()).replace("<!-- modules -->", module_table())
    return markdown


def _folder(module: str) -> str:
    """Return which of the three source folders a module is in."""
    match = re.match(r"funcenv\.(envs|adapters)\b", module)
    return match[1] if match else "funcenv"


def _short(module: str) -> str:
    return module.removeprefix("funcenv.")


def _summary(module: str) -> str:
    """Return the first sentence of a module's docstring."""
    path = ROOT.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = (ast.get_docstring(ast.parse(source.read_text())) or "").partition("\n\n")[0]
    return " ".join(text.split())
