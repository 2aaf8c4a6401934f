"""Pages that follow from the registry: one for each environment, their table, the gallery and the API listing.

mkdocs calls the `on_...` functions while it builds the site (`hooks:` in mkdocs.yml). Each class of environments gets a
page of its own, made from its docstring, its registered ids and the comments on its fields. A marker in each of
docs/environments/index.md, docs/gallery.md, docs/zoo.md, docs/zoo_trials.md and docs/api/envs.md is replaced. Nothing
is written into docs/, so a new environment needs no change here: it appears when it is registered.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import struct
from typing import Any

import docstrings
from environment_docstrings import parse_docstring, state_comments
from environment_list import PACKAGE, EnvPage, animated, animation_name, by_family, env_pages, family_title
from environment_tables import (
    action_table,
    distinct,
    ids_table,
    observation_table,
    or_dash,
    parameters_table,
    short,
    spaces_table,
    state_table,
)
from equations import blocks_of, with_equations
from result_tables import agents, aims, returns_table, with_figures, zoo

DOCS = pathlib.Path(__file__).parent


def page_text(page: EnvPage) -> str:
    """Return the page of an environment, in Markdown."""
    module = inspect.getmodule(page.build)
    _, sections, example = parse_docstring(page.build)
    parts = [f"# {page.title}", _animation(page), _introduction(module)]
    parts += ["## Ids and time limits", ids_table(page.specs)]
    parts += ["## Observations, actions and rewards", spaces_table(page.specs)]
    for name, text in sections:
        parts.append(f"**{name}:** {docstrings.escaped(text)}")
        if name == "Observation":
            parts.append(observation_table(page.specs[-1].make(), text, state_comments(page.build)))
        if name == "Action":
            parts.append(action_table(page.specs[-1].make(), text))
    parts += ["## Returns to expect", returns_table(page.specs)]
    parts += ["## Parameters", parameters_table(page.build)]
    state = getattr(module, f"{page.build.__name__}State", None)
    parts += [] if state is None else ["## State", state_table(state)]
    parts += ["## Example", f"```pycon\n{example}\n```", _links(page)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(package: str = PACKAGE) -> str:
    """Return a table for each family, with one row for each environment class."""
    head = ["| environment | ids | observation | action | time limit | solved at |", "|---|---|---|---|---|---|"]
    parts = []
    for family, pages in by_family(package).items():
        rows = [f"## {family}", "", *head]
        for page in pages:
            env = page.specs[0].make()
            ids = ", ".join(f"`{spec.id}`" for spec in page.specs)
            limits = distinct(or_dash(spec.max_episode_steps) for spec in page.specs)
            thresholds = distinct(or_dash(spec.reward_threshold) for spec in page.specs)
            spaces = f"`{short(env.observation_space)}` | `{short(env.action_space)}`"
            rows.append(f"| [{page.title}]({page.name}.md) | {ids} | {spaces} | {limits} | {thresholds} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def gallery(package: str = PACKAGE) -> str:
    """Return a card for each environment class, by family, with the animations of its ids and its summary."""
    parts = []
    for family, pages in by_family(package).items():
        cards = "\n".join(_card(page) for page in pages)
        parts.append(f'## {family}\n\n<div class="gallery" markdown="0">\n{cards}\n</div>')
    return "\n\n".join(parts)


def _card(page: EnvPage) -> str:
    summary = (inspect.getdoc(inspect.getmodule(page.build)) or "").split("\n\n")[0]
    summary = re.sub(r"^[^.:]* of MinAtar: (.)", lambda match: match[1].upper(), summary)
    images = "".join(
        f'<img src="assets/gallery/{animation_name(spec.id)}" alt="{spec.id}" loading="lazy">'
        for spec in animated(page)
    )
    ids = " ".join(f"<code>{spec.id}</code>" for spec in page.specs)
    title = f'<a href="environments/{page.name}.html">{page.title}</a>'
    caption = f"<figcaption><strong>{title}</strong>{summary}<span>{ids}</span></figcaption>"
    shots = "shots stacked" if is_wide(page.specs[0].id) else "shots"
    return f'<figure><div class="{shots}">{images}</div>{caption}</figure>'


def is_wide(env_id: str) -> bool:
    """Return whether an animation is so wide that several stand better below each other."""
    path = DOCS / "assets" / "gallery" / animation_name(env_id)
    if not path.exists():
        return False
    width, height = struct.unpack_from("<HH", path.read_bytes(), 6)  # the logical screen in the header of a GIF
    return bool(width > 1.7 * height)


def api_listing(package: str = PACKAGE) -> str:
    """Return the API directives (`::: name`) of every environment class and every other public name, by family."""
    exports = importlib.import_module(package)
    families: dict[str, list[str]] = {}
    for page in env_pages(package):
        state = getattr(inspect.getmodule(page.build), f"{page.build.__name__}State", None)
        classes = [page.build] if state is None else [page.build, state]
        families.setdefault(page.family, []).extend(map(_api_path, classes))
    for name in getattr(exports, "__all__", ()):
        path = f"{package}.{name}"
        if not any(path in listed for listed in families.values()):
            family = getattr(exports, name).__module__.removeprefix(f"{package}.").split(".")[0]
            families.setdefault(family_title(f"{package}.{family}"), []).append(path)
    sections = (f"## {family}\n\n" + "\n\n".join(f"::: {path}" for path in paths) for family, paths in families.items())
    return "\n\n".join(sections)


def on_config(config: Any) -> Any:
    """Put the pages into the navigation, by family (called by mkdocs)."""
    section = next(entry["Environments"] for entry in config.nav if "Environments" in entry)
    for family, pages in by_family().items():
        section.append({family: [{page.title: f"environments/{page.name}.md"} for page in pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (called by mkdocs)."""
    from mkdocs.structure.files import File

    for page in env_pages():
        files.append(File.generated(config, f"environments/{page.name}.md", content=page_text(page)))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Replace the markers of a page (called by mkdocs)."""
    del kwargs
    if page.file.src_uri in ("zoo.md", "zoo_trials.md"):
        markdown = with_figures(markdown).replace("<!-- agents -->", agents()).replace("<!-- aims -->", aims())
        return re.sub(r"<!-- zoo: (.+?) -->", lambda match: zoo(match[1]), markdown)
    generated = {
        "environments/index.md": ("<!-- environments -->", table),
        "gallery.md": ("<!-- gallery -->", gallery),
        "api/envs.md": ("<!-- api -->", api_listing),
    }
    if page.file.src_uri not in generated:
        return markdown
    marker, generate = generated[page.file.src_uri]
    return markdown.replace(marker, generate())


def _introduction(module: Any) -> str:
    """Return the docstring of a module, or of the dynamics that it imports, with equations."""
    text = with_equations(inspect.getdoc(module) or "")
    shared = {getattr(value, "__module__", "") for value in vars(module).values()}
    for name in sorted(name for name in shared if str(name).endswith("_dynamics")):
        if not blocks_of(inspect.getdoc(module) or ""):
            text += "\n\n" + "\n".join(blocks_of(inspect.getdoc(importlib.import_module(name)) or ""))
    return docstrings.escaped(text)


def _animation(page: EnvPage) -> str:
    """Return the animation of the newest id that has one."""
    for spec in reversed(page.specs):
        name = animation_name(spec.id)
        if (DOCS / "assets" / "gallery" / name).exists():
            return f"![{spec.id}](../assets/gallery/{name}){{ .animation .large }}"
    return ""


def _links(page: EnvPage) -> str:
    path = page.build.__module__.removeprefix("funcenv.").replace(".", "/")
    return f"The class is [`{_api_path(page.build)}`][]. Its source is `{path}.py`."


def _api_path(build: Any) -> str:
    """Return the path under which the API pages list a class: that of its package, if it is exported there."""
    package = PACKAGE if build.__module__.startswith(f"{PACKAGE}.") else build.__module__.partition(".")[0]
    is_exported = hasattr(importlib.import_module(package), build.__name__)
    return f"{package if is_exported else build.__module__}.{build.__name__}"
