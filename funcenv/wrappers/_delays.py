"""Delays that are fixed, or drawn for each episode or each step."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from funcenv.checks import require_at_least, require_ordered

Delay = int | tuple[int, int]
"""A number of steps, or the least and the most of a random one, both included."""


def read_delay(delay: Any) -> tuple[int, int]:
    """Return the least and the most steps of a delay.

    Raises:
        TypeError: The delay is neither an integer nor a pair of integers.
        ValueError: It is below 0, or the least is above the most.

    >>> read_delay(2), read_delay((1, 3))
    ((2, 2), (1, 3))
    """
    pair = delay if isinstance(delay, tuple) else (delay, delay)
    try:
        least, most = (operator.index(steps) for steps in pair)
    except (TypeError, ValueError):
        raise TypeError(f"delay must be a number of steps or a pair (least, most), got {delay!r}") from None
    require_at_least(0, "delay", least, remedy="0 is for no delay")
    require_ordered("the least delay", least, "the most", most)
    return least, most


def draw_delay(delay: Delay, key: jax.Array) -> Int[Array, ""]:
    """Return a number of steps, each between least and most being equally likely."""
    least, most = read_delay(delay)
    return jnp.int32(least) if least == most else jax.random.randint(key, (), least, most + 1, jnp.int32)
