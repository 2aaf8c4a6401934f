"""Show the agent pictures."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from funcenv.checks import require_size
from funcenv.func_env import Action, State
from funcenv.scene import rasterize
from funcenv.scene._materialize import settled
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.single import single


class PixelObservation(Wrapper[State, Action, Any]):
    """Observations are pictures of the state, drawn by `rasterize(env.scene(state))`.

    The counterpart of Gymnasium's `AddRenderObservation` with `render_only=True`, followed by its `ResizeObservation`
    and `GrayscaleObservation`. The picture is drawn at the size that is wanted, inside compiled code, for a batch too.

    One picture shows no velocities: put `FrameStackObservation` around it. Observations of the environment inside are
    replaced, so wrappers that change those have no effect there.

    Args:
        env: the environment.
        height: rows.
        width: columns.
        grayscale: one channel, the luminance.
        supersample: as in `rasterize`.

    Raises:
        TypeError: an environment without `scene`, or a size that is not an integer.
        ValueError: a size below 1.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("height", "width", "supersample"):
            object.__setattr__(self, name, require_size(name, getattr(self, name)))
        env = single(self.env)
        try:
            jax.eval_shape(lambda: env.scene(env.initial(jax.random.key(0))))
        except NotImplementedError:
            raise TypeError(
                f"PixelObservation needs an environment that has a picture, and {type(env.unwrapped).__name__} draws "
                "nothing: define its scene(state)"
            ) from None

    def observation(self, state: State, key: jax.Array) -> jax.Array:
        """The picture of a state; nothing is drawn by chance."""
        del key
        picture = rasterize(
            self.env.scene(self.inner(state)),
            self.height,
            self.width,
            supersample=self.supersample,
            grayscale=self.grayscale,
        )
        return settled(picture)  # drawn once, also where it is both the observation and the final one

    @property
    def observation_space(self) -> Box:
        """Pictures: uint8 `[height, width, 3]`, or `[height, width]` in grey."""
        channels = () if self.grayscale else (3,)
        return Box(0, 255, (self.height, self.width, *channels), np.uint8)
