"""Episodes as JSON for the page: what is constant is written once, and only what moves is written for each step.

A leaf of a scene, or any array with a leading axis of steps, becomes

    {"base": numbers}                                      the same at every step
    {"base": numbers, "moving": [columns], "rows": blob}   at a step: base, with these columns from its row
    {..., "at": blob}                                      rows that repeat are written once; "at" says which to take

Numbers are a list, or where there are many the index of a blob: base64 of little-endian float32, int32, uint16 or
uint8. Equal blobs are written once for the whole page.
"""

from __future__ import annotations

import base64
from typing import Any

import jax
import numpy as np

from funcenv.replay.scene_stack import is_constant
from funcenv.scene import Repeat, Scene, Shape
from funcenv.spaces import Box, Discrete, Space

_MAX_INLINE = 12  # numbers that are written as such
_SIGNIFICANT = 8  # digits, enough for float32 to come back within a rounding
_MAX_ACTION_COLUMNS = 8
_TYPES = {"f": "<f4", "i": "<i4", "u": "<u2", "b": "<u1"}  # names of the page's typed arrays


class Encoder:
    """Collects the blobs of a page.

    >>> encoder = Encoder()
    >>> encoder.array(np.array([[1.0, 0.5], [1.0, 0.25]]))
    {'base': [1, 0.5], 'moving': [1], 'rows': ['f', 0]}
    >>> encoder.blobs
    ['AAAAPwAAgD4=']
    """

    def __init__(self) -> None:
        self.blobs: list[str] = []
        self._numbers: dict[str, int] = {}

    def array(self, values: np.ndarray[Any, Any]) -> dict[str, Any]:
        """An array `[steps, ...]`."""
        rows = values.reshape(values.shape[0], -1)
        if is_constant(rows) or (rows == rows[:1]).all():
            return {"base": self._base(rows[0])}
        moving = np.flatnonzero((rows != rows[:1]).any(axis=0))
        encoded: dict[str, Any] = {"base": self._base(rows[0])}
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
        """The structure of a stacked scene, in which arrays are numbered, and the arrays."""
        leaves: list[dict[str, Any]] = []

        def leaf(value: Any, lead: int) -> int | None:
            if value is None:
                return None
            leaves.append(self.array(_whole(value, lead)))
            return len(leaves) - 1

        def shape(node: Any, lead: int) -> dict[str, Any]:
            if isinstance(node, Repeat):
                inner = node.shape
                return {"kind": "Repeat", "count": _first_leaf(inner).shape[lead], "of": shape(inner, lead + 1)}
            if not isinstance(node, Shape):
                raise TypeError(f"a scene is made of shapes from funcenv.scene, got {type(node).__name__} among them")
            fields = {
                name: value if isinstance(value, str) else leaf(value, lead) for name, value in vars(node).items()
            }
            if "image" in fields:
                fields["rows"], fields["columns"] = np.shape(vars(node)["image"])[lead : lead + 2]
            return {"kind": type(node).__name__, **fields}

        camera = scenes.camera
        structure = {
            "camera": {name: leaf(value, 1) for name, value in vars(camera).items()},
            "background": leaf(scenes.background, 1),
            "shapes": [shape(node, 1) for node in (*scenes.backdrop, *scenes.shapes)],
        }
        return structure, leaves

    def actions(self, action: Any, space: Space[Any] | None, num_steps: int) -> dict[str, Any] | None:
        """The actions as columns of numbers; the first few, where there are many."""
        columns = [np.asarray(leaf).reshape(num_steps, -1) for leaf in jax.tree.leaves(action)]
        if not columns or not num_steps:
            return None
        discrete = all(not np.issubdtype(column.dtype, np.floating) for column in columns)
        whole = np.concatenate([column.astype(np.float64) for column in columns], axis=1)
        shown = whole[:, :_MAX_ACTION_COLUMNS]
        values = shown.astype(np.int32 if discrete else np.float32)
        low, high = float(values.min(initial=0)), float(values.max(initial=0))
        if isinstance(space, Discrete):
            low, high = float(space.start), float(space.start + space.n - 1)
        elif isinstance(space, Box) and np.isfinite(space.low).all() and np.isfinite(space.high).all():
            low, high = min(low, float(np.min(space.low))), max(high, float(np.max(space.high)))
        return {
            "kind": "discrete" if discrete else "continuous",
            "width": shown.shape[1],
            "hidden": whole.shape[1] - shown.shape[1],
            "low": _number(low),
            "high": _number(high),
            "values": self.array(values),
        }

    def _base(self, row: np.ndarray[Any, Any]) -> Any:
        return [_number(value) for value in row] if len(row) <= _MAX_INLINE else self._blob(row)

    def _blob(self, values: np.ndarray[Any, Any]) -> list[Any]:
        if np.issubdtype(values.dtype, np.floating):
            kind = "f"
        elif values.size and values.min() >= 0 and values.max() < 1 << 8:
            kind = "b"
        else:
            kind = "u" if values.dtype == np.uint16 else "i"
        text = base64.b64encode(np.ascontiguousarray(values, _TYPES[kind]).tobytes()).decode("ascii")
        number = self._numbers.setdefault(text, len(self.blobs))
        if number == len(self.blobs):
            self.blobs.append(text)
        return [kind, number]


def _whole(value: Any, lead: int) -> np.ndarray[Any, Any]:
    """A field that is an array, or a tuple of them: the parts lie along the axis after the leading ones."""
    if isinstance(value, (tuple, list)):
        return np.stack(np.broadcast_arrays(*(_whole(part, lead) for part in value)), axis=lead)
    return np.asarray(value)


def _first_leaf(node: Any) -> np.ndarray[Any, Any]:
    return jax.tree.leaves(node)[0]


def _number(value: Any) -> float | int | None:
    """Short in JSON, which has no word for what is not finite."""
    if not np.isfinite(value):
        return None
    number = float(f"{float(value):.{_SIGNIFICANT}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
