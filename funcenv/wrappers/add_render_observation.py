"""Add images to observations."""

from __future__ import annotations

from typing import Any

import jax

from funcenv.checks import require_size
from funcenv.func_env import Action, AnyEnv, State, observe
from funcenv.scene.size import frame_size
from funcenv.spaces import Dict
from funcenv.spaces.space import AnySpace
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.pixel_observation import PixelObservation, require_scene


class AddRenderObservation(Wrapper[State, Action, Any]):
    """Adds an image of the state to the observation, or replaces the observation by it.

    With `render_only` the observation is the image. Otherwise the image becomes an entry `render_key` of a `Dict`
    observation, and any other observation becomes a dict `{obs_key: observation, render_key: image}`.

    The image is the one that `render` of the stateful interfaces returns, at the same size by default.
    `PixelObservation` makes smaller and grey images. `AddWhiteNoise` and `ObstructView` go outside. Wrappers inside
    that change observations do not change the image.

    Args:
        env: an environment that defines `scene`.
        render_only: whether the image replaces the observation.
        render_key: the key of the image.
        obs_key: the key of an observation that is not a dict.
        height: the number of rows. By default the aspect ratio is that of the scene's camera, and the longer side has
            600 pixels.
        width: the number of columns.

    Raises:
        TypeError: The environment does not define `scene`, or a size is not an integer.
        ValueError: A size is below 1, the observations have the key `render_key` already, or parameters are traced and
            no size is given.

    >>> import funcenv
    >>> env = AddRenderObservation(funcenv.make("CartPole-v1"), render_only=False)
    >>> {name: space.shape for name, space in env.observation_space.items()}
    {'pixels': (260, 600, 3), 'state': (4,)}
    """

    render_only: bool = field(pytree_node=False, default=True)
    render_key: str = field(pytree_node=False, default="pixels")
    obs_key: str = field(pytree_node=False, default="state")
    height: int | None = field(pytree_node=False, default=None, kw_only=True)
    width: int | None = field(pytree_node=False, default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_scene(self)
        for name in ("height", "width"):
            side = getattr(self, name)
            object.__setattr__(self, name, None if side is None else require_size(name, side))
        if self.height is None or self.width is None:
            height, width = frame_size(_aspect(first_env(self.env)), self.height, self.width)
            object.__setattr__(self, "height", height)
            object.__setattr__(self, "width", width)
        space = first_env(self.env).observation_space
        if not self.render_only and isinstance(space, Dict) and self.render_key in space.spaces:
            raise ValueError(f"render_key={self.render_key!r} is a key of {space!r} already; choose another")

    def observation(self, state: State, key: jax.Array) -> Any:
        """Return the image, alone or with the inner observation."""
        image = self._pixels.observation(state, key)
        if self.render_only:
            return image
        observation = observe(self.env, self.inner(state), key)
        if isinstance(self.env.observation_space, Dict):
            return {self.render_key: image, **observation}
        return {self.obs_key: observation, self.render_key: image}

    @property
    def observation_space(self) -> AnySpace:
        """Images, uint8 `[height, width, 3]`, or a `Dict` with them."""
        images = self._pixels.observation_space
        if self.render_only:
            return images
        space = self.env.observation_space
        if isinstance(space, Dict):
            return Dict({self.render_key: images, **space.spaces}, sort_keys=space.sort_keys)
        return Dict({self.obs_key: space, self.render_key: images})

    @property
    def _pixels(self) -> PixelObservation[Any, Any]:
        assert self.height is not None and self.width is not None  # set at construction
        return PixelObservation(self.env, self.height, self.width)


def _aspect(env: AnyEnv) -> float:
    """Return the width of the scene's camera view divided by its height."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(env)):
        raise ValueError("the default size of images needs concrete parameters, got traced ones; pass height and width")

    def camera_size(env: AnyEnv) -> tuple[Any, Any]:
        camera = env.scene(env.initial(jax.random.key(0))).camera
        return camera.width, camera.height

    width, height = jax.device_get(jax.jit(camera_size)(env))
    return float(width) / float(height)
