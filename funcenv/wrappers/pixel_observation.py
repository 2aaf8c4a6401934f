"""Replace observations by images."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from funcenv._compile.materialize import materialize
from funcenv.checks import require_one_of, require_size
from funcenv.func_env import Action, State
from funcenv.scene import rasterize
from funcenv.scene.color import LUMINANCE, Luminance
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import Wrapper


class PixelObservation(Wrapper[State, Action, Any]):
    """Replaces observations by images of the state, `rasterize(env.scene(state))`.

    It corresponds to Gymnasium's `AddRenderObservation` with `render_only=True`, followed by its `ResizeObservation`
    and, with `grayscale=True, standard="BT.709"`, its `GrayscaleObservation`. The image is drawn at its final size
    inside compiled code, also for a batch.

    One image shows no velocities; `FrameStackObservation` outside adds them. Wrappers inside that change observations
    have no effect.

    Args:
        env: an environment that defines `scene`.
        height: the number of rows.
        width: the number of columns.
        grayscale: whether images have one channel, the luminance.
        supersample: as in `rasterize`.
        standard: of the luminance, as in `rasterize`.

    Raises:
        TypeError: The environment does not define `scene`, or a size is not an integer.
        ValueError: A size is below 1, or there is no such standard.

    >>> import funcenv
    >>> env = PixelObservation(funcenv.make("CartPole-v1"), 84, 84, grayscale=True)
    >>> env.observation_space
    Box(0, 255, (84, 84), uint8)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> timestep.observation.shape, timestep.observation.dtype
    ((84, 84), dtype('uint8'))
    """

    height: int = field(pytree_node=False)
    width: int = field(pytree_node=False)
    grayscale: bool = field(pytree_node=False, default=False)
    supersample: int = field(pytree_node=False, default=1)
    standard: Luminance = field(pytree_node=False, default="BT.601")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("height", "width", "supersample"):
            object.__setattr__(self, name, require_size(name, getattr(self, name)))
        require_one_of("standard", self.standard, LUMINANCE)
        require_scene(self)

    def observation(self, state: State, key: jax.Array) -> jax.Array:
        """Return the image of a state."""
        del key
        image = rasterize(
            self.env.scene(self.inner(state)),
            self.height,
            self.width,
            supersample=self.supersample,
            grayscale=self.grayscale,
            standard=self.standard,
        )
        return materialize(image)  # draws once, even if the image is both the observation and the final observation

    @property
    def observation_space(self) -> Box:
        """Images: uint8 `[height, width, 3]`, or `[height, width]` with `grayscale`."""
        channels = () if self.grayscale else (3,)
        return Box(0, 255, (self.height, self.width, *channels), np.uint8)


def require_scene(wrapper: Any) -> None:
    """Raise `TypeError` if the environment inside a wrapper does not define `scene`."""
    env = first_env(wrapper.env)
    try:
        jax.eval_shape(lambda: env.scene(env.initial(jax.random.key(0))))
    except NotImplementedError:
        inside = type(env.unwrapped).__name__
        raise TypeError(
            f"{type(wrapper).__name__} needs an environment that draws itself, and {inside} draws nothing: "
            "define its scene(state)"
        ) from None
