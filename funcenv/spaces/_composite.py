"""What spaces made of other spaces share: checks of their parts, and how parts are drawn."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Shaped

from funcenv.spaces._dtypes import canonical, promote, with_shape
from funcenv.spaces._sampling import require_one
from funcenv.spaces.box import Box, concatenate_boxes
from funcenv.spaces.space import Space


def require_space(where: str, space: Any) -> None:
    """Raise `TypeError` unless `space` is a space.

    >>> require_space("Tuple entry 0", 3)
    Traceback (most recent call last):
        ...
    TypeError: Tuple entry 0 must be a funcenv space, got 3
    """
    if not isinstance(space, Space):
        hint = "; convert it first" if type(space).__module__.startswith(("gymnasium", "gym.")) else ""
        raise TypeError(f"{where} must be a funcenv space, got {space!r}{hint}")


def entries_by_index(name: str, entries: Any, n: int) -> dict[int, Any] | None:
    """A mask for each of `n` spaces, or a probability: the entries of a tuple by their index.

    >>> entries_by_index("mask", (None,), 2)
    Traceback (most recent call last):
        ...
    ValueError: mask must have one entry for each of the 2 spaces, got 1; None stands for no restriction
    """
    if entries is None:
        return None
    if not isinstance(entries, tuple):
        raise TypeError(f"{name} must be a tuple with an entry or None for each space, got {entries!r}")
    if len(entries) != n:
        raise ValueError(
            f"{name} must have one entry for each of the {n} spaces, got {len(entries)}; None stands for no restriction"
        )
    return dict(enumerate(entries))


def sample_parts(
    spaces: dict[Hashable, Space[Any]],
    key: jax.Array,
    masks: dict[Any, Any] | None,
    probabilities: dict[Any, Any] | None,
) -> list[Any]:
    """One member of each space, drawn independently, each with its own key and its own mask or probability."""
    require_one(masks, probabilities)
    keys = jax.random.split(key, len(spaces))
    return [
        space.sample(
            keys[i],
            mask=None if masks is None else masks[name],
            probability=None if probabilities is None else probabilities[name],
        )
        for i, (name, space) in enumerate(spaces.items())
    ]


def contains_parts(pairs: Iterable[tuple[Space[Any], Any]]) -> Bool[Array, ""]:
    """Whether every value lies in its space; an empty product holds its one empty member."""
    inside = jnp.ones((), bool)
    for space, value in pairs:
        inside &= space.contains(value)
    return inside


def join_boxes(parts: Iterable[Space[Any]]) -> Box | None:
    """The box of the flattened parts end to end, in the dtype that holds all of theirs; None unless all are boxes."""
    boxes: list[Box] = []
    for part in parts:
        if not isinstance(part, Box):
            return None
        boxes.append(part)
    return concatenate_boxes(boxes, promote([box.dtype for box in boxes]) if boxes else np.dtype(np.float32))


def join_flat(flats: Sequence[jax.Array], dtype: np.dtype[Any]) -> Shaped[Array, "size"]:
    """Flattened parts end to end."""
    return jnp.concatenate([jnp.zeros(0, canonical(dtype)), *(flat.astype(canonical(dtype)) for flat in flats)])


def split_flat(flat: Any, sizes: Iterable[int], dtype: np.dtype[Any]) -> list[jax.Array]:
    """The parts that `join_flat` joined."""
    ends = np.cumsum([0, *sizes])
    vector = with_shape("a flattened member", flat, (int(ends[-1]),), dtype)
    return [vector[start:end] for start, end in itertools.pairwise(ends)]
