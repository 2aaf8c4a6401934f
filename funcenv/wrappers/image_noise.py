"""Replace pixels of image observations by noise: single pixels, or patches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, UInt8

from funcenv.checks import require_below_one, require_size
from funcenv.func_env import Action, State
from funcenv.scene.color import LUMINANCE, WHOLE
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env, require_image
from funcenv.wrappers.base import Wrapper

GRAY_LEVELS = tuple(255 * weight // WHOLE for weight in LUMINANCE["ALE"])  # noise that each channel adds


class ImageNoise(Wrapper[State, Action, UInt8[Array, "height width 3"]]):
    """A wrapper that replaces some pixels by noise; a subclass says which by `_noisy_pixels`, at every observation."""

    def _noisy_pixels(self, key: jax.Array, height: int, width: int) -> Bool[Array, "height width"]:
        raise NotImplementedError

    @property
    def _is_noise_grayscale(self) -> bool:
        raise NotImplementedError

    def observation(self, state: State, key: jax.Array) -> UInt8[Array, "height width 3"]:
        """Return the image with noise."""
        image = self.env.observation(self.inner(state), key)
        pixels_key, noise_key = jax.random.split(self.extra_key(key))
        if self._is_noise_grayscale:
            levels = jnp.asarray(GRAY_LEVELS, jnp.int32)[None, None]
            channels = jax.random.randint(noise_key, image.shape, jnp.zeros_like(levels), levels, jnp.int32)
            noise = jnp.broadcast_to(channels.sum(-1, keepdims=True).astype(jnp.uint8), image.shape)
        else:
            noise = jax.random.randint(noise_key, image.shape, 0, 255, jnp.int32).astype(jnp.uint8)
        noisy = self._noisy_pixels(pixels_key, *image.shape[:2])
        return jnp.where(noisy[..., None], noise, image)


class AddWhiteNoise(ImageNoise[State, Action]):
    """Replaces pixels of image observations by white noise at random.

    Gymnasium's wrapper changes rendered images, which become observations by `AddRenderObservation` outside of it. Here
    the image is an observation already: put this wrapper outside `AddRenderObservation` or `PixelObservation`.

    Args:
        env: an environment whose observations are images, uint8 `[height, width, 3]`.
        probability_of_noise_per_pixel: at least 0 and below 1; a parameter.
        is_noise_grayscale: whether the noise is grey.

    Raises:
        TypeError: The observations are not a `Box`.
        ValueError: The `Box` does not hold RGB images, or the probability is outside [0, 1).

    >>> import funcenv
    >>> env = AddWhiteNoise(funcenv.wrappers.PixelObservation(funcenv.make("CartPole-v1"), 32, 48), 0.5)
    >>> env.reset(funcenv.key(0))[1].observation.shape
    (32, 48, 3)
    """

    probability_of_noise_per_pixel: float
    is_noise_grayscale: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_image(self, first_env(self.env).observation_space, channels=(3,))
        require_below_one(probability_of_noise_per_pixel=self.probability_of_noise_per_pixel)

    def _noisy_pixels(self, key: jax.Array, height: int, width: int) -> Bool[Array, "height width"]:
        return jax.random.bernoulli(key, jnp.asarray(self.probability_of_noise_per_pixel, float), (height, width))

    @property
    def _is_noise_grayscale(self) -> bool:
        return self.is_noise_grayscale


class ObstructView(ImageNoise[State, Action]):
    """Hides square patches of image observations, at random places, behind white noise.

    There are as many patches as would hide `obstructed_pixels_ratio` of the pixels if they did not overlap and lay
    within the image. Put it outside `AddRenderObservation` or `PixelObservation`, as `AddWhiteNoise`.

    Args:
        env: an environment whose observations are images, uint8 `[height, width, 3]`.
        obstructed_pixels_ratio: at least 0 and below 1; a parameter.
        obstruction_width: the side of a patch in pixels, at least 1.
        is_noise_grayscale: whether the noise is grey.

    Raises:
        TypeError: The observations are not a `Box`, or `obstruction_width` is not an integer.
        ValueError: The `Box` does not hold RGB images, the ratio is outside [0, 1), or the width is below 1.

    >>> import funcenv
    >>> env = ObstructView(funcenv.wrappers.PixelObservation(funcenv.make("CartPole-v1"), 32, 48), 0.25, 8)
    >>> env.reset(funcenv.key(0))[1].observation.shape
    (32, 48, 3)
    """

    obstructed_pixels_ratio: float
    obstruction_width: int = field(pytree_node=False)
    is_noise_grayscale: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_image(self, first_env(self.env).observation_space, channels=(3,))
        require_below_one(obstructed_pixels_ratio=self.obstructed_pixels_ratio)
        object.__setattr__(self, "obstruction_width", require_size("obstruction_width", self.obstruction_width))

    def _noisy_pixels(self, key: jax.Array, height: int, width: int) -> Bool[Array, "height width"]:
        area = self.obstruction_width**2
        num_patches = height * width / area * jnp.asarray(self.obstructed_pixels_ratio, float)
        number = jnp.arange(-(-height * width // area), dtype=jnp.int32)
        centers = jax.random.randint(key, number.shape, 0, height * width, jnp.int32)
        exists = number < jnp.floor(num_patches).astype(jnp.int32)
        is_center = jnp.zeros(height * width, bool).at[centers].max(exists).reshape(height, width)
        return self._spread(self._spread(is_center, axis=0), axis=1)

    def _spread(self, hidden: Bool[Array, "height width"], axis: int) -> Bool[Array, "height width"]:
        """Hide the pixels around hidden ones along an axis, as far as a patch reaches."""
        before = self.obstruction_width // 2
        window, padding = [1, 1], [(0, 0), (0, 0)]
        window[axis], padding[axis] = self.obstruction_width, (self.obstruction_width - before - 1, before)
        spread: jax.Array = jax.lax.reduce_window(hidden, False, jax.lax.bitwise_or, window, (1, 1), padding)
        return spread

    @property
    def _is_noise_grayscale(self) -> bool:
        return self.is_noise_grayscale
