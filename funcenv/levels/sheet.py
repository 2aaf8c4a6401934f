"""One image of many levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt8

from funcenv.func_env import AnyEnv
from funcenv.levels.level_set import LevelSet
from funcenv.random import key as new_key
from funcenv.scene import Camera, Rectangle, Scene, Text, letters, mosaic, palette

_CAPTION_HEIGHT = 0.07  # height of a capital letter, as a part of the image's height


def contact_sheet(
    env: AnyEnv,
    levels: LevelSet,
    height: int,
    width: int,
    columns: int | None = None,
    captions: Sequence[Any] | None = None,
    key: jax.Array | None = None,
) -> UInt8[Array, "height width 3"]:
    """Draw the first state of every level, row by row.

    Args:
        env: the environment without `FiniteLevels`; it defines `scene`.
        levels: its levels.
        height: rows of the whole image.
        width: columns of the whole image.
        columns: levels in a row; by default as many as there are rows, or one more.
        captions: one text or number for each level, such as scores; the numbers of the levels by default.
        key: determines the first states of levels without keys; `funcenv.key(0)` by default.

    Raises:
        ValueError: Levels of another environment, or another number of captions.

    >>> import funcenv
    >>> env = funcenv.make("LakeMaze-v0")
    >>> levels = funcenv.levels.draw_levels(env, 6, funcenv.key(0))
    >>> contact_sheet(env, levels, 120, 180).shape
    (120, 180, 3)
    """
    levels.require_env(env)
    captions = [int(number) for number in np.asarray(levels.ids)] if captions is None else captions
    if len(captions) != len(levels):
        raise ValueError(f"there must be one caption for each of {len(levels)} levels, got {len(captions)}")
    texts = [f"{caption:.2f}" if isinstance(caption, float) else str(caption) for caption in captions]
    length = max(map(len, texts))
    codes = np.stack([letters(text.ljust(length)) for text in texts])
    key = new_key(0) if key is None else key

    def draw(index: jax.Array, codes: Int[Array, "length"]) -> Scene:
        inside = env.replace(**levels.level(index)) if levels.parameters else env
        first = inside.initial(levels.first_key(index, jax.random.fold_in(key, index)))
        return _with_caption(inside.scene(first), codes)

    scenes = jax.jit(jax.vmap(draw))(jnp.arange(len(levels), dtype=jnp.int32), codes)
    return jax.jit(mosaic, static_argnums=(1, 2, 3))(scenes, height, width, columns)


def _with_caption(scene: Scene, codes: Int[Array, "length"]) -> Scene:
    """Return a scene with a text on a light strip above it."""
    camera = scene.camera
    size = _CAPTION_HEIGHT * camera.height
    x, y = camera.center
    left, top = x - camera.width / 2, y + camera.height / 2 + size
    strip = Rectangle((x, top), (camera.width, 2 * size), palette.PAPER)
    text = Text((left + size / 2, top), codes, size, palette.INK, anchor="left")
    wider = Camera((x, y + size), camera.width, camera.height + 2 * size)
    return scene.replace(camera=wider, shapes=(*scene.shapes, strip, text))
