"""A picture as a value: shapes in the coordinates of the world, and the part of the world that is looked at."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.struct import PyTreeNode

_LONGER_SIDE = 450  # of a picture in a notebook [pixels]


class Camera(PyTreeNode):
    """The part of the world that a picture shows.

    A picture of other proportions shows more of the world around, never less: lengths are never distorted.

    >>> Camera((0.0, 0.0), 4.8, 3.2).width
    4.8
    """

    center: Any  # [2]
    width: Any
    height: Any


class Scene(PyTreeNode):
    """A picture: painted in order, the backdrop first.

    A scene is a pytree of fixed structure, so `env.scene` runs under `jax.jit`, `jax.vmap` and `jax.grad`, and the
    scenes of an episode stack. What does not exist in a state is drawn with alpha 0.

    The backdrop is what depends on the environment's parameters alone, not on the state: of a batch of states it is
    painted once.

    >>> from funcenv.scene import Circle, rasterize, rgba
    >>> ball = Scene(camera=Camera((0.0, 0.0), 2.0, 2.0), shapes=(Circle((0.0, 0.0), 0.5, rgba("#ff0000")),))
    >>> picture = rasterize(ball, 64, 96)
    >>> picture.shape, picture.dtype, picture[32, 48].tolist(), picture[0, 0].tolist()
    ((64, 96, 3), dtype('uint8'), [255, 0, 0], [255, 255, 255])
    """

    camera: Camera
    shapes: tuple[Any, ...] = ()
    backdrop: tuple[Any, ...] = ()
    background: Any = (1.0, 1.0, 1.0, 1.0)  # colour of the world; its alpha means nothing

    def canonical(self) -> Scene:
        """The same with strong types: float32 numbers, int32 codes of characters, images as they are."""
        return jax.tree_util.tree_map_with_path(_canonical, self)

    def _repr_png_(self) -> bytes | None:
        """What a notebook shows, for one scene; nothing without Pillow, or for a batch of scenes."""
        from funcenv.scene.rasterize import rasterize

        if importlib.util.find_spec("PIL") is None or np.ndim(self.camera.width) > 0:
            return None
        import PIL.Image

        width, height = float(self.camera.width), float(self.camera.height)
        scale = _LONGER_SIDE / max(width, height)
        picture = rasterize(self, max(round(height * scale), 1), max(round(width * scale), 1))
        file = io.BytesIO()
        PIL.Image.fromarray(np.asarray(picture)).save(file, "png")
        return file.getvalue()


def _canonical(path: tuple[Any, ...], leaf: Any) -> Any:
    """By what it is for, not by what it is: a user may well write an integer where a coordinate belongs."""
    if getattr(leaf, "dtype", None) == np.uint8:
        return leaf
    wanted = jnp.int32 if getattr(path[-1], "name", "") == "codes" else jnp.float32
    return leaf.astype(wanted) if isinstance(leaf, jax.Array) and not leaf.weak_type else jnp.asarray(leaf, wanted)
