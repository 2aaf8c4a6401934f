"""Colours: red, green, blue and opacity, each from 0 to 1, in sRGB."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.struct import NDArray


def rgba(color: Any, alpha: Any = 1.0) -> Any:
    """Return a colour as four numbers.

    Args:
        color: `"#rrggbb"` or `"#rrggbbaa"`; or three or four numbers from 0 to 1.
        alpha: opacity from 0 to 1, which multiplies the colour's own. It may depend on the state: 0 hides a shape.

    Returns:
        float32 `[4]`: a NumPy array, or a JAX array where `color` or `alpha` is one.

    Raises:
        ValueError: a string that is not a colour, or another number of components.

    >>> rgba("#ff8000", alpha=0.5)
    array([1.       , 0.5019608, 0.       , 0.5      ], dtype=float32)
    >>> rgba("orange")
    Traceback (most recent call last):
        ...
    ValueError: a colour must be "#rrggbb" or "#rrggbbaa", got 'orange'; write orange as "#ffa500"
    """
    components = _from_hex(color) if isinstance(color, str) else color
    xp: Any = jnp if isinstance(components, jax.Array) or isinstance(alpha, jax.Array) else np
    components = xp.asarray(components, np.float32)
    if components.shape not in ((3,), (4,)):
        raise ValueError(f"a colour must have 3 or 4 components, got shape {components.shape}; give red, green, blue")
    own = components[3] if components.shape == (4,) else xp.float32(1)
    return xp.concatenate([components[:3], xp.reshape(own * xp.asarray(alpha, np.float32), (1,))])


def luminance(red: Any, green: Any, blue: Any) -> Any:
    """Return the grey level of a colour, weighted as in ITU-R BT.601.

    >>> round(luminance(1.0, 1.0, 1.0), 6)
    1.0
    """
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _from_hex(text: str) -> NDArray:
    digits = text[1:]
    if not text.startswith("#") or len(digits) not in (6, 8) or set(digits.lower()) - set("0123456789abcdef"):
        raise ValueError(f'a colour must be "#rrggbb" or "#rrggbbaa", got {text!r}; write orange as "#ffa500"')
    return np.array([int(digits[i : i + 2], 16) / 255 for i in range(0, len(digits), 2)], np.float32)
