"""Members as vectors, for learning code that knows nothing else: functions with the names that Gymnasium gives them.

Each space says itself how it flattens (`Space.flattened`, `flatten`, `unflatten`). `Sequence` and `Graph`, and products
that hold one, flatten to a space of the same kind with flat parts, as in Gymnasium; everything else to a `Box` with one
axis. Parts of different dtypes meet in the dtype that JAX promotes them to: int32 and float32 in float32 (Gymnasium:
float64), so an integer beyond 2**24 is rounded there.
"""

from __future__ import annotations

from typing import Any, TypeVar

from funcenv.spaces.space import Space

T = TypeVar("T")


def flatdim(space: Space[Any]) -> int:
    """Length of a flattened member.

    Raises:
        ValueError: members of the space do not flatten to a vector.

    >>> from funcenv.spaces import Dict, Discrete
    >>> flatdim(Dict(position=Discrete(2), velocity=Discrete(3)))
    5
    """
    flat = space.flattened
    if flat.shape is None:
        raise ValueError(
            f"{space!r} flattens to {flat!r}, not to a vector, because it holds a Sequence or a Graph; "
            "flatten the other parts by themselves"
        )
    return flat.shape[0]


def flatten_space(space: Space[Any]) -> Space[Any]:
    """The space of the flattened members: a `Box` with one axis, unless the space holds a `Sequence` or a `Graph`.

    >>> from funcenv.spaces import Box, Discrete, Tuple
    >>> flatten_space(Tuple([Discrete(2), Box(0, 1, (2, 2))]))
    Box(0.0, 1.0, (6,), float32)
    """
    return space.flattened


def flatten(space: Space[Any], x: Any) -> Any:
    """A member as a member of `flatten_space(space)`.

    Boxes are read row by row, integers become one-hot vectors, products the vectors of their parts end to end.

    Raises:
        ValueError: an array in `x` has another shape than members have.

    >>> from funcenv.spaces import Discrete, Tuple
    >>> flatten(Tuple([Discrete(2), Discrete(3, start=-1)]), (1, -1)).tolist()
    [0, 1, 1, 0, 0]
    """
    return space.flatten(x)


def unflatten(space: Space[T], x: Any) -> T:
    """The member that `flatten` made `x` of.

    A vector that no member flattens to is read as well as it can be: a one-hot vector by its first entry that is not
    0, as `start` where there is none (Gymnasium raises there).

    Raises:
        ValueError: `x` has another length.

    >>> from funcenv.spaces import Discrete
    >>> int(unflatten(Discrete(3, start=-1), [0, 0, 1]))
    1
    """
    return space.unflatten(x)
