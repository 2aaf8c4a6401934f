"""The pages of the environments, made of the registry, the docstrings and the comments in the source.

mkdocs calls this while it builds (`hooks:` in mkdocs.yml): a page for each class, and the table of docs/environments/
index.md in the place of `<!-- table -->`. Nothing is written into docs/. The film of the newest id that has one,
`docs/assets/gallery/ID.gif`, is shown at the top of a page.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import math
import pathlib
import re
from types import ModuleType
from typing import Any

import funcenv
from funcenv.registry import load_entry_points

DOCS = pathlib.Path(__file__).parent


def _beside(name: str) -> ModuleType:
    """A file of this folder as a module; the folder is no package."""
    where = importlib.util.spec_from_file_location(f"funcenv_docs_{name}", DOCS / f"{name}.py")
    assert where is not None and where.loader is not None
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    return module


_docstrings = _beside("docstrings")

_SECTION = re.compile(r"^(Observation|Action|Reward|Termination|Initial state|Info): ", flags=re.MULTILINE)
_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", flags=re.MULTILINE)
_REST = re.compile(r"^(Args|Raises|>>>)", flags=re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Page:
    """One environment: its class, the ids that name it, and where its page goes."""

    build: Any
    specs: tuple[funcenv.EnvSpec, ...]

    @property
    def name(self) -> str:
        """Of the file, without ending."""
        return inspect.getmodule(self.build).__name__.rpartition(".")[2]  # type: ignore[union-attr]

    @property
    def family(self) -> str:
        """The package it is in, as a title."""
        return str(self.build.__module__.split(".")[-2]).replace("_", " ").capitalize()


def pages() -> list[Page]:
    """A page for each class that ids of this package name, in the order of registration."""
    load_entry_points()
    found: dict[Any, list[funcenv.EnvSpec]] = {}
    for spec in funcenv.registry.values():
        if str(spec.entry_point).startswith("funcenv.envs."):
            found.setdefault(spec.load(), []).append(spec)
    return [Page(build, tuple(specs)) for build, specs in found.items()]


def page_text(page: Page) -> str:
    """A page in Markdown."""
    module = inspect.getmodule(page.build)
    title, sections, example = _parts(page.build)
    parts = [f"# {title}", _picture(page), _docstrings.escaped(inspect.getdoc(module) or "")]
    parts += ["## Ids", _ids(page), "## Spaces and rewards", _spaces(page)]
    parts += [f"**{name}:** {_docstrings.escaped(text)}" for name, text in sections]
    parts += ["## Parameters", _parameters(page.build)]
    state = getattr(module, f"{page.build.__name__}State", None)
    parts += [] if state is None else ["## State", _state(state)]
    parts += ["## In Python", f"```pycon\n{example}\n```", _links(page)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table() -> str:
    """Every environment in a line."""
    rows = ["| environment | ids | observation | action | limit | solved at |", "|---|---|---|---|---|---|"]
    for page in pages():
        env = page.specs[0].make()
        ids = ", ".join(f"`{spec.id}`" for spec in page.specs)
        limits = _distinct(_or_dash(spec.max_episode_steps) for spec in page.specs)
        thresholds = _distinct(_or_dash(spec.reward_threshold) for spec in page.specs)
        spaces = f"`{_short(env.observation_space)}` | `{_short(env.action_space)}`"
        rows.append(f"| [{_parts(page.build)[0]}]({page.name}.md) | {ids} | {spaces} | {limits} | {thresholds} |")
    return "\n".join(rows)


def on_config(config: Any) -> Any:
    """mkdocs: put the pages into the navigation, by family."""
    section = next(entry["Environments"] for entry in config.nav if "Environments" in entry)
    families: dict[str, list[dict[str, str]]] = {}
    for page in pages():
        families.setdefault(page.family, []).append({_parts(page.build)[0]: f"environments/{page.name}.md"})
    section += [{family: entries} for family, entries in families.items()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """mkdocs: add the pages."""
    from mkdocs.structure.files import File

    for page in pages():
        files.append(File.generated(config, f"environments/{page.name}.md", content=page_text(page)))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """mkdocs: put the table where it belongs."""
    del kwargs
    return markdown.replace("<!-- table -->", table()) if page.file.src_uri == "environments/index.md" else markdown


def _parts(build: Any) -> tuple[str, list[tuple[str, str]], str]:
    """Of a class's docstring: the title, the sections, and the example."""
    text = inspect.getdoc(build) or ""
    described = text[: match.start()] if (match := _REST.search(text)) else text
    starts = [*_SECTION.finditer(described)]
    ends = [*(match.start() for match in starts[1:]), len(described)]
    sections = [(match[1], _unindented(described[match.end() : end])) for match, end in zip(starts, ends, strict=True)]
    example = text[text.index(">>>") :] if ">>>" in text else ""
    if f"import {build.__name__}" not in example:
        example = f">>> from funcenv.envs import {build.__name__}\n{example}"
    return text.splitlines()[0].rstrip("."), sections, example


def _unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _picture(page: Page) -> str:
    for spec in reversed(page.specs):
        name = f"{spec.id.replace('/', '-')}.gif"
        if (DOCS / "assets" / "gallery" / name).exists():
            return f"![{spec.id}](../assets/gallery/{name}){{ .film }}"
    return ""


def _ids(page: Page) -> str:
    rows = ["| id | time limit | solved at a mean return of | made with |", "|---|---|---|---|"]
    for spec in page.specs:
        made = ", ".join(f"`{name}={value!r}`" for name, value in spec.kwargs.items()) or "the defaults below"
        rows.append(f"| `{spec.id}` | {_limit(spec)} | {_or_dash(spec.reward_threshold)} | {made} |")
    return "\n".join(rows)


def _spaces(page: Page) -> str:
    rows = ["| id | observation space | action space | reward of a step |", "|---|---|---|---|"]
    for spec in page.specs:
        env = spec.make()
        low, high = (f"{bound:g}" if math.isfinite(bound) else str(bound) for bound in env.reward_range)
        reward = low if low == high else f"{low} to {high}"
        rows.append(f"| `{spec.id}` | `{env.observation_space}` | `{env.action_space}` | {reward} |")
    return "\n".join(rows)


def _parameters(build: Any) -> str:
    meanings = {**_docstrings.field_comments(build), **_arguments(build)}
    rows = ["| parameter | default | meaning |", "|---|---|---|"]
    for entry in dataclasses.fields(build):
        meaning = meanings.get(entry.name) or (meanings.get("low", "") if entry.name == "high" else "")
        fixed = "" if entry.metadata.get("pytree_node", True) else "*compile-time choice*"
        shown = "; ".join(part for part in (_docstrings.escaped(meaning), fixed) if part)
        rows.append(f"| `{entry.name}` | `{_number(entry.default)}` | {shown} |")
    return "\n".join(rows)


def _arguments(build: Any) -> dict[str, str]:
    """What the docstring says about single parameters."""
    _, found, listed = (inspect.getdoc(build) or "").partition("\nArgs:\n")
    text = re.split(r"^\S", listed, maxsplit=1, flags=re.MULTILINE)[0] if found else ""
    return {match[1]: " ".join(match[2].split()).rstrip(".") for match in _ARGUMENT.finditer(text)}


def _state(state: Any) -> str:
    comments = _docstrings.field_comments(state)
    rows = [
        f"`{state.__name__}`: {(inspect.getdoc(state) or '').splitlines()[0]}",
        "",
        "| field | meaning |",
        "|---|---|",
    ]
    rows += [
        f"| `{entry.name}` | {_docstrings.escaped(comments.get(entry.name, ''))} |"
        for entry in dataclasses.fields(state)
    ]
    return "\n".join(rows)


def _links(page: Page) -> str:
    path = page.build.__module__.removeprefix("funcenv.").replace(".", "/")
    return f"The class is [`funcenv.envs.{page.build.__name__}`][]; its source is `{path}.py`."


def _short(space: Any) -> str:
    """A space without its bounds."""
    return f"Box{space.shape} {space.dtype}" if isinstance(space, funcenv.spaces.Box) else str(space)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) and len(repr(value)) > 8 else repr(value)


def _limit(spec: funcenv.EnvSpec) -> str:
    return "none" if spec.max_episode_steps is None else f"{spec.max_episode_steps} steps"


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _distinct(texts: Any) -> str:
    return ", ".join(dict.fromkeys(texts))
