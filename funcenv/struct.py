"""Immutable dataclasses that are pytrees: the base of every state, time step and environment.

`PyTreeNode` has the contract of `flax.struct.PyTreeNode`: a frozen dataclass whose fields are children of a pytree,
`field(pytree_node=False)` for static fields, and `replace`. The field metadata are the same, so `flax.struct.field`
works here too. Two things differ. Importing this module does not import flax. And JAX rebuilds a record without
calling `__init__`, so `__post_init__` checks only what a user passes, never the placeholders inside transformations.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, dataclass_transform

import jax
import numpy as np

from funcenv.hints import IN_TIMESTEP, raise_missing

NDArray: TypeAlias = np.ndarray[Any, Any]  # an array of any shape and dtype


NEVER_BATCHED = -1
"""The `ndim` of a field whose arrays, of any number of axes, belong to a single environment."""

_MAX_SHOWN = 200  # characters of a field in a one-line description


def field(*, pytree_node: bool = True, ndim: int | None = None, **kwargs: Any) -> Any:
    """Define a dataclass field, as `flax.struct.field` does.

    Args:
        pytree_node: whether the field is a child of the pytree. Otherwise it is static: part of the tree's structure,
            fixed when a program is compiled.
        ndim: the number of axes of an array-valued parameter without a default; an array with one axis more is a batch.
            `NEVER_BATCHED` is for data that a batch of environments shares, whatever their axes.
        **kwargs: arguments of `dataclasses.field`.

    >>> class Grid(PyTreeNode):
    ...     wind: float = 0.0
    ...     size: int = field(pytree_node=False, default=4)
    >>> jax.tree.leaves(Grid(wind=1.5))
    [1.5]
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "pytree_node": pytree_node, "ndim": ndim}
    return dataclasses.field(metadata=metadata, **kwargs)


@dataclass_transform(frozen_default=True, field_specifiers=(field, dataclasses.field))
class PyTreeNode:
    """The base class of records: every subclass becomes a frozen dataclass and a pytree node.

    >>> class Point(PyTreeNode):
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0).replace(y=2.0)
    Point(x=1.0, y=2.0)
    >>> jax.tree.map(lambda leaf: leaf + 1, Point(1.0))
    Point(x=2.0, y=1.0)
    >>> Point(1.0).x = 2.0
    Traceback (most recent call last):
        ...
    dataclasses.FrozenInstanceError: a Point cannot be changed; make another one with replace(x=...)

    Raises:
        TypeError: The default of a field is an array or a container, which all instances would share.
    """

    _names_elsewhere = IN_TIMESTEP  # remedies for attributes that other libraries have

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()
        _refuse_shared_defaults(cls)
        dataclasses.dataclass(frozen=True, **kwargs)(cls)
        cls.__setattr__ = _refuse_assignment  # type: ignore[method-assign]  # dataclass made one, too
        _register(cls)

    if not TYPE_CHECKING:  # where it would hide misspelt attributes

        def __getattr__(self, name: str) -> Any:
            """Say what takes the place of an attribute that is missing."""
            return raise_missing(self, name, type(self).__name__, self._names_elsewhere)

        def __getitem__(self, index: Any) -> NoReturn:
            """Refuse to be indexed, as dicts and arrays are."""
            owner = type(self).__name__
            if isinstance(index, str):
                raise TypeError(f"a {owner} has attributes and no keys, got [{index!r}]; write .{index}")
            raise TypeError(
                f"a {owner} has fields and no rows, got [{index!r}]; take a row of each field with "
                f"jax.tree.map(lambda leaf: leaf[{index!r}], ...)"
            )

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Raises:
            TypeError: There is no field with one of the names.

        >>> class Point(PyTreeNode):
        ...     x: float
        >>> Point(1.0).replace(z=1.0)
        Traceback (most recent call last):
            ...
        TypeError: Point has no field 'z'; its fields are: x
        """
        names = [entry.name for entry in dataclasses.fields(self)]  # type: ignore[arg-type]  # every subclass is a dataclass
        for name in changes:
            if name not in names:
                remedy = unknown_field_remedy(type(self), name, f"its fields are: {', '.join(names) or 'none'}")
                raise TypeError(f"{type(self).__name__} has no field {name!r}; {remedy}")
        return type(self)(**{name: vars(self)[name] for name in names} | changes)


def unknown_field_remedy(cls: type, name: str, otherwise: str) -> str:
    """Return what to do about a name that is no field of a record: another spelling, an annotation, or `otherwise`.

    >>> class Wind(PyTreeNode):
    ...     speed: float = 0.5
    ...     angle = 0.0
    >>> unknown_field_remedy(Wind, "sped", "look again"), unknown_field_remedy(Wind, "colour", "look again")
    ('did you mean speed?', 'look again')
    >>> unknown_field_remedy(Wind, "angle", "look again")
    'in the class Wind it has no annotation; make it a parameter: angle: float = ...'
    """
    if name in unannotated_values(cls):
        return f"in the class {cls.__name__} it has no annotation; make it a parameter: {name}: float = ..."
    names = [entry.name for entry in dataclasses.fields(cls)]
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return f"did you mean {close[0]}?" if close else otherwise


def unannotated_values(cls: type) -> dict[str, Any]:
    """Return the class attributes, by name, that look like fields but have no annotation.

    These are numbers and arrays, unless their name is in capitals, private, or overrides an attribute of a base class.

    >>> class Wind(PyTreeNode):
    ...     speed = 0.5
    ...     LIMIT = 2.0
    >>> unannotated_values(Wind)
    {'speed': 0.5}
    """
    annotated = {name for base in cls.__mro__ for name in base.__dict__.get("__annotations__", ())}
    return {
        name: value
        for base in cls.__mro__
        for name, value in vars(base).items()
        if isinstance(value, (int, float, np.generic, np.ndarray, jax.Array))
        and not (name.startswith("_") or name.isupper() or name in annotated)
        and not any(hasattr(parent, name) for parent in base.__bases__)
    }


def changed_fields(node: Any) -> list[str]:
    """Return the fields that differ from their defaults, each as `name=value` in one line.

    A field without a default always differs. Of a larger array, the dtype and shape are shown.

    >>> class Wind(PyTreeNode):
    ...     place: str
    ...     speed: Any = 0.5
    ...     angle: float = 0.0
    >>> changed_fields(Wind("north", speed=np.ones((2, 3))))
    ["place='north'", 'speed=float64[2,3]']
    """
    changed = []
    for entry in dataclasses.fields(node):
        value = vars(node).get(entry.name)
        default = entry.default if entry.default_factory is dataclasses.MISSING else entry.default_factory()
        if not _is_same(value, default):
            changed.append(f"{entry.name}={_in_one_line(value)}")
    return changed


def _is_same(value: Any, default: Any) -> bool:
    """Return whether a field surely has its default; a value that is traced may have another one."""
    if value is default:
        return True
    if isinstance(value, jax.core.Tracer) or default is dataclasses.MISSING:
        return False
    numbers = int, float, np.generic, np.ndarray, jax.Array
    if isinstance(value, numbers) and isinstance(default, numbers):
        return np.shape(value) == np.shape(default) and bool(np.all(np.asarray(value) == np.asarray(default)))
    if isinstance(value, tuple) and isinstance(default, tuple):
        return len(value) == len(default) and all(map(_is_same, value, default))
    return type(value) is type(default) and isinstance(value, (str, enum.Enum)) and value == default


def _in_one_line(value: Any) -> str:
    if isinstance(value, (np.ndarray, jax.Array)) and not isinstance(value, jax.core.Tracer) and value.size == 1:
        return repr(value.reshape(()).item())
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{','.join(str(size) for size in value.shape)}]"
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    text = " ".join(repr(value).split())
    return text if len(text) <= _MAX_SHOWN else f"{type(value).__name__}(...)"


def parameter_ndim(node: Any, path: tuple[Any, ...]) -> int:
    """Return how many axes the parameter at `path` has in a single environment `node`.

    `funcenv.field(ndim=...)` decides; else the default of the field; else the parameter is a scalar.
    """
    entry, default = _field_at(node, path), parameter_default(node, path)
    declared: int | None = None if entry is None else entry.metadata.get("ndim")
    if declared == NEVER_BATCHED:
        return int(np.ndim(_leaf_at(node, path)))
    if declared is not None:
        return declared
    return 0 if default is None else int(np.ndim(default))


def parameter_default(node: Any, path: tuple[Any, ...]) -> Any:
    """Return the default of the parameter at `path`, if it is a number or an array; else None."""
    entry = _field_at(node, path)
    default = None if entry is None else entry.default
    return default if isinstance(default, (int, float, np.generic, np.ndarray, jax.Array)) else None


def _field_at(node: Any, path: tuple[Any, ...]) -> dataclasses.Field[Any] | None:
    """Return the field that holds the parameter at `path`."""
    owner: Any = node
    entry = None
    for step in path:
        if isinstance(step, jax.tree_util.GetAttrKey):
            owner = owner if entry is None else getattr(owner, entry.name)
            entry = next(entry for entry in dataclasses.fields(owner) if entry.name == step.name)
            continue
        value = _member(owner, entry, step)
        if not isinstance(value, PyTreeNode):
            break  # The rest of the path lies inside a list or dict, which is the value of the field.
        owner, entry = value, None
    return entry


def _member(owner: Any, entry: dataclasses.Field[Any] | None, step: Any) -> Any:
    """Return what an index finds in the tuple or list of a field, which does not itself declare its parameters."""
    if entry is None or entry.metadata.get("ndim") is not None or not isinstance(step, jax.tree_util.SequenceKey):
        return None
    return getattr(owner, entry.name)[step.idx]


def _leaf_at(node: Any, path: tuple[Any, ...]) -> Any:
    """Return the parameter at `path`."""
    for step in path:
        node = getattr(node, step.name) if isinstance(step, jax.tree_util.GetAttrKey) else node[_index(step)]
    return node


def _index(step: Any) -> Any:
    return step.idx if isinstance(step, jax.tree_util.SequenceKey) else step.key


def _refuse_shared_defaults(cls: type) -> None:
    for name in cls.__dict__.get("__annotations__", ()):
        default = cls.__dict__.get(name)
        if isinstance(default, (list, dict, set, np.ndarray, jax.Array)):
            ndim = f", ndim={default.ndim}" if isinstance(default, (np.ndarray, jax.Array)) else ""
            raise TypeError(
                f"the default of {cls.__name__}.{name} is of type {type(default).__name__}, which all instances would "
                f"share; write {name} = funcenv.field(default_factory=lambda: ...{ndim})"
            )


def _refuse_assignment(self: Any, name: str, value: Any) -> None:
    if name not in {entry.name for entry in dataclasses.fields(self)}:
        kind = type(value).__name__ if isinstance(value, (bool, int, float, str)) else "..."
        raise dataclasses.FrozenInstanceError(
            f"a {type(self).__name__} cannot be changed, and has no field {name!r}; declare one in the class, in place "
            f"of __init__: {name}: {kind} = ..."
        )
    raise dataclasses.FrozenInstanceError(
        f"a {type(self).__name__} cannot be changed; make another one with replace({name}=...)"
    )


def _register(cls: type[PyTreeNode]) -> None:
    """Register a dataclass as a pytree, with its children and its static fields."""
    entries = dataclasses.fields(cls)  # type: ignore[arg-type]  # decorated just before
    children = tuple(entry.name for entry in entries if entry.metadata.get("pytree_node", True))
    static = tuple(entry.name for entry in entries if not entry.metadata.get("pytree_node", True))
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in children)

    children_of, static_of = _getter(children), _getter(static)

    def flatten(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        fields = node.__dict__
        return children_of(fields), static_of(fields)

    def flatten_with_keys(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        values, choices = flatten(node)
        return tuple(zip(keys, values, strict=True)), choices

    def unflatten(choices: tuple[Any, ...], values: Iterable[Any]) -> Any:
        node = object.__new__(cls)
        node.__dict__.update(zip(static, choices, strict=True))
        node.__dict__.update(zip(children, values, strict=True))
        return node

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def _getter(names: tuple[str, ...]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return a fast function that reads all names at once, because every call of a compiled function flattens trees."""
    if len(names) > 1:
        return operator.itemgetter(*names)
    if not names:
        return lambda fields: ()
    (name,) = names
    return lambda fields: (fields[name],)
