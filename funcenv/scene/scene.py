"""Scenes: shapes in world coordinates, the camera that looks at them, and the way from there to pixels, in pure JAX.

Every shape is blended over the whole image by the part of each pixel that it covers. There is no loop over pixels and
no branch, so an image is one elementwise program that batches and runs on any device. A single image leaves out
repeated shapes that are transparent or outside the view.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from funcenv._compile.materialize import materialize
from funcenv._jax import optimization_barrier
from funcenv.checks import require_one_of, require_size
from funcenv.scene._fields import Color, Length, Point, canonical, refuse_color_names, require_fields
from funcenv.scene.color import LUMINANCE, Luminance, luminance, pack_words, unpack_words
from funcenv.scene.shapes import Pixels, Repeat, Shape
from funcenv.struct import PyTreeNode

_NOTEBOOK_LONGER_SIDE = 450  # pixels

_Canvas = tuple[jax.Array, ...]  # red, green and blue, or grey alone; each [height, width] or broadcastable to it


class Camera(PyTreeNode):
    """The part of the world that an image shows, in world units.

    An image of other proportions shows more of the world around it, never less, and never distorts lengths.

    >>> Camera((0.0, 0.0), 4.8, 3.2).width
    4.8
    """

    center: Point
    width: Length
    height: Length


class Scene(PyTreeNode):
    """Shapes painted in order over a background, the backdrop first.

    A scene is a pytree of fixed structure: `env.scene` runs under `jax.jit`, `jax.vmap` and `jax.grad`, and the scenes
    of an episode stack. A shape that does not exist in some states is drawn with alpha 0 there.

    >>> from funcenv.scene import Circle, rasterize, rgba
    >>> ball = Scene(camera=Camera((0.0, 0.0), 2.0, 2.0), shapes=(Circle((0.0, 0.0), 0.5, rgba("#ff0000")),))
    >>> image = rasterize(ball, 64, 96)
    >>> image.shape, image.dtype, image[32, 48].tolist(), image[0, 0].tolist()
    ((64, 96, 3), dtype('uint8'), [255, 0, 0], [255, 255, 255])
    """

    camera: Camera
    shapes: tuple[Any, ...] = ()
    backdrop: tuple[Any, ...] = ()  # shapes that depend on parameters only; painted once for a batch of states
    background: Color = (1.0, 1.0, 1.0, 1.0)  # colour of the world; its alpha is ignored

    def __post_init__(self) -> None:
        refuse_color_names(self)

    def canonical(self) -> Scene:
        """Return the scene with strong dtypes: float32 numbers, int32 character codes, uint8 images."""
        return canonical(self)

    def _repr_png_(self) -> bytes | None:
        """Return the image that a notebook shows; None without Pillow, or for a batch of scenes."""
        if importlib.util.find_spec("PIL") is None or np.ndim(self.camera.width) > 0:
            return None
        import PIL.Image

        width, height = float(self.camera.width), float(self.camera.height)
        scale = _NOTEBOOK_LONGER_SIDE / max(width, height)
        image = rasterize(self, max(round(height * scale), 1), max(round(width * scale), 1))
        file = io.BytesIO()
        PIL.Image.fromarray(np.asarray(image)).save(file, "png")
        return file.getvalue()


def rasterize(
    scene: Scene,
    height: int,
    width: int,
    *,
    supersample: int = 1,
    grayscale: bool = False,
    standard: Luminance = "BT.601",
    dtype: Any = np.uint8,
) -> Shaped[Array, "height width *channels"]:
    """Draw a scene with anti-aliased edges.

    Args:
        scene: one scene; `jax.vmap` draws a batch.
        height: rows of the image.
        width: columns of the image.
        supersample: factor by which the image is drawn larger each way before it is averaged, for more exact edges.
        grayscale: draw one channel, the luminance, for a third of the cost.
        standard: of the luminance: "BT.601", "BT.709" as Gymnasium's `GrayscaleObservation`, or "ALE".
        dtype: `uint8`, from 0 to 255; or `float32`, from 0 to 1 and not rounded, which has gradients with respect to
            everything in the scene.

    Returns:
        `[height, width, 3]`, or `[height, width]` in grey; the top row comes first.

    Raises:
        ValueError: a size below 1, another standard or dtype, or a field of a shape with the wrong array shape.
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
    require_one_of("standard", standard, LUMINANCE)
    scene = scene.canonical()
    has_gradients = np.dtype(dtype) == np.float32
    if not has_gradients:
        scene = jax.lax.stop_gradient(scene)  # levels have none, and a loop of unknown length allows none
    require_fields(scene.camera)
    pixels = _pixels(scene.camera, height * supersample, width * supersample)
    pixels = pixels._replace(luminance=standard if grayscale else None, has_gradients=has_gradients)
    canvas = _channels((scene.background[0], scene.background[1], scene.background[2]), pixels.luminance)
    canvas = tuple(jnp.broadcast_to(plane, (1, 1)) for plane in canvas)
    if scene.backdrop:
        canvas = materialize(_paint(canvas, scene.backdrop, pixels))
    canvas = _paint(canvas, scene.shapes, pixels)
    planes = [jnp.broadcast_to(plane, (height * supersample, width * supersample)) for plane in canvas]
    if supersample > 1:
        split = (height, supersample, width, supersample)
        planes = [plane.reshape(split).mean(axis=(1, 3)) for plane in planes]
    if has_gradients:
        return planes[0] if grayscale else jnp.stack(planes, axis=-1)
    levels = [(plane * 255.0 + 0.5).astype(jnp.uint32) for plane in planes]
    return levels[0].astype(jnp.uint8) if grayscale else unpack_words(pack_words(*levels))


def _pixels(camera: Camera, height: int, width: int) -> Pixels:
    """Return the world coordinates of all pixels.

    The barrier keeps the compiler from drawing constant scenes at compile time, which is slow.
    """
    size = jnp.maximum(camera.width / width, camera.height / height)
    x = camera.center[0] + (jnp.arange(width, dtype=jnp.float32) - (width - 1) / 2) * size
    y = camera.center[1] - (jnp.arange(height, dtype=jnp.float32) - (height - 1) / 2) * size
    return Pixels(*optimization_barrier((x[None, :], y[:, None], size, 1 / size)))


def _paint(canvas: _Canvas, shapes: Sequence[Shape], pixels: Pixels) -> _Canvas:
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise TypeError(f"a scene is made of shapes from funcenv.scene, got {type(shape).__name__} among them")
        if isinstance(shape, Repeat):
            full = tuple(jnp.broadcast_to(plane, (pixels.y.shape[0], pixels.x.shape[1])) for plane in canvas)
            canvas = _paint_each(full, shape, pixels)
            continue
        require_fields(shape)
        for layer in shape.layers(pixels):
            weight = layer.coverage * layer.alpha
            colors = _channels(layer.color, pixels.luminance)
            canvas = tuple(plane + (color - plane) * weight for plane, color in zip(canvas, colors, strict=True))
    return canvas


def _paint_each(canvas: _Canvas, repeat: Repeat, pixels: Pixels) -> _Canvas:
    """Paint repeated shapes one after another; where no gradients are wanted, only those that may be seen."""
    if pixels.has_gradients:
        return jax.lax.scan(lambda canvas, each: (_paint(canvas, (each,), pixels), None), canvas, repeat.shape)[0]
    shapes = jax.tree.map(jnp.asarray, repeat.shape)
    is_seen = jax.vmap(lambda each: jnp.asarray(each.may_be_seen(pixels)))(shapes)
    is_seen = _all_of_batch(is_seen)
    order = jnp.argsort(~is_seen, stable=True)

    def paint(i: jax.Array, canvas: _Canvas) -> _Canvas:
        return _paint(canvas, (jax.tree.map(lambda leaf: leaf[order[i]], shapes),), pixels)

    return jax.lax.fori_loop(0, is_seen.sum(), paint, canvas)


@jax.custom_batching.custom_vmap
def _all_of_batch(is_seen: jax.Array) -> jax.Array:
    """Return which shapes to paint. A batch of images paints all, because its images share the number of shapes."""
    return is_seen


@_all_of_batch.def_vmap
def _(axis_size: int, in_batched: list[bool], is_seen: jax.Array) -> tuple[jax.Array, bool]:
    del axis_size, in_batched
    return jnp.ones(is_seen.shape[1:], bool), False


def _channels(color: tuple[Any, Any, Any], standard: Luminance | None) -> tuple[Any, ...]:
    return color if standard is None else (luminance(*color, standard),)
