"""Painting: shapes over a canvas, and the canvas as an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene._fields import require_fields
from funcenv.scene._materialize import materialize
from funcenv.scene.camera import Camera
from funcenv.scene.color import luminance
from funcenv.scene.shapes import Layer, Pixels, Repeat, Shape

_Canvas = tuple[jax.Array, ...]  # red, green and blue, or grey alone; each [height, width] or broadcastable to it


def paint_scene(
    scene: Any, height: int, width: int, supersample: int = 1, grayscale: bool = False, dtype: Any = np.uint8
) -> jax.Array:
    """Return the image of a canonical scene; the arguments are those of `rasterize`, already checked.

    The type of `scene` is left open because `Scene` draws itself with this function.
    """
    require_fields(scene.camera)
    pixels = _pixels(scene.camera, height * supersample, width * supersample)
    canvas = _channels((scene.background[0], scene.background[1], scene.background[2]), grayscale)
    canvas = tuple(jnp.broadcast_to(plane, (1, 1)) for plane in canvas)
    if scene.backdrop:
        canvas = materialize(_paint(canvas, scene.backdrop, pixels))
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
    """Return the world coordinates of all pixels.

    The barrier keeps the compiler from drawing constant scenes at compile time, which is slow.
    """
    size = jnp.maximum(camera.width / width, camera.height / height)
    x = camera.center[0] + (jnp.arange(width, dtype=jnp.float32) - (width - 1) / 2) * size
    y = camera.center[1] - (jnp.arange(height, dtype=jnp.float32) - (height - 1) / 2) * size
    barrier: Any = jax.lax.optimization_barrier
    return Pixels(*barrier((x[None, :], y[:, None], size, 1 / size)))


def _paint(canvas: _Canvas, shapes: Sequence[Shape], pixels: Pixels) -> _Canvas:
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise TypeError(f"a scene is made of shapes from funcenv.scene, got {type(shape).__name__} among them")
        if isinstance(shape, Repeat):
            full = tuple(jnp.broadcast_to(plane, (pixels.y.shape[0], pixels.x.shape[1])) for plane in canvas)
            canvas, _ = jax.lax.scan(lambda canvas, each: (_paint(canvas, (each,), pixels), None), full, shape.shape)
            continue
        require_fields(shape)
        for layer in shape.layers(pixels):
            canvas = _blend(canvas, layer)
    return canvas


def _blend(canvas: _Canvas, layer: Layer) -> _Canvas:
    weight = layer.coverage * layer.alpha
    colors = _channels(layer.color, grayscale=len(canvas) == 1)
    return tuple(plane + (color - plane) * weight for plane, color in zip(canvas, colors, strict=True))


def _channels(color: tuple[Any, Any, Any], grayscale: bool) -> tuple[Any, ...]:
    return (luminance(*color),) if grayscale else color


def _interleave(red: jax.Array, green: jax.Array, blue: jax.Array) -> jax.Array:
    """Return three planes as `[height, width, 3]`, packed into one word a pixel so that each is computed once."""
    words = red | (green << 8) | (blue << 16)
    return jax.lax.bitcast_convert_type(words, jnp.uint8)[..., :3]
