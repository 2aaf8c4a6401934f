"""From a scene to pixels, in pure JAX.

Every shape is painted over the whole picture, a pixel at a time, by how much of the pixel it covers: no loop over
pixels, no branch, so a picture is one elementwise program, which batches and runs on any device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from funcenv.checks import require_size
from funcenv.scene._materialize import settled
from funcenv.scene.color import luminance
from funcenv.scene.fields import require_fields
from funcenv.scene.scene import Camera, Scene
from funcenv.scene.shapes import Layer, Many, Pixels, Shape

_Canvas = tuple[jax.Array, ...]  # red, green and blue, or grey alone; [height, width] or what broadcasts to it


def rasterize(
    scene: Scene, height: int, width: int, *, supersample: int = 1, grayscale: bool = False, dtype: Any = np.uint8
) -> Shaped[Array, "height width *channels"]:
    """Draw a scene.

    Edges are anti-aliased as they are; `supersample` makes them, and corners, more exact still.

    Args:
        scene: one scene; `jax.vmap` draws many.
        height: rows of the picture.
        width: columns of the picture.
        supersample: draw so many times larger each way, and take means.
        grayscale: one channel, the luminance, for a third of the cost.
        dtype: `uint8`, from 0 to 255; or `float32`, from 0 to 1 and not rounded, which has gradients with respect to
            everything in the scene.

    Returns:
        `[height, width, 3]`, or `[height, width]` in grey; the top row first.

    Raises:
        ValueError: a size below 1, another dtype, or a field of a shape that has the wrong shape.
        TypeError: something among the shapes that is none.

    >>> from funcenv.scene import Rectangle, rgba
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
    scene = scene.canonical()
    require_fields(scene.camera)
    pixels = _pixels(scene.camera, height * supersample, width * supersample)
    canvas = _channels((scene.background[0], scene.background[1], scene.background[2]), grayscale)
    canvas = tuple(jnp.broadcast_to(plane, (1, 1)) for plane in canvas)
    if scene.backdrop:
        canvas = settled(_paint(canvas, scene.backdrop, pixels))
    canvas = _paint(canvas, scene.shapes, pixels)
    planes = [jnp.broadcast_to(plane, (height * supersample, width * supersample)) for plane in canvas]
    if supersample > 1:
        split = (height, supersample, width, supersample)
        planes = [plane.reshape(split).mean(axis=(1, 3)) for plane in planes]
    if np.dtype(dtype) == np.float32:
        return planes[0] if grayscale else jnp.stack(planes, axis=-1)
    levels = [(plane * 255.0 + 0.5).astype(jnp.uint32) for plane in planes]
    return levels[0].astype(jnp.uint8) if grayscale else _interleave(*levels)


def _pixels(camera: Camera, height: int, width: int) -> Pixels:
    """Where pixels are. The barrier keeps the compiler from drawing constant scenes while it compiles, slowly."""
    size = jnp.maximum(camera.width / width, camera.height / height)
    x = camera.center[0] + (jnp.arange(width, dtype=jnp.float32) - (width - 1) / 2) * size
    y = camera.center[1] - (jnp.arange(height, dtype=jnp.float32) - (height - 1) / 2) * size
    return Pixels(*_barrier((x[None, :], y[:, None], size, 1 / size)))


def _paint(canvas: _Canvas, shapes: Sequence[Shape], pixels: Pixels) -> _Canvas:
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise TypeError(f"a scene is made of shapes from funcenv.scene, got {type(shape).__name__} among them")
        if isinstance(shape, Many):
            everywhere = tuple(jnp.broadcast_to(plane, (pixels.y.shape[0], pixels.x.shape[1])) for plane in canvas)
            canvas, _ = jax.lax.scan(
                lambda canvas, each: (_paint(canvas, (each,), pixels), None), everywhere, shape.shape
            )
            continue
        require_fields(shape)
        for layer in shape.layers(pixels):
            canvas = _coat(canvas, layer)
    return canvas


def _coat(canvas: _Canvas, layer: Layer) -> _Canvas:
    weight = layer.coverage * layer.alpha
    colors = _channels(layer.color, grayscale=len(canvas) == 1)
    return tuple(plane + (color - plane) * weight for plane, color in zip(canvas, colors, strict=True))


def _channels(color: tuple[Any, Any, Any], grayscale: bool) -> tuple[Any, ...]:
    return (luminance(*color),) if grayscale else color


def _interleave(red: jax.Array, green: jax.Array, blue: jax.Array) -> jax.Array:
    """Three planes as `[height, width, 3]`; by way of one word a pixel, so that a pixel is computed once."""
    words = red | (green << 8) | (blue << 16)
    return jax.lax.bitcast_convert_type(words, jnp.uint8)[..., :3]


def _barrier(values: Any) -> Any:
    return jax.lax.optimization_barrier(values)  # type: ignore[no-untyped-call]  # JAX's
