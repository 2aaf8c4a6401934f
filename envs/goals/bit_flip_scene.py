"""The drawing of Bit Flip."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from funcenv.scene import Camera, Circle, Line, Rectangle, Repeat, Scene, palette


def draw_bits(bits: Any, goal: Any) -> Scene:
    """Return two rows of discs: the bits, dark for 1, above those of the goal, and marks between those that differ.

    >>> import numpy as np
    >>> len(draw_bits(np.int8([0, 1, 1]), np.int8([0, 1, 0])).shapes)
    3
    """
    num_bits = np.shape(bits)[0]
    x, bits, goal = np.arange(num_bits) + 0.5, jnp.asarray(bits), jnp.asarray(goal)
    return Scene(
        camera=Camera((num_bits / 2, 0.0), num_bits + 0.6, 3.2),
        shapes=(_discs(x, 0.72, bits, palette.NAVY), _discs(x, -0.72, goal, palette.GREEN), _marks(x, bits != goal)),
        backdrop=(Rectangle((num_bits / 2, -0.72), (num_bits + 0.2, 1.1), palette.MIST),),
        background=palette.PAPER,
    )


def _discs(x: Any, y: float, bits: Any, color: Any) -> Repeat:
    """Return a row of discs, filled where a bit is 1."""
    paints = jnp.where(bits[:, None] == 1, jnp.asarray(color, jnp.float32), jnp.asarray(palette.WHITE, jnp.float32))
    return Repeat(Circle(_points(x, y), 0.36, paints, outline=_repeated(color, len(x)), outline_width=0.07))


def _marks(x: Any, is_shown: Any) -> Repeat:
    """Return red lines between the rows, hidden where bits agree."""
    paints = jnp.where(is_shown[:, None], _repeated(palette.RED, len(x)), 0.0)
    return Repeat(Line(_points(x, -0.12), _points(x, 0.12), 0.1, paints))


def _points(x: Any, y: float) -> Any:
    return np.stack([x, np.full_like(x, y)], axis=1).astype(np.float32)


def _repeated(color: Any, count: int) -> Any:
    return np.tile(np.asarray(color, np.float32), (count, 1))
