"""The rasteriser: from a scene to pixels, in pure JAX.

Every shape is blended over the whole image by the part of each pixel that it covers. There is no loop over pixels and
no branch, so an image is one elementwise program that batches and runs on any device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Array, Shaped

from funcenv.checks import require_size
from funcenv.scene._paint import paint_scene
from funcenv.scene.scene import Scene


def rasterize(
    scene: Scene, height: int, width: int, *, supersample: int = 1, grayscale: bool = False, dtype: Any = np.uint8
) -> Shaped[Array, "height width *channels"]:
    """Draw a scene with anti-aliased edges.

    Args:
        scene: one scene; `jax.vmap` draws a batch.
        height: rows of the image.
        width: columns of the image.
        supersample: factor by which the image is drawn larger each way before it is averaged, for more exact edges.
        grayscale: draw one channel, the luminance, for a third of the cost.
        dtype: `uint8`, from 0 to 255; or `float32`, from 0 to 1 and not rounded, which has gradients with respect to
            everything in the scene.

    Returns:
        `[height, width, 3]`, or `[height, width]` in grey; the top row comes first.

    Raises:
        ValueError: a size below 1, another dtype, or a field of a shape with the wrong array shape.
        TypeError: an element of `shapes` or `backdrop` that is not a shape.

    >>> from funcenv.scene import Camera, Rectangle, rgba
    >>> half = Rectangle((-1.0, 0.0), (2.0, 2.0), rgba("#000000"))
    >>> scene = Scene(Camera((0.0, 0.0), 2.0, 2.0), (half,))
    >>> rasterize(scene, 2, 3, grayscale=True).tolist()
    [[0, 128, 255], [0, 128, 255]]
    >>> rasterize(scene, 2, 3, grayscale=True, dtype="float32").tolist()
    [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]]
    """
    height, width = require_size("height", height), require_size("width", width)
    supersample = require_size("supersample", supersample)
    if np.dtype(dtype) not in (np.uint8, np.float32):
        raise ValueError(f"dtype must be uint8 or float32, got {np.dtype(dtype)}")
    return paint_scene(scene.canonical(), height, width, supersample, grayscale, dtype)
