"""Pages that follow from the registry: one for each environment, their table, the gallery and the API listing.

mkdocs calls the `on_...` functions while it builds the site (`hooks:` in mkdocs.yml). Each class of environments gets a
page of its own, made from its docstring, its registered ids and the comments on its fields. A marker in each of
docs/environments/index.md, docs/gallery.md, docs/zoo.md and docs/api/envs.md is replaced. Nothing is written into
docs/, so a new environment needs no change here: it appears when it is registered.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import json
import math
import pathlib
import re
from types import ModuleType
from typing import Any

import numpy as np

import funcenv
from funcenv.keyboard import parse_combination
from funcenv.registry import load_entry_points
from funcenv.train.reports.aggregate import bootstrap_interval, interquartile_mean

DOCS = pathlib.Path(__file__).parent
RETURNS = DOCS / "returns.json"
PACKAGE = "funcenv.envs"  # the site documents the environments of this package


def _load_script(name: str) -> ModuleType:
    """Import a file of this folder, which is not a package."""
    spec = importlib.util.spec_from_file_location(f"funcenv_docs_{name}", DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_docstrings = _load_script("docstrings")

_OTHER = re.compile(r"\w+ `\[\d+\]`: that of `(\w+)`\.")
_SECTION = re.compile(r"^(Observation|Action|Reward|Termination|Initial state|Info): ", flags=re.MULTILINE)
_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", flags=re.MULTILINE)
_REST = re.compile(r"^(Args|Raises|>>>)", flags=re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class EnvPage:
    """An environment class and the ids that are registered for it."""

    build: Any
    specs: tuple[funcenv.EnvSpec, ...]

    @property
    def name(self) -> str:
        """File name of the page, without its ending."""
        return str(self.build.__module__.rpartition(".")[2])

    @property
    def family(self) -> str:
        """Title of the package that the class is in."""
        return family_title(self.build.__module__.rpartition(".")[0])


def env_pages(package: str = PACKAGE) -> list[EnvPage]:
    """Return a page for each class that a package has registered, in the order of registration."""
    load_entry_points()
    found: dict[Any, list[funcenv.EnvSpec]] = {}
    for spec in funcenv.registry.values():
        if str(spec.entry_point).startswith(f"{package}."):
            found.setdefault(spec.load(), []).append(spec)
    return [EnvPage(build, tuple(specs)) for build, specs in found.items()]


def page_text(page: EnvPage) -> str:
    """Return the page of an environment, in Markdown."""
    module = inspect.getmodule(page.build)
    title, sections, example = _parse_docstring(page.build)
    parts = [f"# {title}", _animation(page), _docstrings.escaped(inspect.getdoc(module) or "")]
    parts += ["## Ids and time limits", _ids(page), "## Observations, actions and rewards", _spaces(page)]
    for name, text in sections:
        parts.append(f"**{name}:** {_docstrings.escaped(text)}")
        if name == "Observation":
            parts.append(observation_table(page.specs[-1].make(), text, _state_comments(page.build)))
        if name == "Action":
            parts.append(action_table(page.specs[-1].make(), text))
    parts += ["## Returns to expect", returns_table(page)]
    parts += ["## Parameters", _parameters(page.build)]
    state = getattr(module, f"{page.build.__name__}State", None)
    parts += [] if state is None else ["## State", _state(state)]
    parts += ["## Example", f"```pycon\n{example}\n```", _links(page)]
    return "\n\n".join(part for part in parts if part) + "\n"


def observation_table(env: Any, text: str, comments: dict[str, str]) -> str:
    """Return a table of the numbers in an observation, from the sentence that lists them and from the space.

    Screens, grids and observations of several agents have no table.

    Args:
        env: the environment.
        text: the section Observation of its docstring, such as "float32 `[2]`: position [m], velocity [m/s]". A member
            of the list such as "velocities `[9]` [m/s]" stands for nine numbers.
        comments: the meanings of the fields of the state.
    """
    if isinstance(env.observation_space, funcenv.spaces.Dict) or len(env.observation_space.shape or ()) > 1:
        return ""
    listed = [(*_split_count(part), _split_unit(part)[1]) for part in _split_list(text.partition(": ")[2])]
    bounds, num_listed = _bounds(env.observation_space), sum(count for _, count, _ in listed)
    if num_listed != len(bounds):
        raise ValueError(f"{env} observes {len(bounds)} numbers, but its docstring lists {num_listed}: {listed}")
    rows, index = ["| index | observation | unit | from | to |", "|---|---|---|---|---|"], 0
    for name, count, unit in listed:
        meaning = re.sub(r" *\[[^]]*\]$", "", comments.get(name, ""))
        label, (low, high) = f"{name}: {meaning}" if meaning else name, bounds[index]
        indices = str(index) if count == 1 else f"{index} to {index + count - 1}"
        rows.append(f"| {indices} | {_docstrings.escaped(label)} | {unit or '-'} | {low} | {high} |")
        index += count
    return "\n".join(rows)


def action_table(env: Any, text: str) -> str:
    """Return a table of the actions, by `action_names`, with the keys of `funcenv play`; nothing if they have no names.

    Args:
        env: the environment.
        text: the section Action of its docstring, such as "float32 `[1]`: torque [N m]"; it names the unit of a `Box`.
    """
    names, space = env.unwrapped.action_names, env.action_space
    keys: dict[str, list[str]] = {}
    for combination, action in getattr(env.unwrapped, "get_keys_to_action", dict)().items():
        keys.setdefault(str(np.asarray(action).tolist()).strip("[]"), []).append(_key_name(combination))
    if not names:
        return ""
    if isinstance(space, funcenv.spaces.Box):
        units = [_split_unit(part)[1] or "-" for part in _split_list(text.partition(": ")[2])]
        held = [_held_keys(keys, index, len(names)) for index in range(len(names))]
        rows = ["| index | action | unit | from | to | keys of `funcenv play` |", "|---|---|---|---|---|---|"]
        units = units * len(names) if len(units) == 1 else units
        for index, (name, (low, high)) in enumerate(zip(names, _bounds(space), strict=True)):
            rows.append(f"| {index} | {name} | {units[index]} | {low} | {high} | {held[index]} |")
    else:
        rows = ["| action | what it does | key of `funcenv play` |", "|---|---|---|"]
        for action, name in enumerate(names, int(space.start)):
            rows.append(f"| {action} | {name} | {' or '.join(keys.get(str(action), ['-']))} |")
    return "\n".join(rows)


def _held_keys(keys: dict[str, list[str]], index: int, count: int) -> str:
    """Return the keys that change one number of an action, and what to.

    >>> _held_keys({"0.0, 0.0": ["none"], "0.0, 1.0": ["up"], "-1.0, 0.0": ["left"]}, 1, 2)
    'up: 1.0'
    """
    values = {action: action.split(", ")[index] for action in keys}
    chosen = {action: value for action, value in values.items() if count == 1 or float(value) != 0}
    return ", ".join(f"{' or '.join(keys[action])}: {value}" for action, value in chosen.items())


def returns_table(page: EnvPage) -> str:
    """Return a table of the returns in returns.json, which docs/measure_returns.py writes; nothing if it has none."""
    measured = json.loads(RETURNS.read_text())
    rows = []
    for spec in page.specs:
        if spec.id in measured:
            row = measured[spec.id]
            cells = [f"`{spec.id}`", _mean_and_deviation(row["random"])]
            if "trained" in row:
                trained = row["trained"]
                pair = [float(np.mean(trained["returns"])), float(np.mean(trained["deviations"]))]
                agents = f", mean of {len(trained['returns'])} agents" if len(trained["returns"]) > 1 else ""
                cells.append(f"{_mean_and_deviation(pair)} after {trained['steps']:,} steps{agents}")
            else:
                cells.append(f"`funcenv train {spec.id}`")
            rows.append(f"| {' | '.join(cells)} |")
    note = (
        "Mean and standard deviation of the returns: 1000 episodes of a random policy (100 for MuJoCo and Atari), "
        "and 100 or 1000 of each agent that was trained with the preset of the id ([what that costs](../zoo.md)). An "
        "episode without a time limit is cut after 10,000 steps."
    )
    head = ["| id | random policy | trained agent |", "|---|---|---|"]
    return "\n".join([note, "", *head, *rows]) if rows else ""


def zoo(package: str = PACKAGE) -> str:
    """Return a table of the results of presets, which docs/measure_returns.py measures; every id has a row or more."""
    measured = json.loads(RETURNS.read_text())
    head = "id | algorithm | agents | steps of each | return [95% interval] | goal | reached | compile | CPU-s"
    rows = [f"| {head} |", "|" + "---|" * len(head.split(" | "))]
    for page in env_pages(package):
        for spec in page.specs:
            rows += [zoo_row(spec, measured.get(spec.id, {}))]
            others = [name for name in measured if name.startswith(f"{spec.id} ")]  # such as "ID from pixels"
            rows += [zoo_row(spec, measured[name], name.removeprefix(spec.id)) for name in others]
    return "\n".join(rows)


def zoo_row(spec: funcenv.EnvSpec, measured: dict[str, Any], words: str = "") -> str:
    """Return the row of an id.

    Args:
        spec: the id.
        measured: its figures in docs/returns.json: "trained", if its preset was measured, and "optimum", if it
            has a table of transitions.
        words: the text that follows the id.
    """
    trained, best, threshold = measured.get("trained"), measured.get("optimum"), spec.reward_threshold
    goal = " or ".join(
        [
            *([] if threshold is None else [f"{threshold:g}"]),
            *([] if best is None else [f"{_figure(best)} (optimum)"]),
        ]
    )
    if trained is None:
        return f"| `{spec.id}` | - | - | - | not measured | {goal or '-'} | - | - | - |"
    scores = np.array(trained["returns"])[:, None]
    mean = float(interquartile_mean(scores))
    reached = _figure(mean)
    if len(scores) > 1:
        low, high = bootstrap_interval(interquartile_mean, scores)
        reached += f" [{_figure(low)}, {_figure(high)}]"
    steps = f"{trained['steps']:,}"
    if trained["steps"] < 0.9 * trained["planned_steps"]:  # the rest of whole batches is less
        steps += f" of {trained['planned_steps']:,}"
    if trained["other_settings"]:
        settings = (f"`{name}={value}`" for name, value in trained["other_settings"].items())
        steps += f", with {', '.join(settings)}"
    is_near = best is not None and mean >= best - 0.01 * abs(best)
    is_solved = is_near or (threshold is not None and mean >= threshold)
    solved = "-" if not goal else "yes" if is_solved else "no"
    solved += f", at {trained['solved_at']:,}" if is_solved and trained["solved_at"] else ""
    cost = [_or_dash(trained[name]) for name in ("compile_seconds", "cpu_seconds")]
    name = trained["algorithm"].upper()
    cells = [f"`{spec.id}`{words}", name, str(len(scores)), steps, reached, goal or "-", solved, *cost]
    return f"| {' | '.join(cells)} |"


def _figure(value: float) -> str:
    """Return a return with three digits or all before the point.

    >>> _figure(3631.94), _figure(0.7123), _figure(-13.0)
    ('3,632', '0.71', '-13.0')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _mean_and_deviation(pair: list[float]) -> str:
    """Return a mean with its standard deviation.

    >>> _mean_and_deviation([-123.456, 7.891]), _mean_and_deviation([0.0151, 0.12])
    ('-123.5 ± 7.9', '0.015 ± 0.120')
    """
    digits = 1 if abs(pair[0]) >= 10 or pair[1] >= 10 else 2 if abs(pair[0]) >= 0.1 else 3
    return f"{pair[0]:.{digits}f} ± {pair[1]:.{digits}f}"


def table(package: str = PACKAGE) -> str:
    """Return a table with one row for each environment class."""
    rows = ["| environment | ids | observation | action | time limit | solved at |", "|---|---|---|---|---|---|"]
    for page in env_pages(package):
        env = page.specs[0].make()
        ids = ", ".join(f"`{spec.id}`" for spec in page.specs)
        limits = _distinct(_or_dash(spec.max_episode_steps) for spec in page.specs)
        thresholds = _distinct(_or_dash(spec.reward_threshold) for spec in page.specs)
        spaces = f"`{_short(env.observation_space)}` | `{_short(env.action_space)}`"
        title = _parse_docstring(page.build)[0]
        rows.append(f"| [{title}]({page.name}.md) | {ids} | {spaces} | {limits} | {thresholds} |")
    return "\n".join(rows)


def gallery(package: str = PACKAGE) -> str:
    """Return a table with the animation and the summary of every id, three in a row."""
    cells = []
    for page in env_pages(package):
        summary = (inspect.getdoc(inspect.getmodule(page.build)) or "").split("\n\n")[0]
        for spec in page.specs:
            image = f'<img src="assets/gallery/{animation_name(spec.id)}" alt="{spec.id}" width="320">'
            cells.append(f'<td align="center" valign="top" width="33%">{image}<br><b>{spec.id}</b><br>{summary}</td>')
    rows = [f"<tr>{''.join(cells[start : start + 3])}</tr>" for start in range(0, len(cells), 3)]
    return '<table class="gallery">\n' + "\n".join(rows) + "\n</table>"


def animation_name(env_id: str) -> str:
    """Return the name of an id's animation in docs/assets/gallery; docs/make_gallery.py writes it."""
    return f"{env_id.replace('/', '-')}.gif"


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
    families: dict[str, list[dict[str, str]]] = {}
    for page in env_pages():
        title = _parse_docstring(page.build)[0]
        families.setdefault(page.family, []).append({title: f"environments/{page.name}.md"})
    section += [{family: entries} for family, entries in families.items()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (called by mkdocs)."""
    from mkdocs.structure.files import File

    for page in env_pages():
        files.append(File.generated(config, f"environments/{page.name}.md", content=page_text(page)))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Replace the marker of a page (called by mkdocs)."""
    del kwargs
    generated = {
        "environments/index.md": ("<!-- environments -->", table),
        "gallery.md": ("<!-- gallery -->", gallery),
        "zoo.md": ("<!-- zoo -->", zoo),
        "api/envs.md": ("<!-- api -->", api_listing),
    }
    if page.file.src_uri not in generated:
        return markdown
    marker, generate = generated[page.file.src_uri]
    return markdown.replace(marker, generate())


def _parse_docstring(build: Any) -> tuple[str, list[tuple[str, str]], str]:
    """Return the title, the sections and the example of a class's docstring.

    A section "float32 `[17]`: that of `Humanoid`." is the section of that name in the docstring of another environment.
    """
    text = inspect.getdoc(build) or ""
    described = text[: match.start()] if (match := _REST.search(text)) else text
    starts = [*_SECTION.finditer(described)]
    ends = [*(match.start() for match in starts[1:]), len(described)]
    sections = [(match[1], _unindent(described[match.end() : end])) for match, end in zip(starts, ends, strict=True)]
    for index, (name, section) in enumerate(sections):
        if match := _OTHER.fullmatch(section.strip()):
            sections[index] = name, dict(_parse_docstring(getattr(funcenv.envs, match[1]))[1])[name]
    example = text[text.index(">>>") :] if ">>>" in text else ""
    if f"import {build.__name__}" not in example:
        example = f">>> from funcenv.envs import {build.__name__}\n{example}"
    return text.splitlines()[0].rstrip("."), sections, example


def family_title(package: str) -> str:
    """Return the title of a package of environments: its name, spelled as its docstring spells it.

    >>> family_title("funcenv.envs.box2d"), family_title("funcenv.envs.toy_text")
    ('Box2D', 'Toy text')
    """
    words = package.rpartition(".")[2].replace("_", " ")
    spelled = re.search(words.replace(" ", "[ -]"), importlib.import_module(package).__doc__ or "", flags=re.IGNORECASE)
    title = spelled[0] if spelled else words
    return title[0].upper() + title[1:]


def _split_list(text: str) -> list[str]:
    """Return the members of the list with which a text begins; commas in brackets and code do not count.

    >>> _split_list("cos theta, x [m] in `[a, b]`, bounded by 1. More.")
    ['cos theta', 'x [m] in `[a, b]`']
    """
    hidden = re.sub(r"`[^`]*`|\([^)]*\)", lambda match: "\0" * len(match[0]), " ".join(text.split()))
    end = min(found.start() for stop in (r"[.;](?= |$)", r", bounded", "$") if (found := re.search(stop, hidden)))
    spans = re.finditer(r"(?:, and |, |^)(?:and )?(.*?)(?=, |$)", hidden[:end])
    return [" ".join(text.split())[match.start(1) : match.end(1)] for match in spans]


def _split_unit(part: str) -> tuple[str, str]:
    """Return the name and the unit of a member of a list.

    >>> _split_unit("position [m] in `[low, high]`"), _split_unit("cos theta")
    (('position', 'm'), ('cos theta', ''))
    """
    match = re.fullmatch(r"(.+?)(?: in `.*`)?", re.sub(r" \(\d+( to \d+| or \d+)\)$", "", part))
    assert match is not None
    name, _, unit = match[1].partition(" [")
    return name, unit.partition("]")[0]


def _split_count(part: str) -> tuple[str, int]:
    """Return the name of a member of a list, and its count of numbers.

    >>> _split_count("velocities `[9]` [m/s]"), _split_count("position [m]")
    (('velocities', 9), ('position', 1))
    """
    match = re.fullmatch(r"(.+?) `\[(\d+)\]`(?: \[.*\])?", part)
    return (match[1], int(match[2])) if match else (_split_unit(part)[0], 1)


def _bounds(space: Any) -> list[tuple[str, str]]:
    """Return the bounds of each number in a member of a space."""
    if isinstance(space, funcenv.spaces.Tuple):
        return [bounds for part in space.spaces for bounds in _bounds(part)]
    if isinstance(space, funcenv.spaces.Discrete):
        return [(str(int(space.start)), str(int(space.start) + int(space.n) - 1))]
    pairs = zip(np.ravel(space.low), np.ravel(space.high), strict=True)
    return [(_short_float(low), _short_float(high)) for low, high in pairs]


def _short_float(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else ("∞" if value > 0 else "-∞")


def _key_name(combination: Any) -> str:
    """Return how the table shows a combination of keys.

    >>> _key_name(("left",)), _key_name("wd"), _key_name(())
    ('←', 'd + w', 'none')
    """
    arrows = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
    return " + ".join(sorted(arrows.get(key, key) for key in parse_combination(combination))) if combination else "none"


def _state_comments(build: Any) -> dict[str, str]:
    """Return the meanings of the fields of an environment's state."""
    state = getattr(inspect.getmodule(build), f"{build.__name__}State", None)
    return {} if state is None else dict(_docstrings.field_comments(state))


def _unindent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _animation(page: EnvPage) -> str:
    """Return the animation of the newest id that has one."""
    for spec in reversed(page.specs):
        name = animation_name(spec.id)
        if (DOCS / "assets" / "gallery" / name).exists():
            return f"![{spec.id}](../assets/gallery/{name}){{ .animation }}"
    return ""


def _ids(page: EnvPage) -> str:
    rows = ["| id | time limit | solved at a mean return of | parameters |", "|---|---|---|---|"]
    for spec in page.specs:
        made = ", ".join(f"`{name}={value!r}`" for name, value in spec.kwargs.items()) or "the defaults below"
        limit = "none" if spec.max_episode_steps is None else f"{spec.max_episode_steps} steps"
        rows.append(f"| `{spec.id}` | {limit} | {_or_dash(spec.reward_threshold)} | {made} |")
    return "\n".join(rows)


def _spaces(page: EnvPage) -> str:
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
        static = "" if entry.metadata.get("pytree_node", True) else "*fixed at compile time*"
        text = "; ".join(part for part in (_docstrings.escaped(meaning), static) if part)
        rows.append(f"| `{entry.name}` | `{_shorten_float(entry.default)}` | {text} |")
    return "\n".join(rows)


def _arguments(build: Any) -> dict[str, str]:
    """Return the entries of the `Args:` section of a class's docstring, by parameter."""
    _, found, listed = (inspect.getdoc(build) or "").partition("\nArgs:\n")
    text = re.split(r"^\S", listed, maxsplit=1, flags=re.MULTILINE)[0] if found else ""
    return {match[1]: " ".join(match[2].split()).rstrip(".") for match in _ARGUMENT.finditer(text)}


def _state(state: Any) -> str:
    comments = _docstrings.field_comments(state)
    summary = (inspect.getdoc(state) or "").splitlines()[0]
    rows = [f"`{state.__name__}`: {summary}", "", "| field | meaning |", "|---|---|"]
    rows += [
        f"| `{entry.name}` | {_docstrings.escaped(comments.get(entry.name, ''))} |"
        for entry in dataclasses.fields(state)
    ]
    return "\n".join(rows)


def _links(page: EnvPage) -> str:
    path = page.build.__module__.removeprefix("funcenv.").replace(".", "/")
    return f"The class is [`{_api_path(page.build)}`][]. Its source is `{path}.py`."


def _api_path(build: Any) -> str:
    """Return the path under which the API pages list a class: that of its package, if it is exported there."""
    package = PACKAGE if build.__module__.startswith(f"{PACKAGE}.") else build.__module__.partition(".")[0]
    is_exported = hasattr(importlib.import_module(package), build.__name__)
    return f"{package if is_exported else build.__module__}.{build.__name__}"


def _short(space: Any) -> str:
    """Return a space as text, without the bounds of a box."""
    return f"Box{space.shape} {space.dtype}" if isinstance(space, funcenv.spaces.Box) else str(space)


def _shorten_float(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) and len(repr(value)) > 8 else repr(value)


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _distinct(texts: Any) -> str:
    return ", ".join(dict.fromkeys(texts))
