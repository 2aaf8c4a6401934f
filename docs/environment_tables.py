"""The tables on the page of an environment: ids, spaces, observations, actions, parameters and the state."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import docstrings
import jax
import mujoco_names
import numpy as np
from environment_docstrings import arguments, split_count, split_list, split_unit
from mujoco_names import Row

import funcenv
from funcenv.keyboard import parse_combination

MAX_LIST = 24  # characters of a list of bounds, above which it is left out
MAX_ROWS = 60  # rows of an observation above which its groups are shown first


def ids_table(specs: Sequence[funcenv.EnvSpec]) -> str:
    """Return a table of the ids of an environment."""
    rows = ["| id | time limit | solved at a mean return of | parameters |", "|---|---|---|---|"]
    for spec in specs:
        made = ", ".join(f"`{name}={value!r}`" for name, value in spec.kwargs.items()) or "the defaults below"
        limit = "none" if spec.max_episode_steps is None else f"{spec.max_episode_steps} steps"
        rows.append(f"| `{spec.id}` | {limit} | {or_dash(spec.reward_threshold)} | {made} |")
    return "\n".join(rows)


def spaces_table(specs: Sequence[funcenv.EnvSpec]) -> str:
    """Return a table of the spaces and the range of rewards of each id."""
    rows = ["| id | observation space | action space | reward of a step |", "|---|---|---|---|"]
    for spec in specs:
        env = spec.make()
        low, high = (_short_float(bound) for bound in env.reward_range)
        reward = low if low == high else f"{low} to {high}"
        spaces = " | ".join(f"`{_as_made(space)}`" for space in (env.observation_space, env.action_space))
        rows.append(f"| `{spec.id}` | {spaces} | {reward} |")
    return "\n".join(rows)


def observation_table(env: Any, text: str, comments: dict[str, str]) -> str:
    """Return a table of the numbers in an observation, from the sentence that lists them and from the space.

    Screens, grids and observations of several agents have no table. The rows of a long one can be unfolded.

    Args:
        env: the environment.
        text: the section Observation of its docstring, such as "float32 `[2]`: position [m], velocity [m/s]". A member
            of the list such as "velocities `[9]` [m/s]" stands for nine numbers.
        comments: the meanings of the fields of the state.
    """
    if isinstance(env.observation_space, funcenv.spaces.Dict) or len(env.observation_space.shape or ()) > 1:
        return ""
    listed = [(*split_count(part), split_unit(part)[1]) for part in split_list(text.partition(": ")[2])]
    bounds, num_listed = space_bounds(env.observation_space), sum(count for _, count, _ in listed)
    if num_listed != len(bounds):
        raise ValueError(f"{env} observes {len(bounds)} numbers, but its docstring lists {num_listed}: {listed}")
    mjmodel = env.unwrapped.model.mjmodel if hasattr(env.unwrapped, "model") else None
    groups, each, index = [], [], 0
    for name, count, unit in listed:
        meaning = re.sub(r" *\[[^]]*\]$", "", comments.get(name, ""))
        label = f"{name}: {meaning}" if meaning else name
        indices = str(index) if count == 1 else f"{index} to {index + count - 1}"
        groups.append((indices, Row(label, "", unit), bounds[index]))
        members = [Row(label, "", unit)] if mjmodel is None else mujoco_names.expand(mjmodel, label, count, unit)
        each += [(str(index + at), member, bounds[index + at]) for at, member in enumerate(members)]
        index += count
    if len(each) < index:
        return _observation_rows(groups)  # members without names
    if len(each) <= MAX_ROWS:
        return _observation_rows(each)
    unfolded = f"<summary>All {len(each)} numbers</summary>\n\n{_observation_rows(each)}"
    return f'{_observation_rows(groups)}\n\n<details class="rows" markdown="1">\n{unfolded}\n\n</details>'


def _observation_rows(rows: Sequence[tuple[str, Row, tuple[str, str]]]) -> str:
    """Return a table of observations, without the columns that would be empty."""
    with_place = any(row.place for _, row, _ in rows)
    with_bounds = any(pair != ("-∞", "∞") for _, _, pair in rows)
    head = ["index", "observation", *["joint or body"] * with_place, "unit", *["from", "to"] * with_bounds]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for indices, row, pair in rows:
        place = [f"`{row.place}`" if row.place else "-"] * with_place
        cells = [indices, docstrings.escaped(row.name), *place, row.unit or "-", *pair[: 2 * with_bounds]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + ("" if with_bounds else "\n\nThe numbers are unbounded.")


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
        held = [_held_keys(keys, index, len(names)) for index in range(len(names))]
        rows = ["| index | action | unit | from | to | keys of `funcenv play` |", "|---|---|---|---|---|---|"]
        controls = _controls(env.unwrapped, names, text)
        for index, ((name, unit), (low, high)) in enumerate(zip(controls, space_bounds(space), strict=True)):
            rows.append(f"| {index} | {name} | {unit} | {low} | {high} | {held[index]} |")
    else:
        rows = ["| action | what it does | key of `funcenv play` |", "|---|---|---|"]
        for action, name in enumerate(names, int(space.start)):
            rows.append(f"| {action} | {name} | {' or '.join(keys.get(str(action), ['-']))} |")
    return "\n".join(rows)


def _controls(env: Any, names: Sequence[str], text: str) -> list[tuple[str, str]]:
    """Return the name and the unit of each number of an action: of a motor, the joint and what a control of 1 does."""
    if hasattr(env, "model") and env.model.mjmodel.nu == len(names):
        motors = [mujoco_names.motor(env.model.mjmodel, index) for index in range(len(names))]
        return [(f"motor of `{joint}`", strength) for joint, strength in motors]
    units = [split_unit(part)[1] or "-" for part in split_list(text.partition(": ")[2])]
    return list(zip(names, units * len(names) if len(units) == 1 else units, strict=False))


def parameters_table(build: Any) -> str:
    """Return a table of the parameters of a class: their defaults and what they mean."""
    meanings = {**docstrings.field_comments(build), **arguments(build)}
    rows = ["| parameter | default | meaning |", "|---|---|---|"]
    for entry in dataclasses.fields(build):
        meaning = meanings.get(entry.name) or (meanings.get("low", "") if entry.name == "high" else "")
        static = "" if entry.metadata.get("pytree_node", True) else "*fixed at compile time*"
        text = "; ".join(part for part in (docstrings.escaped(meaning), static) if part)
        is_made = entry.default is dataclasses.MISSING  # by a factory; the meaning says what it is
        default = "-" if is_made else f"`{_shorten_float(entry.default)}`"
        rows.append(f"| `{entry.name}` | {default} | {text} |")
    return "\n".join(rows)


def state_table(state: Any) -> str:
    """Return the summary of a class of states, and a table of its fields."""
    comments = docstrings.field_comments(state)
    summary = (inspect.getdoc(state) or "").splitlines()[0]
    rows = [f"`{state.__name__}`: {summary}", "", "| field | meaning |", "|---|---|"]
    rows += [
        f"| `{entry.name}` | {docstrings.escaped(comments.get(entry.name, ''))} |"
        for entry in dataclasses.fields(state)
    ]
    return "\n".join(rows)


def _as_made(space: Any) -> str:
    """Return a space in one line, with the dtype that its members have without `jax_enable_x64`.

    Bounds that differ and are many are left out; another table has them.

    >>> _as_made(funcenv.spaces.Box(-1.0, 1.0, (2,), np.float64))
    'Box(-1.0, 1.0, (2,), float32)'
    >>> _as_made(funcenv.spaces.Box(-np.arange(20.0), np.inf, dtype=np.float32))
    'Box([...], inf, (20,), float32)'
    """
    text = str(space).replace("float64", str(jax.dtypes.canonicalize_dtype(np.float64)))
    return re.sub(rf"\[[^][]{{{MAX_LIST},}}\]", "[...]", text)


def _held_keys(keys: dict[str, list[str]], index: int, count: int) -> str:
    """Return the keys that change one number of an action, and what to.

    >>> _held_keys({"0.0, 0.0": ["none"], "0.0, 1.0": ["up"], "-1.0, 0.0": ["left"]}, 1, 2)
    'up: 1.0'
    """
    values = {action: action.split(", ")[index] for action in keys}
    chosen = {action: value for action, value in values.items() if count == 1 or float(value) != 0}
    return ", ".join(f"{' or '.join(keys[action])}: {value}" for action, value in chosen.items())


def _key_name(combination: Any) -> str:
    """Return how the table shows a combination of keys.

    >>> _key_name(("left",)), _key_name("wd"), _key_name(())
    ('←', 'd + w', 'none')
    """
    arrows = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
    return " + ".join(sorted(arrows.get(key, key) for key in parse_combination(combination))) if combination else "none"


def space_bounds(space: Any) -> list[tuple[str, str]]:
    """Return the bounds of each number in a member of a space."""
    if isinstance(space, funcenv.spaces.Tuple):
        return [bounds for part in space.spaces for bounds in space_bounds(part)]
    if isinstance(space, funcenv.spaces.Discrete):
        return [(str(int(space.start)), str(int(space.start) + int(space.n) - 1))]
    pairs = zip(np.ravel(space.low), np.ravel(space.high), strict=True)
    return [(_short_float(low), _short_float(high)) for low, high in pairs]


def _short_float(value: float) -> str:
    return f"{value + 0.0:.4g}" if math.isfinite(value) else ("∞" if value > 0 else "-∞")


def short(space: Any) -> str:
    """Return a space as text, without the bounds of a box."""
    return f"Box{space.shape} {space.dtype}" if isinstance(space, funcenv.spaces.Box) else _as_made(space)


def _shorten_float(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) and len(repr(value)) > 8 else repr(value)


def or_dash(value: float | None) -> str:
    """Return a number as text, or a dash for None."""
    return "-" if value is None else f"{value:g}"


def distinct(texts: Iterable[str]) -> str:
    """Return different texts, with commas between them."""
    return ", ".join(dict.fromkeys(texts))
