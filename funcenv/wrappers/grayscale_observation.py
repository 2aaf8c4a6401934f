"""Convert RGB images to grayscale."""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, UInt8

from funcenv.func_env import Action, State
from funcenv.scene.color import gray_levels
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env, require_image
from funcenv.wrappers.transform_observation import ObservationWrapper


class GrayscaleObservation(ObservationWrapper[State, Action, UInt8[Array, "..."]]):
    """Converts RGB images to grayscale.

    A grey level is the luminance of ITU-R BT.709, as in Gymnasium: 0.2125 red + 0.7154 green + 0.0721 blue, rounded
    down, in exact arithmetic. Gymnasium rounds float64 sums down, which gives one level less for 63 of the 16.7 million
    colours.

    Put it outside the wrapper that makes images. `PixelObservation(grayscale=True, standard="BT.709")` draws these grey
    levels at once, to within one level.

    Args:
        env: an environment whose observations are images, uint8 `[height, width, 3]`.
        keep_dim: whether images are `[height, width, 1]` rather than `[height, width]`.

    Raises:
        TypeError: The observations are not a `Box`.
        ValueError: The `Box` does not hold RGB images.

    >>> import funcenv
    >>> env = GrayscaleObservation(funcenv.wrappers.PixelObservation(funcenv.make("CartPole-v1"), 32, 48))
    >>> env.observation_space
    Box(0, 255, (32, 48), uint8)
    """

    keep_dim: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_image(self, first_env(self.env).observation_space, channels=(3,))

    def outer_observation(self, observation: UInt8[Array, "height width 3"]) -> UInt8[Array, "..."]:
        """Compute the grey levels."""
        image = gray_levels(observation, "BT.709", round_down=True)
        return image[..., None] if self.keep_dim else image

    @property
    def observation_space(self) -> Box:
        """Grey images: uint8 `[height, width]`, or `[height, width, 1]` with `keep_dim`."""
        height, width, _ = require_image(self, self.env.observation_space, channels=(3,)).shape
        return Box(0, 255, (height, width, 1) if self.keep_dim else (height, width), np.uint8)
