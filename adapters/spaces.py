"""Spaces that draw by themselves, for the stateful environments.

A pure space takes a key for every draw. Here is the space that Gymnasium documents, with a generator of its own:
`env.action_space.sample()`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar

import jax
import numpy as np

from funcenv.adapters.seeding import draw_key, np_random
from funcenv.random import default_impl
from funcenv.spaces import Space as PureSpace

T = TypeVar("T")

_MOST_MEMBERS = 64  # drawn by one compiled call
_MOST_NUMBERS = 4096  # in all of them


class Space(Generic[T]):
    """A pure space with a generator of its own.

    Everything but `sample` and `seed` is that of the pure space: attributes, `==`, `hash`, `repr`, and what
    `isinstance` says, so that `isinstance(env.action_space, funcenv.spaces.Discrete)` holds. Members are NumPy arrays
    and scalars, in the form that the Gymnasium space of the same name has.

    The generator is made when it is first needed, from the system's entropy unless there is a seed. Members are drawn
    in blocks of up to 64: the generator moves on once a block. The parts of a `Dict` or `Tuple`, `space["name"]`,
    draw from the generator of the whole.

    Args:
        pure: the space to draw from.
        seed: a non-negative integer, or a generator to use.

    Attributes:
        pure: the pure space, whose `sample` takes a key.

    Raises:
        TypeError: `pure` is no space.

    >>> from funcenv.spaces import Discrete
    >>> space = Space(Discrete(6), seed=0)
    >>> member = space.sample()
    >>> member in space, space.n, space, space == Discrete(6)
    (True, 6, Discrete(6), True)
    >>> int(space.sample(mask=np.array([0, 0, 0, 1, 0, 0])))
    3
    >>> space.seed(0), bool(space.sample() == member)
    (0, True)
    """

    def __init__(self, pure: PureSpace[T], seed: int | np.random.Generator | None = None) -> None:
        if not isinstance(pure, PureSpace):
            raise TypeError(f"Space is made of a space of funcenv.spaces, got {pure!r}")
        self.pure: PureSpace[T] = pure.pure if isinstance(pure, Space) else pure
        if isinstance(seed, np.random.Generator):
            self.np_random = seed
        else:
            self._np_random: np.random.Generator | None = None
            self._np_random_seed: int | None = None
            self._left = 0  # members of the block that are still to be handed out
            if seed is not None:
                self.seed(seed)

    def seed(self, seed: int | None = None) -> int:
        """Begin anew from a seed, or from the system's entropy; returns the seed.

        Raises:
            TypeError: the seed is not an integer.
            ValueError: the seed is negative.
        """
        self._np_random, self._np_random_seed = np_random(seed)
        self._left = 0
        return self._np_random_seed

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw a member.

        Args:
            mask: what may be drawn, as the pure space defines it: for `Discrete(n)`, `[n]` of 0 and 1.
            probability: how likely each choice is. Not together with `mask`.

        Returns:
            A fresh array, a NumPy scalar where it has no axes, or a container of these; a string for `Text`.

        Raises:
            ValueError: an impossible mask or probability, or one that this kind of space does not take.
        """
        if mask is not None or probability is not None:
            return self._plain(self.pure.sample(draw_key(self.np_random), mask, probability))
        if self._left == 0:
            self._draw_block()
        self._left -= 1
        if self._single:
            return self._block[self._left].copy()
        return self._plain(jax.tree.map(lambda leaf: leaf[self._left], self._block))

    def contains(self, x: Any) -> bool:
        """Whether `x` is a member."""
        return bool(self.pure.contains(x))

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that members are drawn from; it can be set."""
        if self._np_random is None:
            self.seed()
        assert self._np_random is not None  # for the type checker: seed sets it
        return self._np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self._np_random, self._np_random_seed, self._left = generator, -1, 0

    @property
    def np_random_seed(self) -> int:
        """The seed of the generator: `space.seed(space.np_random_seed)` replays. -1 if the generator was set."""
        if self._np_random_seed is None:
            return self.seed()
        return self._np_random_seed

    @property
    def spaces(self) -> Any:
        """The parts of a `Dict`, by name, or of a `Tuple` or `OneOf`, in order; they share this generator."""
        parts: Any = self.pure.spaces  # type: ignore[attr-defined]  # AttributeError is right where there are none
        if isinstance(parts, dict):
            return {name: Space(part, self.np_random) for name, part in parts.items()}
        return tuple(Space(part, self.np_random) for part in parts)

    def _draw_block(self) -> None:
        program = _block_program(self.pure)
        words = self.np_random.integers(0, 2**32, program.num_words, np.uint32)  # of the key
        block = jax.tree.map(np.array, program.draw(words))
        self._block, self._left, self._single = block, program.num_members, isinstance(block, np.ndarray)

    def _plain(self, member: Any) -> Any:
        """Fresh NumPy values in the form that Gymnasium gives them."""
        return jax.tree.map(
            lambda leaf: np.array(leaf)[()] if isinstance(leaf, (np.ndarray, jax.Array)) else leaf,
            self.pure.unpack(member),
        )

    @property  # type: ignore[misc]  # as for any object that stands for another, such as weakref.proxy
    def __class__(self) -> type:
        return type(self.pure)

    def __getattr__(self, name: str) -> Any:
        if name == "pure" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        if name in ("items", "values"):
            return getattr(self.spaces, name)
        return getattr(self.pure, name)

    def __contains__(self, x: Any) -> bool:
        return self.contains(x)

    def __getitem__(self, key: Any) -> Space[Any]:
        return self.spaces[key]

    def __len__(self) -> int:
        return len(self.pure)  # type: ignore[arg-type]  # TypeError is right where there are no parts

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.spaces)

    def __eq__(self, other: object) -> bool:
        return self.pure == (other.pure if type(other) is Space else other)

    def __hash__(self) -> int:
        return hash(self.pure)

    def __repr__(self) -> str:
        return repr(self.pure)

    def __reduce__(self) -> tuple[Callable[..., Space[T]], tuple[PureSpace[T], dict[str, Any]]]:
        return _restored, (self.pure, {name: value for name, value in vars(self).items() if name != "pure"})


def _restored(pure: PureSpace[T], generator_and_block: dict[str, Any]) -> Space[T]:
    space = Space(pure)
    vars(space).update(generator_and_block)
    return space


class _BlockProgram:
    """A compiled draw of a block of members, from the words of a key."""

    def __init__(self, pure: PureSpace[Any], impl: Hashable) -> None:
        key = jax.eval_shape(lambda: jax.random.key(0, impl=impl))
        numbers = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(jax.eval_shape(pure.sample, key)))
        self.num_members = max(1, min(_MOST_MEMBERS, _MOST_NUMBERS // max(numbers, 1)))
        self.num_words = jax.eval_shape(jax.random.key_data, key).size

        def draw(words: jax.Array) -> Any:
            keys = jax.random.split(jax.random.wrap_key_data(words, impl=impl), self.num_members)
            return jax.vmap(pure.sample)(keys)

        self.draw = jax.jit(draw)


def _block_program(pure: PureSpace[Any]) -> _BlockProgram:
    """Shared between equal spaces; made anew for a space that cannot be hashed."""
    impl = default_impl()
    try:
        hash(pure)
    except TypeError:
        return _BlockProgram(pure, impl)
    return _shared_program(pure, impl)


_shared_program = functools.lru_cache(maxsize=64)(_BlockProgram)
