"""The check that two scenes have the same structure, so that their arrays can be stacked."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcenv.scene.scene import Scene
from funcenv.scene.shapes import Repeat

_MAX_LISTED = 5  # differences in an error message


def require_same_structure(first: Scene, other: Scene, where: str) -> None:
    """Raise `ValueError` unless two scenes have the same shapes, so that their arrays can be stacked.

    Values and dtypes may differ; `Scene.canonical` makes dtypes equal. The scenes may be batched, both in the same
    way, or abstract (`jax.eval_shape`).

    Args:
        first: a scene of one state.
        other: a scene of another state of the same environment.
        where: the origin of `other`, for the message: `"after step 3"`.

    Raises:
        ValueError: a shape was added, dropped, or is of another kind; or a field of a shape has another array shape.

    >>> from funcenv.scene import Camera, Circle, Line
    >>> camera, color = Camera((0.0, 0.0), 2.0, 2.0), (0.0, 0.0, 0.0, 1.0)
    >>> ball, rope = Circle((0.0, 0.0), 0.5, color), Line((0.0, 0.0), (1.0, 0.0), 0.1, color)
    >>> require_same_structure(Scene(camera, (ball, rope)), Scene(camera, (ball,)), "after step 3")
    Traceback (most recent call last):
        ...
    ValueError: a scene must have the same shapes in every state, but after step 3 shapes[1] (Line) is dropped; draw
        what a state does not show with alpha 0, and give arrays a fixed length
    """
    changes = [
        *_list_changes("backdrop", first.backdrop, other.backdrop),
        *_list_changes("shapes", first.shapes, other.shapes),
        *_field_changes("camera", first.camera, other.camera),
        *_field_changes("background", first.background, other.background),
    ]
    if not changes:
        return
    more = f", and {len(changes) - _MAX_LISTED} more" if len(changes) > _MAX_LISTED else ""
    raise ValueError(
        f"a scene must have the same shapes in every state, but {where} {', '.join(changes[:_MAX_LISTED])}{more}; "
        "draw what a state does not show with alpha 0, and give arrays a fixed length"
    )


def _list_changes(name: str, first: Sequence[Any], other: Sequence[Any]) -> Iterator[str]:
    """Match equal shapes in order, so that a missing shape does not shift all shapes after it."""
    match = difflib.SequenceMatcher(None, list(map(_signature, first)), list(map(_signature, other)), autojunk=False)
    for operation, start, end, other_start, other_end in match.get_opcodes():
        if operation == "equal":
            continue
        both = min(end - start, other_end - other_start)
        for i in range(both):
            yield from _shape_changes(f"{name}[{start + i}]", first[start + i], other[other_start + i])
        for i in range(start + both, end):
            yield f"{name}[{i}] ({_kind(first[i])}) is dropped"
        for i in range(other_start + both, other_end):
            yield f"{name}[{i}] ({_kind(other[i])}) is added"


def _shape_changes(name: str, first: Any, other: Any) -> Iterator[str]:
    if _kind(first) != _kind(other):
        yield f"{name} is a {_kind(other)} instead of a {_kind(first)}"
    else:
        yield from _field_changes(f"{name} ({_kind(first)})", first, other)


def _field_changes(name: str, first: Any, other: Any) -> Iterator[str]:
    fields, other_fields = _fields(first), _fields(other)
    for field in dict.fromkeys([*fields, *other_fields]):
        before, now = fields.get(field, "nothing"), other_fields.get(field, "nothing")
        if before != now:
            yield f"{name}{'.' if field else ''}{field} is {now} instead of {before}"


def _signature(shape: Any) -> tuple[Any, ...]:
    return (_kind(shape), *_fields(shape).items())


def _kind(shape: Any) -> str:
    own = type(shape).__name__
    return f"{own} of {_kind(shape.shape)}" if isinstance(shape, Repeat) else own


def _fields(node: Any) -> dict[str, str]:
    """Describe what stacking depends on: array shapes, which fields are None or tuples, and static fields."""
    if not dataclasses.is_dataclass(node):
        return {"": _form(node)}
    fields = {}
    for entry in dataclasses.fields(node):
        value = getattr(node, entry.name)
        if not entry.metadata.get("pytree_node", True):
            fields[entry.name] = repr(value)
        else:
            inner = _fields(value)
            fields.update({f"{entry.name}{'.' if key else ''}{key}": form for key, form in inner.items()})
    return fields


def _form(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, (tuple, list)):
        parts = [_form(part) for part in value]
        alike = f"{len(parts)} times {parts[0]}" if len(set(parts)) == 1 else ", ".join(parts)
        return f"a {type(value).__name__} ({alike})"
    return f"an array {list(np.shape(value))}" if np.shape(value) else "a number"
