"""The fields of shapes: what each one holds, how it is checked, and how a motion of the plane changes it.

A shape declares its fields with the annotations below: `center: Point`, `radius: Length`. The annotation of a field
fixes the shape of its array and what a motion does to it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np

Tree = TypeVar("Tree")


class Motion(NamedTuple):
    """A similarity transform of the plane: scale about the origin, then rotate about it, then shift."""

    shift: tuple[Any, Any]
    angle: Any  # None: no rotation, so that upright shapes stay upright
    scale: Any

    def point(self, points: Any) -> Any:
        """Return points `[..., 2]` after the motion."""
        points = jnp.asarray(points, jnp.float32) * self.scale
        x, y = points[..., 0], points[..., 1]
        if self.angle is not None:
            cos, sin = jnp.cos(self.angle), jnp.sin(self.angle)
            x, y = cos * x - sin * y, sin * x + cos * y
        return jnp.stack([self.shift[0] + x, self.shift[1] + y], axis=-1)

    def size(self, size: Any) -> Any:
        """Return a width and a height after the motion."""
        return jnp.stack([size[0] * self.scale, size[1] * self.scale])

    def length(self, length: Any) -> Any:
        """Return a length after the motion; None stays None."""
        return None if length is None else length * self.scale

    def direction(self, angle: Any) -> Any:
        """Return an angle after the motion; None is an angle of 0."""
        return angle if self.angle is None else self.angle + (0.0 if angle is None else angle)


class Form(NamedTuple):
    """The kind of value that a field holds."""

    shape: tuple[int | None, ...]  # None: any size; a negative size is a minimum, so -3 is 3 or more
    transform: Callable[[Motion, Any], Any] | None = None  # None: a motion leaves the field as it is


Number = Annotated[Any, Form(())]
Length = Annotated[Any, Form((), Motion.length)]
Angle = Annotated[Any, Form((), Motion.direction)]
Point = Annotated[Any, Form((2,), Motion.point)]
Size = Annotated[Any, Form((2,), Motion.size)]
Corners = Annotated[Any, Form((-3, 2), Motion.point)]
Heights = Annotated[Any, Form((-2,))]
Codes = Annotated[Any, Form((None,))]
Texels = Annotated[Any, Form((None, None, 4))]
Color = Annotated[Any, Form((4,))]


@functools.cache
def declared_forms(kind: type) -> dict[str, Form]:
    """Return the form of each field of a class whose annotation declares one."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:  # the class is defined inside a function and refers to names there
        return {}
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


def require_fields(node: Any) -> None:
    """Raise `ValueError` for a field of the wrong shape; fields without a declared form pass.

    >>> from funcenv.scene import Circle
    >>> require_fields(Circle((0.0, 0.0), 1.0, (1.0, 0.0, 0.0)))
    Traceback (most recent call last):
        ...
    ValueError: color of a Circle must have shape [4], got [3]; rgba(...) gives a colour with its opacity
    """
    kind: Any = type(node)
    for name, form in declared_forms(kind).items():
        value = getattr(node, name)
        if value is not None and not _fits(shape := _shape(value), form.shape):
            raise ValueError(
                f"{name} of a {type(node).__name__} must have shape {_show(form.shape)}, got {list(shape)}; "
                f"{_remedy(form.shape, shape)}"
            )


def refuse_color_names(node: Any) -> None:
    """Raise `ValueError` for a colour that is a string, which no program can trace.

    >>> from funcenv.scene import Circle
    >>> Circle((0.0, 0.0), 1.0, "red")
    Traceback (most recent call last):
        ...
    ValueError: color of a Circle must be four numbers, got 'red'; write rgba('#d14a58'), or palette.RED of
        funcenv.scene
    """
    kind: Any = type(node)  # mypy does not take the type for hashable
    for name, form in declared_forms(kind).items():
        value = getattr(node, name)
        if form.shape == (4,) and isinstance(value, str):
            raise ValueError(
                f"{name} of a {type(node).__name__} must be four numbers, got {value!r}; "
                f"write rgba({value if value.startswith('#') else '#d14a58'!r}), or palette.RED of funcenv.scene"
            )


def canonical(tree: Tree, xp: Any = jnp) -> Tree:
    """Convert every leaf to the dtype that its field is drawn in, whatever number a user wrote there.

    Codes of characters become int32, images stay uint8, and everything else becomes float32.

    Args:
        tree: scenes, shapes or parts of them.
        xp: `jax.numpy`; or `numpy`, which keeps leaves that are not JAX arrays on the host.
    """

    def convert(path: tuple[Any, ...], leaf: Any) -> Any:
        if getattr(leaf, "dtype", None) == np.uint8:
            return leaf
        dtype = np.int32 if getattr(path[-1], "name", "") == "codes" else np.float32
        return (jnp if isinstance(leaf, jax.Array) else xp).asarray(leaf, dtype)

    return jax.tree_util.tree_map_with_path(convert, tree)


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of tuples of arrays; either may be traced."""
    if isinstance(value, (tuple, list)):
        return (len(value), *(_shape(value[0]) if value else ()))
    return np.shape(value)


def _fits(shape: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    return len(shape) == len(expected) and all(
        wanted is None or size == wanted or size >= -wanted > 0 for size, wanted in zip(shape, expected, strict=True)
    )


def _show(expected: tuple[int | None, ...]) -> str:
    names = ["n" if size is None else f"{-size} or more" if size < 0 else str(size) for size in expected]
    return f"[{', '.join(names)}]"


def _remedy(expected: tuple[int | None, ...], shape: tuple[int, ...]) -> str:
    if expected == (4,) and shape == (3,):
        return "rgba(...) gives a colour with its opacity"
    if len(shape) == len(expected) + 1:
        return "draw a batch of scenes with jax.vmap or mosaic, and several shapes of one kind with Repeat"
    return "lengths and angles are single numbers, points [2], colours [4]"
