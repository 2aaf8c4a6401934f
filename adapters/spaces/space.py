"""A space with a generator, for the stateful environments: `env.action_space.sample()` takes no key."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import jax
import numpy as np

from funcenv._compile.options import jit_quickly
from funcenv._compile.sharing import share_programs
from funcenv.adapters.engine.seeding import HasGenerator, draw_key, draw_key_words
from funcenv.adapters.spaces import jsonable
from funcenv.forking import require_threads
from funcenv.random import default_impl, require_seed, words_in_key
from funcenv.spaces import Space as PureSpace
from funcenv.spaces.space import AnySpace, in_declared_dtype

T = TypeVar("T")

MAX_BLOCK_MEMBERS = 64  # members that one compiled call draws
MAX_BLOCK_VALUES = 4096  # array elements in all of these members


class Space(HasGenerator, Generic[T]):
    """A space with a generator of its own: one made of a pure space, or one that you write yourself.

    `Space(pure, seed=None)` makes one of a pure space. Everything except `sample` and `seed` is then that of the pure
    space: attributes, `==`, `hash`, `repr` and the class that `isinstance` sees, so
    `isinstance(env.action_space, funcenv.spaces.Discrete)` holds. Members are NumPy arrays and scalars, in the form of
    the Gymnasium space of the same name. They are drawn in blocks of up to 64, so the generator advances once per
    block. The parts of a `Dict` or `Tuple`, such as `space["name"]`, draw from the generator of the whole. The
    attribute `pure` is the pure space, whose `sample` takes a key.

    A subclass has Gymnasium's constructor, defines `sample` and `contains`, and draws from `self.np_random`:

    >>> class Even(Space):
    ...     def sample(self, mask=None, probability=None):
    ...         return 2 * int(self.np_random.integers(5))
    ...     def contains(self, x):
    ...         return x in range(0, 10, 2)
    >>> space = Even(shape=(), dtype=int, seed=0)
    >>> space.sample() in space, 3 in space, space
    (True, False, Even(shape=(), dtype=int64))

    Args:
        shape: Shape of the members, or None; for `Space` itself, the pure space to draw from.
        dtype: Dtype of the members, or None; for `Space` itself, the seed.
        seed: A non-negative integer or a generator; by default the system's entropy seeds a generator at the first
            draw.

    Raises:
        TypeError: `Space` itself is not made of a space of `funcenv.spaces`.

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

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a `GeneratorSpace` where the class itself is called."""
        del args, kwargs
        kind: type[Any] = cls
        return object.__new__(GeneratorSpace if kind is Space else kind)

    def __init__(self, shape: Any = None, dtype: Any = None, seed: Any = None) -> None:
        self._shape: tuple[int, ...] | None = None if shape is None else tuple(shape)
        self.dtype: Any = None if dtype is None else np.dtype(dtype)
        _start(self, seed)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the members, or None."""
        return self._shape

    @property
    def is_np_flattenable(self) -> bool:
        """True if members can be flattened to vectors."""
        return False

    def seed(self, seed: Any = None) -> Any:
        """Restart the randomness from a seed, or from the system's entropy, and return the seed."""
        self._set_seed(seed)
        return int(self._np_random_seed)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw a member."""
        raise NotImplementedError(f"{type(self).__name__} must define sample(mask=None, probability=None)")

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a member."""
        raise NotImplementedError(f"{type(self).__name__} must define contains(x)")

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Convert a list of members to what JSON can hold; by default they are left as they are."""
        return list(sample_n)

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Return the members that `to_jsonable` converted."""
        return list(sample_n)

    def __contains__(self, x: Any) -> bool:
        return self.contains(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype})"


class GeneratorSpace(Space[T]):
    """The space that `Space(pure, seed)` returns, whose docstring describes it."""

    _block_left = 0  # members of the present block that `sample` has not returned yet

    def __init__(self, pure: PureSpace[T], seed: int | np.random.Generator | None = None) -> None:
        if not isinstance(pure, PureSpace):
            raise TypeError(f"Space is made of a space of funcenv.spaces, got {pure!r}")
        self.pure: PureSpace[T] = pure.pure if type(pure) is GeneratorSpace else pure  # type: ignore[comparison-overlap]  # it may stand for one
        _start(self, seed)

    @property
    def shape(self) -> Any:
        """Shape of the pure space."""
        return self.pure.shape

    @property
    def is_np_flattenable(self) -> bool:
        """True if members can be flattened to vectors."""
        return self.pure.is_np_flattenable

    def seed(self, seed: Any = None) -> Any:
        """Restart the randomness from a seed, or from the system's entropy, and return the seed.

        A tuple, list or dict of seeds, with one for each part, seeds the generator that all parts share.

        Raises:
            TypeError: the seed is not an integer, or not a structure of these.
            ValueError: a seed is negative, or there is not one for each part.
        """
        if not isinstance(seed, (tuple, list, dict)):
            self._set_seed(seed)
            return int(self._np_random_seed)
        parts = getattr(self.pure, "spaces", ())
        if len(seed) != len(parts) or (isinstance(seed, dict) and seed.keys() != getattr(parts, "keys", set)()):
            raise ValueError(f"a structure of seeds must have one for each part of {self!r}, got {seed!r}")
        self.np_random = np.random.default_rng([require_seed(one) for one in _seeds_in(seed)])
        return seed

    def sample(self, mask: Any = None, probability: Any = None, **sizes: int) -> Any:
        """Draw a member.

        Args:
            mask: which values are possible, as the pure space defines it: `[n]` of 0 and 1 for `Discrete(n)`.
            probability: the probability of each choice. Not together with `mask`.
            **sizes: `num_nodes` and `num_edges` of a `Graph`.

        Returns:
            A fresh array, a NumPy scalar if the member has no axes, or a container of these; a string for `Text`.

        Raises:
            ValueError: a mask or probability is impossible, or this kind of space does not take it.
            ForkedProcess: this process was forked after JAX had started.
        """
        require_threads()
        if mask is not None or probability is not None or sizes:
            return self._plain(self.pure.sample(draw_key(self.np_random), mask, probability, **sizes))
        if self._block_left == 0 or self._key_is_stale:
            self._draw_block()
        self._block_left -= 1
        if isinstance(self._block, np.ndarray):
            return self._block[self._block_left].copy()
        return self._plain(jax.tree.map(lambda leaf: leaf[self._block_left], self._block))

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a member."""
        return bool(self.pure.contains(x))

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Convert a list of members to lists, dicts, numbers and strings, in Gymnasium's form.

        >>> from funcenv.spaces import Discrete
        >>> Space(Discrete(3)).to_jsonable([np.int32(0), np.int32(2)])
        [0, 2]
        """
        return jsonable.to_jsonable(self.pure, sample_n)

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Return the members that `to_jsonable` converted.

        >>> from funcenv.spaces import Box
        >>> Space(Box(0, 1, (2,))).from_jsonable([[0.0, 0.5]])
        [array([0. , 0.5], dtype=float32)]
        """
        return jsonable.from_jsonable(self.pure, sample_n)

    @property
    def spaces(self) -> Any:
        """The parts of a `Dict` by name, or of a `Tuple` or `OneOf` in order. They share this generator."""
        parts: Any = self.pure.spaces  # type: ignore[attr-defined]  # AttributeError is right where there are none
        if isinstance(parts, dict):
            return {name: Space(part, self.np_random) for name, part in parts.items()}
        return tuple(Space(part, self.np_random) for part in parts)

    def _draw_block(self) -> None:
        sampler = _block_sampler(self.pure, default_impl())
        block = jax.tree.map(np.array, sampler.draw(draw_key_words(self.np_random, sampler.num_words)))
        self._block = in_declared_dtype(self.pure, block) if isinstance(block, np.ndarray) else block
        self._block_left, self._key_is_stale = sampler.num_members, False

    def _plain(self, member: Any) -> Any:
        """Convert a member to fresh NumPy values in the form of Gymnasium's space."""
        return plain_member(self.pure, member)

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

    def __getitem__(self, key: Any) -> Any:
        if hasattr(self.pure, "spaces"):
            return self.spaces[key]
        return Space(self.pure[key], self.np_random)  # type: ignore[index]  # TypeError is right where there are no parts

    def __len__(self) -> int:
        return len(self.pure)  # type: ignore[arg-type]  # TypeError is right where there are no parts

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.spaces)

    def __eq__(self, other: object) -> bool:
        return self.pure == (other.pure if type(other) is GeneratorSpace else other)

    def __hash__(self) -> int:
        return hash(self.pure)

    def __repr__(self) -> str:
        return repr(self.pure)

    def __reduce__(self) -> tuple[Callable[..., Space[T]], tuple[PureSpace[T], dict[str, Any]]]:
        return _restore, (self.pure, {name: value for name, value in vars(self).items() if name != "pure"})


def with_generator(value: Any) -> Any:
    """Return a `Space` for a pure space, and any other value unchanged.

    >>> from funcenv.spaces import Discrete
    >>> with_generator(Discrete(2)).sample() in (0, 1), with_generator(3)
    (True, 3)
    """
    kind: type[Any] = type(value)
    return Space(value) if isinstance(value, PureSpace) and kind is not GeneratorSpace else value


def plain_member(space: AnySpace, member: Any) -> Any:
    """Convert a member to fresh NumPy values in the form of Gymnasium's space."""
    return jax.tree.map(
        lambda leaf: np.array(leaf)[()] if isinstance(leaf, (np.ndarray, jax.Array)) else leaf, space.unpack(member)
    )


def _start(space: Any, seed: Any) -> None:
    """Set the generator of a new space: a given one, or one from a seed, if there is one."""
    if isinstance(seed, np.random.Generator):
        space.np_random = seed
    elif seed is not None:
        space.seed(seed)


def _seeds_in(seed: Any) -> list[Any]:
    if isinstance(seed, dict):
        seed = seed.values()
    elif not isinstance(seed, (tuple, list)):
        return [seed]
    return [one for part in seed for one in _seeds_in(part)]


def _restore(pure: PureSpace[T], generator_and_block: dict[str, Any]) -> Space[T]:
    space: Space[T] = Space(pure)
    vars(space).update(generator_and_block)
    return space


class _BlockSampler:
    """A compiled function that draws a block of members from the words of one key."""

    def __init__(self, pure: AnySpace, impl: Hashable) -> None:
        key = jax.eval_shape(lambda: jax.random.key(0, impl=impl))
        num_values = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(jax.eval_shape(pure.sample, key)))
        self.num_members = max(1, min(MAX_BLOCK_MEMBERS, MAX_BLOCK_VALUES // max(num_values, 1)))
        self.num_words = words_in_key(impl)

        def draw(words: jax.Array) -> Any:
            keys = jax.random.split(jax.random.wrap_key_data(words, impl=impl), self.num_members)
            return jax.vmap(pure.sample)(keys)

        self.draw = jit_quickly(draw, "block of members", (pure, str(impl)))


_block_sampler = share_programs(_BlockSampler)
