"""A drawing as a value: shapes in world coordinates and the camera that looks at them."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

import numpy as np

from funcenv.scene._fields import Color, canonical
from funcenv.scene._paint import paint_scene
from funcenv.scene.camera import Camera
from funcenv.struct import PyTreeNode

_NOTEBOOK_LONGER_SIDE = 450  # pixels


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
    background: Color = (1.0, 1.0, 1.0, 1.0)  # of the world; its alpha is ignored

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
        image = paint_scene(self.canonical(), max(round(height * scale), 1), max(round(width * scale), 1))
        file = io.BytesIO()
        PIL.Image.fromarray(np.asarray(image)).save(file, "png")
        return file.getvalue()
