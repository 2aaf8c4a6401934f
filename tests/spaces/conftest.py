"""The zoo: one space of every kind beside Gymnasium's of the same name, and a guard against keys used twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium.spaces
import jax
import numpy as np
import pytest

import funcenv


def zoo(spaces: Any) -> list[Any]:
    """Return the same spaces from either library. Integers are int32, the default here; that of Gymnasium is int64."""
    integers = {"dtype": np.int32}
    return [
        spaces.Box(-1, 1, (2, 3)),
        spaces.Box(0, 1),
        spaces.Box(np.array([-np.inf, 0, -np.inf, -2], np.float32), np.array([np.inf, np.inf, 1, 3], np.float32)),
        spaces.Box(0, 255, (3, 2), np.uint8),
        spaces.Box(-np.inf, 5, (2,), np.int32),
        spaces.Box(-3, 70_000, (2,), np.int32),
        spaces.Box(0, 1, (3,), bool),
        spaces.Box(0, 1, (0,)),
        spaces.Discrete(5, start=-2, **integers),
        spaces.Discrete(70_000, **integers),
        spaces.MultiDiscrete([3, 2], **integers),
        spaces.MultiDiscrete([[3, 1], [2, 70_000]], start=[[0, -4], [7, 0]], **integers),
        spaces.MultiBinary(4),
        spaces.MultiBinary([2, 3]),
        spaces.Tuple([spaces.Discrete(2, **integers), spaces.Box(-1, 1, (2,))]),
        spaces.Dict({"b": spaces.Discrete(2, **integers), "a": spaces.Box(-1, 1, (2,))}),
        spaces.Dict(b=spaces.MultiBinary(2), a=spaces.Tuple([spaces.Text(2), spaces.Box(0, 1)])),
        spaces.Text(5),
        spaces.Text(4, min_length=0, charset="zab"),
        spaces.Sequence(spaces.Discrete(3, start=1, **integers)),
        spaces.Sequence(spaces.Box(0, 1, (2,)), stack=True),
        spaces.Sequence(spaces.Dict(x=spaces.Text(3), y=spaces.Discrete(2, **integers))),
        spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3, **integers)),
        spaces.Graph(spaces.Discrete(3, **integers), None),
        spaces.OneOf([spaces.Discrete(3, **integers), spaces.Box(-2, 1, (2,)), spaces.MultiBinary(4)]),
        spaces.OneOf([spaces.Discrete(2, **integers)] * 3),
        spaces.Tuple([spaces.Sequence(spaces.Discrete(2, **integers)), spaces.Discrete(2, **integers)]),
    ]


PAIRS = list(zip(zoo(funcenv.spaces), zoo(gymnasium.spaces), strict=True))


@pytest.fixture(params=PAIRS, ids=lambda pair: str(pair[0]).replace("\n", ""))
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """Return a space of every kind, and Gymnasium's, with its own seed."""
    space, reference = request.param
    reference.seed(0)
    return space, reference


@pytest.fixture(params=[space for space, _ in PAIRS], ids=lambda space: str(space).replace("\n", ""))
def space(request: pytest.FixtureRequest) -> Any:
    """Return a space of every kind."""
    return request.param


@pytest.fixture(autouse=True)
def no_key_is_used_twice() -> Iterator[None]:
    """Raise an error where a key is used twice."""
    with jax.debug_key_reuse(True):
        yield


@pytest.fixture(scope="session")
def draws() -> Callable[..., Any]:
    """Return a function that draws members in one compiled program, stacked, as NumPy arrays."""

    def draw(space: Any, n: int, seed: int = 0, **choice: Any) -> Any:
        keys = jax.random.split(funcenv.key(seed), n)
        return jax.device_get(jax.jit(jax.vmap(lambda key: space.sample(key, **choice)))(keys))

    return draw


@pytest.fixture(scope="session")
def same() -> Callable[[Any, Any], None]:
    """Return a function that compares two pytrees: structure, dtypes, and every bit."""

    def compare(actual: Any, expected: Any) -> None:
        assert jax.tree.structure(actual) == jax.tree.structure(expected)
        for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)

    return compare
