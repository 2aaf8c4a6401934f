"""The HTML page that plays episodes: the text, style and scripts in `player/`, filled with the episodes as JSON.

Constant numbers are written once. Any array with a leading axis of steps, such as a leaf of a stacked scene, becomes
one of

    {"base": numbers}                                      the same numbers at every step
    {"base": numbers, "moving": [columns], "rows": blob}   base, with these columns replaced by the row of the step
    {..., "at": blob}                                      repeated rows are written once; "at" has a row index a step

Numbers are a list. Many numbers are `[type, index]` of a blob instead: base64 of little-endian float32, int32, uint16
or uint8. Equal blobs are written once per page.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import importlib.resources
import json
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from funcenv.replay.episode import Episode
from funcenv.replay.scene_stack import is_constant
from funcenv.scene import Repeat, Scene, Shape
from funcenv.scene.font import glyphs
from funcenv.spaces import Box, Discrete
from funcenv.struct import NDArray

_SCRIPTS = ("data.js", "shapes.js", "texels.js", "traces.js", "player.js")
_MAX_INLINE_NUMBERS = 12  # longer arrays become blobs
_SIGNIFICANT_DIGITS = 8  # enough for float32
_MAX_ACTION_COLUMNS = 32
_TYPES = {"f": "<f4", "i": "<i4", "u": "<u2", "b": "<u1"}  # the same as in player/data.js


def build_html(episodes: Sequence[Episode], fps: float, title: str) -> str:
    """Return the whole page."""
    parts = {
        "policy": security_policy([player_script()], [player_style()]),
        "title": html.escape(title),
        "style": player_style(),
        "script": player_script(),
        "data": _escape_json(_data(episodes, fps, title)),
    }
    before, *rest = _asset("player.html").split("{{")
    return before + "".join(parts[name] + text for name, text in (part.split("}}", 1) for part in rest))


def security_policy(scripts: Sequence[str], styles: Sequence[str], allows_attributes: bool = False) -> str:
    """Return a content security policy under which a page runs and loads nothing but these inline elements.

    Args:
        scripts: The texts of script elements.
        styles: The texts of style elements.
        allows_attributes: Whether elements may have a `style` attribute, as those of SVG images do.

    >>> security_policy([], [])
    "default-src 'none'; script-src 'none'; style-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
    """
    allowed = {"script-src": scripts, "style-src": styles}
    hashes = {name: " ".join(map(_hash, texts)) or "'none'" for name, texts in allowed.items()}
    sources = "; ".join(f"{name} {value}" for name, value in hashes.items())
    sources += "; style-src-attr 'unsafe-inline'" if allows_attributes else ""
    return f"default-src 'none'; {sources}; img-src data:; base-uri 'none'; form-action 'none'"


@functools.cache
def player_script() -> str:
    """Return the text of the page's script element."""
    return '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "\n})();\n"


@functools.cache
def player_style() -> str:
    """Return the text of the page's style element."""
    return _asset("player.css")


def _hash(text: str) -> str:
    """Return how a policy names the text of an inline element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(episodes: Sequence[Episode], fps: float, title: str) -> dict[str, Any]:
    encoder = Encoder()
    structures: list[dict[str, Any]] = []
    encoded = []
    for episode in episodes:
        structure, leaves = encoder.scene(episode.scenes)
        if structure not in structures:
            structures.append(structure)
        rewards = np.resize(np.asarray(episode.reward, np.float32), (max(episode.num_steps, 1), 1))  # at least one, 0
        encoded.append(
            {
                "title": episode.title,
                "scene": structures.index(structure),
                "leaves": leaves,
                "steps": episode.num_steps,
                "reward": encoder.array(rewards),
                "return": episode.episode_return if np.isfinite(episode.episode_return) else None,
                "actions": encoder.actions(episode),
                "end": "terminated" if episode.terminated else "truncated" if episode.truncated else "stopped",
            }
        )
    return {
        "title": title,
        "fps": fps,
        "scenes": structures,
        "episodes": encoded,
        "blobs": encoder.blobs,
        "font": _font(),
    }


def _escape_json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end the script element around it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@functools.cache
def _font() -> str:
    """Return two hexadecimal digits for each row of each character; the highest bit is the leftmost column."""
    bits = glyphs().astype(np.int64) @ (1 << np.arange(4, -1, -1))
    return "".join(f"{row:02x}" for row in bits.reshape(-1))


@functools.cache
def _asset(name: str) -> str:
    return (importlib.resources.files("funcenv.replay") / "player" / name).read_text(encoding="utf-8")


class Encoder:
    """Encoder of one page; it collects the blobs.

    >>> encoder = Encoder()
    >>> encoder.array(np.array([[1.0, 0.5], [1.0, 0.25]]))
    {'base': [1, 0.5], 'moving': [1], 'rows': ['f', 0]}
    >>> encoder.blobs
    ['AAAAPwAAgD4=']
    """

    def __init__(self) -> None:
        self.blobs: list[str] = []
        self._index: dict[str, int] = {}

    def array(self, values: NDArray) -> dict[str, Any]:
        """Return an array `[steps, ...]` as JSON."""
        rows = values.reshape(values.shape[0], -1)
        encoded: dict[str, Any] = {"base": self._base(rows[0])}
        moving = np.flatnonzero((rows != rows[:1]).any(axis=0))
        if is_constant(rows) or not len(moving):
            return encoded
        if len(moving) < rows.shape[1]:
            encoded["moving"] = moving.tolist()
        rows = rows[:, moving]
        different, at = np.unique(rows, axis=0, return_inverse=True)
        if len(different) <= len(rows) / 2 and len(different) <= 1 << 16 and rows.nbytes > 2 * len(rows):
            encoded["at"] = self._blob(at.reshape(-1).astype(np.uint8 if len(different) <= 1 << 8 else np.uint16))
            rows = different
        encoded["rows"] = self._blob(rows)
        return encoded

    def scene(self, scenes: Scene) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the structure of a stacked scene, with indices for arrays, and the list of arrays."""
        leaves: list[dict[str, Any]] = []

        def leaf(value: Any, lead: int) -> int | str | None:
            if value is None or isinstance(value, str):
                return value
            leaves.append(self.array(_as_array(value, lead)))
            return len(leaves) - 1

        def shape(node: Any, lead: int) -> dict[str, Any]:
            if isinstance(node, Repeat):
                count = jax.tree.leaves(node.shape)[0].shape[lead]
                return {"kind": "Repeat", "count": count, "of": shape(node.shape, lead + 1)}
            if not isinstance(node, Shape):
                raise TypeError(f"a scene is made of shapes from funcenv.scene, got {type(node).__name__} among them")
            fields = {name: leaf(value, lead) for name, value in vars(node).items()}
            if "image" in fields:
                fields["rows"], fields["columns"] = np.shape(vars(node)["image"])[lead : lead + 2]
            return {"kind": type(node).__name__, **fields}

        structure = {
            "camera": {name: leaf(value, 1) for name, value in vars(scenes.camera).items()},
            "background": leaf(scenes.background, 1),
            "shapes": [shape(node, 1) for node in (*scenes.backdrop, *scenes.shapes)],
        }
        return structure, leaves

    def actions(self, episode: Episode) -> dict[str, Any] | None:
        """Return the actions as columns of numbers, of which at most 8 are kept, and their names if they fit."""
        num_steps, space = episode.num_steps, episode.action_space
        columns = [np.asarray(leaf).reshape(num_steps, -1) for leaf in jax.tree.leaves(episode.action)]
        if not columns or not num_steps:
            return None
        discrete = all(not np.issubdtype(column.dtype, np.floating) for column in columns)
        everything = np.concatenate([column.astype(np.float64) for column in columns], axis=1)
        shown = everything[:, :_MAX_ACTION_COLUMNS]
        values = shown.astype(np.int32 if discrete else np.float32)
        low, high = float(values.min(initial=0)), float(values.max(initial=0))
        if isinstance(space, Discrete):
            low, high = float(space.start), float(space.start + space.n - 1)
        elif isinstance(space, Box) and np.isfinite(space.low).all() and np.isfinite(space.high).all():
            low, high = min(low, float(np.min(space.low))), max(high, float(np.max(space.high)))
        return {
            "kind": "discrete" if discrete else "continuous",
            "width": shown.shape[1],
            "hidden": everything.shape[1] - shown.shape[1],
            "low": _number(low),
            "high": _number(high),
            "values": self.array(values),
            "names": _fitting_names(episode, everything.shape[1]),
        }

    def _base(self, row: NDArray) -> Any:
        return [_number(value) for value in row] if len(row) <= _MAX_INLINE_NUMBERS else self._blob(row)

    def _blob(self, values: NDArray) -> list[Any]:
        if np.issubdtype(values.dtype, np.floating):
            kind = "f"
        elif values.size and values.min() >= 0 and values.max() < 1 << 8:
            kind = "b"
        else:
            kind = "u" if values.dtype == np.uint16 else "i"
        text = base64.b64encode(np.ascontiguousarray(values, _TYPES[kind]).tobytes()).decode("ascii")
        index = self._index.setdefault(text, len(self.blobs))
        if index == len(self.blobs):
            self.blobs.append(text)
        return [kind, index]


def _fitting_names(episode: Episode, width: int) -> list[str]:
    """Return a name for each action of a `Discrete` space, or for each of the numbers of an action; or none."""
    space, names = episode.action_space, list(episode.action_names)
    expected = int(space.n) if isinstance(space, Discrete) else width
    return names if len(names) == expected else []


def _as_array(value: Any, lead: int) -> NDArray:
    """Return a field as an array; the parts of a tuple are stacked along the axis after the `lead` leading ones."""
    if isinstance(value, (tuple, list)):
        return np.stack(np.broadcast_arrays(*(_as_array(part, lead) for part in value)), axis=lead)
    return np.asarray(value)


def _number(value: Any) -> float | int | None:
    """Return a number in short form, or None if it is not finite, which JSON cannot express."""
    if not np.isfinite(value):
        return None
    number = float(f"{float(value):.{_SIGNIFICANT_DIGITS}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
