"""Colours: red, green, blue and opacity, each from 0 to 1, in sRGB."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8, UInt32

from funcenv.struct import NDArray

Luminance = Literal["BT.601", "BT.709", "ALE"]
"""The standard of a grey level: that of Pillow and OpenCV, that of Gymnasium, or that of ALE's grey palettes."""

LUMINANCE: dict[Luminance, tuple[int, int, int]] = {
    "BT.601": (2990, 5870, 1140),
    "BT.709": (2125, 7154, 721),
    "ALE": (2989, 5870, 1140),
}
"""The weights of red, green and blue in a grey level, in parts of `WHOLE`."""

WHOLE = 10_000


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


def luminance(red: Any, green: Any, blue: Any, standard: Luminance = "BT.601") -> Any:
    """Return the grey level of a colour.

    >>> round(luminance(1.0, 1.0, 1.0), 6), luminance(1.0, 0.0, 0.0, "BT.709")
    (1.0, 0.2125)
    """
    of_red, of_green, of_blue = (weight / WHOLE for weight in LUMINANCE[standard])
    return of_red * red + of_green * green + of_blue * blue


def gray_levels(image: Any, standard: Luminance, round_down: bool = False) -> Any:
    """Return the grey levels of an image, in exact arithmetic.

    Args:
        image: uint8 `[..., 3]`, a JAX or a NumPy array.
        standard: how the channels are weighted.
        round_down: whether fractions are dropped; by default levels are rounded to the nearest, halves up.

    >>> red = np.array([[255, 0, 0]], np.uint8)
    >>> [int(gray_levels(red, standard)[0]) for standard in LUMINANCE]
    [76, 54, 76]
    """
    weights = np.array(LUMINANCE[standard], np.int32).reshape(*(1,) * (image.ndim - 1), 3)
    weighted = (image.astype(np.int32) * weights).sum(-1)
    return ((weighted + (0 if round_down else WHOLE // 2)) // WHOLE).astype(np.uint8)


def pack_words(red: Any, green: Any, blue: Any) -> Any:
    """Return colours as one word each, uint32, given their channels as uint32 from 0 to 255.

    A program that works with words computes each pixel once, and not once for every channel.

    >>> hex(pack_words(*np.array([255, 128, 1], np.uint32)))
    '0x180ff'
    """
    return red | (green << 8) | (blue << 16)


def unpack_words(words: UInt32[Array, "*shape"]) -> UInt8[Array, "*shape 3"]:
    """Return the channels of colours that `pack_words` packed.

    >>> unpack_words(jnp.array(0x180FF, jnp.uint32)).tolist()
    [255, 128, 1]
    """
    return jax.lax.bitcast_convert_type(words, jnp.uint8)[..., :3]


def _from_hex(text: str) -> NDArray:
    digits = text[1:]
    if not text.startswith("#") or len(digits) not in (6, 8) or set(digits.lower()) - set("0123456789abcdef"):
        raise ValueError(f'a colour must be "#rrggbb" or "#rrggbbaa", got {text!r}; write orange as "#ffa500"')
    return np.array([int(digits[i : i + 2], 16) / 255 for i in range(0, len(digits), 2)], np.float32)
