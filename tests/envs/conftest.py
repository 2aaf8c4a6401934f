"""What the tests of pictures share: drawing states, and finding colours in the pictures."""

from typing import Any

import jax
import numpy as np
import pytest

from funcenv.scene import rasterize
from funcenv.struct import NDArray

Array = NDArray

_draw = jax.jit(
    lambda env, state, height, width: rasterize(env.scene(state), height, width), static_argnames=("height", "width")
)
_camera = jax.jit(lambda env, state: env.scene(state).canonical().camera)


class Gallery:
    """Pictures of states, and what is where in them."""

    def draw(self, env: Any, states: Any, height: int = 60, width: int = 90) -> Array:
        """Pictures `[n, height, width, 3]` of states with a leading axis."""
        states = jax.device_get(states)
        count = len(jax.tree.leaves(states)[0])
        singles = [jax.tree.map(lambda leaf, i=i: leaf[i], states) for i in range(count)]
        return np.stack([_draw(env, state, height=height, width=width) for state in singles])

    def places(self, env: Any, state: Any, height: int, width: int) -> tuple[Array, Array, float]:
        """The x of each column of a picture, the y of each row, and the size of a pixel, in world coordinates."""
        camera = jax.device_get(_camera(env, state))
        size = max(camera.width / width, camera.height / height)
        x = camera.center[0] + (np.arange(width) - (width - 1) / 2) * size
        y = camera.center[1] - (np.arange(height) - (height - 1) / 2) * size
        return x, y, float(size)

    def found(self, pictures: Array, color: Array, tolerance: int = 3) -> Array:
        """Which pixels have a colour, `[..., height, width]`."""
        wanted = np.round(np.asarray(color)[:3] * 255)
        return (np.abs(pictures.astype(int) - wanted) <= tolerance).all(-1)

    def middle(self, pixels: Array, env: Any, state: Any) -> tuple[float, float]:
        """Of some pixels `[height, width]` of a picture of `state`, in world coordinates."""
        x, y, _ = self.places(env, state, *pixels.shape)
        rows, columns = np.nonzero(pixels)
        assert len(rows), "the colour is nowhere"
        return float(x[columns].mean()), float(y[rows].mean())


@pytest.fixture(scope="session")
def gallery() -> Gallery:
    """Pictures of states, and what is where in them."""
    return Gallery()
