"""Strings of bounded length over a set of characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from funcenv.checks import require_integer
from funcenv.spaces._dtypes import integers_within, is_array, with_shape
from funcenv.spaces._padded import PaddedSpace, choose_length, is_integer, read_choice, within_length
from funcenv.spaces._sampling import draw_allowed, draw_weighted, require_distribution, require_mask, uniform_below
from funcenv.spaces.box import Box
from funcenv.spaces.space import require_alike
from funcenv.struct import PyTreeNode

alphanumeric = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


class TextInstance(PyTreeNode):
    """A string as arrays. `Text.pack` makes one, and `Text.unpack` reads it."""

    codes: Int32[Array, "max_length"]  # indices into `character_list`; after `length` entries, the size of the list
    length: Int32[Array, ""]


class Text(PaddedSpace[TextInstance]):
    """Strings of `min_length` to `max_length` characters, both included.

    A member is a `TextInstance`; `contains` and `flatten` also take a Python string.

    Args:
        max_length: the capacity of a member.
        min_length: at least 0.
        charset: the characters. A set is sorted; a string keeps its order, and repeated characters are dropped.

    Raises:
        ValueError: A length is negative, `min_length > max_length`, or `charset` is empty or has an entry of several
            characters.
        TypeError: A length is not an integer.

    >>> import funcenv
    >>> space = Text(5, charset="ab")
    >>> space
    Text(1, 5, charset=ab)
    >>> member = space.pack("abba")
    >>> member.codes.tolist(), int(member.length), space.unpack(member)
    ([0, 1, 1, 0, 2], 4, 'abba')
    >>> bool(space.contains(space.sample(funcenv.key(0)))), "abc" in space
    (True, False)
    """

    dtype: np.dtype[Any] = np.dtype(str)  # the dtype of strings, as in Gymnasium; a member's arrays are int32

    def __init__(self, max_length: int, *, min_length: int = 1, charset: Iterable[str] = alphanumeric) -> None:
        self.min_length = require_integer("min_length of Text", min_length)
        self.max_length = require_integer("max_length of Text", max_length)
        if not 0 <= self.min_length <= self.max_length:
            raise ValueError(
                f"Text needs 0 <= min_length <= max_length, got {self.min_length} and {self.max_length}; "
                "min_length is 1 unless given"
            )
        if not isinstance(charset, Iterable):
            raise TypeError(f"Text takes a string or another collection of characters as charset, got {charset!r}")
        characters = tuple(charset)
        if not characters or not all(isinstance(one, str) and len(one) == 1 for one in characters):
            raise ValueError(f"Text needs a charset of single characters, at least one, got {charset!r}")
        in_order = sorted(characters) if isinstance(charset, (set, frozenset)) else characters
        self.character_list = tuple(dict.fromkeys(in_order))

    @property
    def character_set(self) -> frozenset[str]:
        """The characters as a set."""
        return frozenset(self.character_list)

    @property
    def characters(self) -> str:
        """The characters in alphabetical order."""
        return "".join(sorted(self.character_list))

    def character_index(self, character: str) -> int:
        """Return the code of a character.

        Raises:
            ValueError: The character is not in the charset.
        """
        if character not in self.character_list:
            raise ValueError(f"the characters of this Text are {self.characters!r}, got {character!r}")
        return self.character_list.index(character)

    def pack(self, x: str | TextInstance) -> TextInstance:
        """Convert a string to a member.

        Raises:
            ValueError: The string is longer than `max_length`, or a character is not in the charset.
            TypeError: `x` is not a string.
        """
        if isinstance(x, TextInstance):
            return x
        if not isinstance(x, str):
            raise TypeError(f"a member of Text must be a string, got {x!r}")
        if len(x) > self.max_length:
            raise ValueError(f"this Text holds at most {self.max_length} characters, got {x!r}")
        codes = np.full(self.max_length, len(self.character_list), np.int32)
        codes[: len(x)] = [self.character_index(character) for character in x]
        return TextInstance(codes=jnp.asarray(codes), length=jnp.asarray(np.int32(len(x))))

    def unpack(self, member: TextInstance) -> str:
        """Convert a member to a string."""
        codes = np.asarray(member.codes)[: int(member.length)]
        return "".join(self.character_list[code] for code in codes)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> TextInstance:
        """Draw a string: a uniform length, then independent characters.

        Args:
            key: a typed key.
            mask: a pair of a length and a mask of the characters in the order of `character_list`; either may be None.
                A mask that allows no character gives the empty string if `min_length` is 0. Otherwise it is refused,
                or allows the first character if it is traced.
            probability: a pair of a length and the probabilities of the characters; either may be None.

        Raises:
            ValueError: Both are given, or a length, a mask or probabilities have wrong entries.
            TypeError: `mask` or `probability` is not a pair.
        """
        length_key, code_key = jax.random.split(key)
        name, length, choices = read_choice(mask, probability, "a length and a {} of the characters")
        if length is None:
            span = self.max_length - self.min_length + 1
            length = uniform_below(length_key, jnp.uint32(span), span).astype(jnp.int32) + self.min_length
        else:
            length = choose_length(length_key, length, self.min_length, self.max_length)
        count = len(self.character_list)
        if choices is None:
            codes = uniform_below(code_key, jnp.full(self.max_length, count, jnp.uint32), count).astype(jnp.int32)
        elif name == "probability":
            chances = require_distribution(choices, count, "the probability of characters")
            codes = draw_weighted(code_key, jnp.broadcast_to(chances, (self.max_length, count)))
        else:
            allowed = require_mask(choices, count, "the mask of characters", may_be_empty=self.min_length == 0)
            codes = draw_allowed(code_key, jnp.broadcast_to(allowed, (self.max_length, count)))
            length = length if self.min_length else jnp.where(allowed.any(), length, 0)
        return self._member(codes, length)

    def _member(self, codes: jax.Array, length: jax.Array) -> TextInstance:
        inside = within_length(length, self.max_length)
        return TextInstance(codes=jnp.where(inside, codes, jnp.int32(len(self.character_list))), length=length)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` is a string, or a `TextInstance`, of an allowed length and allowed characters.

        Codes after the length of a `TextInstance` do not count.
        """
        if isinstance(x, str):
            return jnp.asarray(self.min_length <= len(x) <= self.max_length and set(x) <= self.character_set)
        if not isinstance(x, TextInstance) or not is_integer(x.length) or not is_array(x.codes, "iu", self._flat_shape):
            return jnp.zeros((), bool)
        codes = jnp.asarray(x.codes)
        codes = jnp.where(within_length(x.length, self.max_length), codes, jnp.zeros((), codes.dtype))
        fits = integers_within(x.length, self.min_length, self.max_length)
        return fits & integers_within(codes, 0, len(self.character_list) - 1)

    def union(self, other: Any) -> Text:
        """Return the space of the strings whose length lies in the range that spans both."""
        require_alike(
            "kind, max_length or charset", lambda space: (space.max_length, space.character_list), self, other
        )
        shortest = min(self.min_length, other.min_length)
        return Text(self.max_length, min_length=shortest, charset=self.character_list)

    @property
    def _flat_shape(self) -> tuple[int, ...]:
        return (self.max_length,)

    @property
    def flattened(self) -> Box:
        """Vectors of codes, where the size of the charset stands for no character."""
        return Box(0, len(self.character_list), self._flat_shape, np.int32)

    def flatten(self, x: Any) -> Int32[Array, "max_length"]:
        """Return the codes of a `TextInstance` or a string."""
        member = self.pack(x)
        codes = with_shape("the codes of a member of Text", member.codes, self._flat_shape, np.dtype(np.int32))
        return self._member(codes, member.length).codes

    def unflatten(self, flat: Any) -> TextInstance:
        """Return the string of the codes, without those that stand for no character."""
        codes = with_shape("a flattened member of Text", flat, self._flat_shape, np.dtype(np.int32))
        absent = codes >= len(self.character_list)
        return self._member(codes[jnp.argsort(absent, stable=True)], jnp.sum(~absent, dtype=jnp.int32))

    def parts(self) -> tuple[Any, ...]:
        """Return the lengths and the characters."""
        return self.min_length, self.max_length, self.character_list

    def __repr__(self) -> str:
        return f"Text({self.min_length}, {self.max_length}, charset={self.characters})"
