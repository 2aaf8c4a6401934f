"""What shape each field of a shape must have when it is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.scene.images import Sprite, Text
from funcenv.scene.scene import Camera
from funcenv.scene.shapes import Arc, Circle, Line, Polygon, Rectangle, Terrain

_NUMBER, _POINT, _COLOR = (), (2,), (4,)
_OUTLINE = {"color": _COLOR, "outline": _COLOR, "outline_width": _NUMBER}

_FIELDS: dict[type, dict[str, tuple[int | None, ...]]] = {  # None: any number
    Camera: {"center": _POINT, "width": _NUMBER, "height": _NUMBER},
    Circle: {"center": _POINT, "radius": _NUMBER, **_OUTLINE},
    Rectangle: {"center": _POINT, "size": _POINT, "angle": _NUMBER, "corner_radius": _NUMBER, **_OUTLINE},
    Line: {"start": _POINT, "end": _POINT, "width": _NUMBER, "color": _COLOR},
    Arc: {"center": _POINT, "radius": _NUMBER, "start": _NUMBER, "sweep": _NUMBER, "width": _NUMBER, "color": _COLOR},
    Polygon: {"points": (None, 2), **_OUTLINE},
    Terrain: {"heights": (None,), "left": _NUMBER, "right": _NUMBER, **_OUTLINE},
    Sprite: {"center": _POINT, "size": _POINT, "image": (None, None, 4), "alpha": _NUMBER},
    Text: {"position": _POINT, "codes": (None,), "height": _NUMBER, "color": _COLOR},
}
_LEAST = {"points": 3, "heights": 2}


def require_fields(node: Any) -> None:
    """Raise `ValueError` for a field of the wrong shape; of a shape of your own nothing is known.

    >>> from funcenv.scene import Circle
    >>> require_fields(Circle((0.0, 0.0), 1.0, (1.0, 0.0, 0.0)))
    Traceback (most recent call last):
        ...
    ValueError: color of a Circle must have shape [4], got [3]; rgba(...) gives a colour with its opacity
    """
    for name, wanted in _FIELDS.get(type(node), {}).items():
        value = getattr(node, name)
        if value is None:
            continue
        shape = _shape(value)
        fits = len(shape) == len(wanted) and all(size in (None, n) for size, n in zip(wanted, shape, strict=True))
        if not fits or (name in _LEAST and shape[0] < _LEAST[name]):
            raise ValueError(
                f"{name} of a {type(node).__name__} must have shape {_show(name, wanted)}, got {list(shape)}; "
                f"{_remedy(wanted, shape)}"
            )


def _shape(value: Any) -> tuple[int, ...]:
    """Of an array, or of tuples of arrays, which may be traced."""
    if isinstance(value, (tuple, list)):
        return (len(value), *(_shape(value[0]) if value else ()))
    return np.shape(value)


def _show(name: str, wanted: tuple[int | None, ...]) -> str:
    sizes = [f"{_LEAST[name]} or more" if size is None and name in _LEAST else size for size in wanted]
    return "[" + ", ".join("n" if size is None else str(size) for size in sizes) + "]"


def _remedy(wanted: tuple[int | None, ...], shape: tuple[int, ...]) -> str:
    if wanted == _COLOR and shape == (3,):
        return "rgba(...) gives a colour with its opacity"
    if len(shape) == len(wanted) + 1:
        return "draw a batch of scenes with jax.vmap or mosaic, and several shapes of one kind with Many"
    return "lengths and angles are single numbers, points [2], colours [4]"
