"""The check that two scenes have the same structure, so that their arrays can be stacked."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
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
        *_changes("camera", first.camera, other.camera),
        *_changes("background", first.background, other.background),
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
    before, now = ([tuple(_describe(shape).items()) for shape in shapes] for shapes in (first, other))
    matcher = difflib.SequenceMatcher(None, before, now, False)
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        pairs = itertools.zip_longest(first[start:end], other[other_start:other_end])
        for i, (old, new) in enumerate(pairs):
            if new is None:
                yield f"{name}[{start + i}] ({_kind(old)}) is dropped"
            elif old is None:
                yield f"{name}[{other_start + i}] ({_kind(new)}) is added"
            else:
                yield from _changes(f"{name}[{start + i}]", old, new)


def _changes(name: str, first: Any, other: Any) -> Iterator[str]:
    before, now = _describe(first), _describe(other)
    if before[""] != now[""]:
        yield f"{name} is {now['']} instead of {before['']}"
        return
    for field in dict.fromkeys([*before, *now]):
        old, new = before.get(field, "nothing"), now.get(field, "nothing")
        if old != new:
            yield f"{name} ({_kind(first)}).{field} is {new} instead of {old}"


def _kind(shape: Any) -> str:
    own = type(shape).__name__
    return f"{own} of {_kind(shape.shape)}" if isinstance(shape, Repeat) else own


def _describe(node: Any) -> dict[str, str]:
    """Describe what stacking depends on: the kind under "", and the form of every field under its name."""
    if not dataclasses.is_dataclass(node):
        return {"": _form(node)}
    fields = {"": f"a {_kind(node)}"}
    for entry in dataclasses.fields(node):
        value = getattr(node, entry.name)
        inner = _describe(value) if entry.metadata.get("pytree_node", True) else {"": repr(value)}
        fields.update({f"{entry.name}.{name}".rstrip("."): form for name, form in inner.items()})
    return fields


def _form(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, (tuple, list)):
        parts = [_form(part) for part in value]
        alike = f"{len(parts)} times {parts[0]}" if len(set(parts)) == 1 else ", ".join(parts)
        return f"a {type(value).__name__} ({alike})"
    return f"an array {list(np.shape(value))}" if np.shape(value) else "a number"
