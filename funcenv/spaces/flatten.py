"""Members as vectors, for learning code: functions with the names and arguments that Gymnasium gives them.

Each space defines how it flattens (`Space.flattened`, `flatten`, `unflatten`). As in Gymnasium, `Sequence` and `Graph`,
and products that contain one, flatten to a space of the same kind with flat parts. Every other space flattens to a
`Box` with one axis. Parts of different dtypes are promoted by JAX's rules: int32 and float32 to float32 (in Gymnasium,
to float64), which rounds integers beyond 2**24.
"""

from __future__ import annotations

from typing import Any, TypeVar

from funcenv.spaces.space import AnySpace, Space

T = TypeVar("T")


def flatdim(space: AnySpace) -> int:
    """Return the length of a flattened member.

    Raises:
        ValueError: Members of the space do not flatten to a vector.

    >>> from funcenv.spaces import Dict, Discrete
    >>> flatdim(Dict(position=Discrete(2), velocity=Discrete(3)))
    5
    """
    flat = _space("flatdim", space).flattened
    if flat.shape is None:
        raise ValueError(
            f"{space!r} flattens to {flat!r}, not to a vector, because it holds a Sequence or a Graph; "
            "flatten the other parts by themselves"
        )
    return flat.shape[0]


def flatten_space(space: AnySpace) -> AnySpace:
    """Return the space of flattened members: a `Box` with one axis, unless `space` contains a `Sequence` or `Graph`.

    >>> from funcenv.spaces import Box, Discrete, Tuple
    >>> flatten_space(Tuple([Discrete(2), Box(0, 1, (2, 2))]))
    Box(0.0, 1.0, (6,), float32)
    """
    return _space("flatten_space", space).flattened


def flatten(space: AnySpace, x: Any) -> Any:
    """Convert a member to a member of `flatten_space(space)`.

    Arrays of a box are read in row-major order, integers become one-hot vectors, and the vectors of a product's parts
    are joined end to end.

    Raises:
        ValueError: An array in `x` has another shape than members have.

    >>> from funcenv.spaces import Discrete, Tuple
    >>> flatten(Tuple([Discrete(2), Discrete(3, start=-1)]), (1, -1)).tolist()
    [0, 1, 1, 0, 0]
    """
    return _space("flatten", space).flatten(x)


def unflatten(space: Space[T], x: Any) -> T:
    """Convert a flattened member back to a member.

    A vector that is not one-hot stands for the member at its first entry that is not 0, or for the smallest member if
    all entries are 0, where Gymnasium raises an error.

    Raises:
        ValueError: `x` has another length.

    >>> from funcenv.spaces import Discrete
    >>> int(unflatten(Discrete(3, start=-1), [0, 0, 1]))
    1
    """
    return _space("unflatten", space).unflatten(x)


def _space(function: str, space: Any) -> Any:
    if not isinstance(space, Space):
        raise TypeError(f"{function} takes a funcenv space first, got {space!r}")
    return space
