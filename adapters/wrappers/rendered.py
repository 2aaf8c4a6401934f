"""Wrappers that observe or change the images that any stateful environment renders."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv import spaces
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.wrapper import ObservationWrapper, Wrapper, WrapperObsType
from funcenv.checks import require_below_one, require_flag, require_size
from funcenv.struct import NDArray
from funcenv.wrappers.image_noise import GRAY_LEVELS


class AddRenderObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that adds the rendered image to the observation, or replaces the observation by it.

    With `render_only` the observation is the image. Otherwise the image becomes an entry `render_key` of a `Dict`
    observation, and any other observation becomes a dict `{obs_key: observation, render_key: image}`. The environment
    is reset and rendered once to find the size of the images. `funcenv.wrappers.AddRenderObservation` is the functional
    wrapper.

    Args:
        env: Environment with the render mode "rgb_array".
        render_only: Whether the image replaces the observation.
        render_key: Key of the image.
        obs_key: Key of an observation that is not a dict.

    Raises:
        TypeError: `render` does not return an image.
        ValueError: The render mode is another, or the observations have the key `render_key` already.

    >>> from funcenv import adapters
    >>> env = AddRenderObservation(adapters.make("CartPole-v1", render_mode="rgb_array"), render_only=False)
    >>> {name: part.shape for name, part in env.reset(seed=0)[0].items()}
    {'state': (4,), 'pixels': (260, 600, 3)}
    """

    def __init__(
        self, env: Env[Any, Any], render_only: bool = True, render_key: str = "pixels", obs_key: str = "state"
    ) -> None:
        super().__init__(env)
        if env.render_mode is None or env.render_mode == "human":
            raise ValueError(
                f"AddRenderObservation needs an environment that returns images, got render_mode={env.render_mode!r}; "
                'make it with render_mode="rgb_array"'
            )
        self.render_only = require_flag("render_only", render_only)
        self._render_key, self._obs_key = render_key, obs_key
        env.reset()
        image = self.render()
        if not isinstance(image, np.ndarray):
            raise TypeError(
                f"AddRenderObservation needs images, but render() of {env} returns {type(image).__name__}; "
                'make it with render_mode="rgb_array"'
            )
        images: Any = spaces.Box(0, 255, image.shape, np.uint8)
        if render_only:
            self.observation_space = images
            return
        inside = described(self, env).observation_space
        if isinstance(inside, spaces.Dict):
            if render_key in inside.spaces:
                raise ValueError(f"render_key={render_key!r} is a key of {inside!r} already; choose another")
            self.observation_space = spaces.Dict({render_key: images, **inside.spaces}, sort_keys=inside.sort_keys)
        else:
            self.observation_space = spaces.Dict({obs_key: inside, render_key: images})

    def observation(self, observation: Any) -> Any:
        """Return the image, alone or with the observation."""
        image = self.render()
        if self.render_only:
            return image
        if isinstance(observation, dict):
            return {self._render_key: image, **observation}
        return {self._obs_key: observation, self._render_key: image}


class ImageNoise(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that replaces some pixels of rendered images by noise of the environment's generator.

    A subclass says which pixels by `_draw`.
    """

    def __init__(self, env: Env[Any, Any], is_noise_grayscale: bool) -> None:
        super().__init__(env)
        self.is_noise_grayscale = require_flag("is_noise_grayscale", is_noise_grayscale)

    def render(self, mode: str | None = None) -> Any:
        """Render the environment, with noise."""
        rendered = super().render(mode)
        if isinstance(rendered, list):
            return [self._with_noise(image) for image in rendered]
        return self._with_noise(rendered)

    def _with_noise(self, image: Any) -> NDArray:
        if not isinstance(image, np.ndarray):
            raise TypeError(
                f"{type(self).__name__} needs images, but render() returns {type(image).__name__}; make the "
                'environment with render_mode="rgb_array"'
            )
        noisy, noise = self._draw(image.shape)
        return np.where(noisy[..., None], noise, image)

    def _draw(self, shape: tuple[int, ...]) -> tuple[NDArray, NDArray]:
        """Return which pixels are noise, `[height, width]`, and the noise; drawn in Gymnasium's order."""
        raise NotImplementedError

    def _noise(self, shape: tuple[int, ...]) -> NDArray:
        if not self.is_noise_grayscale:
            return self.np_random.integers(0, 255, shape, np.uint8)
        channels = self.np_random.integers((0, 0, 0), GRAY_LEVELS, shape, np.uint8)
        return np.broadcast_to(channels.sum(-1, dtype=np.uint8, keepdims=True), shape)


class AddWhiteNoise(ImageNoise[ObsType, ActType]):
    """A wrapper that replaces pixels of rendered images by white noise at random.

    Put `AddRenderObservation` outside to observe the images. `funcenv.wrappers.AddWhiteNoise` changes images that are
    observations already.

    Args:
        env: Environment with the render mode "rgb_array" or "rgb_array_list".
        probability_of_noise_per_pixel: At least 0 and below 1.
        is_noise_grayscale: Whether the noise is grey.

    Raises:
        TypeError: `is_noise_grayscale` is not True or False, or `render` does not return images.
        ValueError: The probability is outside [0, 1).

    >>> from funcenv import adapters
    >>> plain = adapters.make("CartPole-v1", render_mode="rgb_array")
    >>> env = AddWhiteNoise(plain, probability_of_noise_per_pixel=0.5)
    >>> _ = env.reset(seed=0)
    >>> bool(0.4 < (env.render() != plain.render()).any(axis=-1).mean() < 0.6)
    True
    """

    def __init__(
        self, env: Env[Any, Any], probability_of_noise_per_pixel: float, is_noise_grayscale: bool = False
    ) -> None:
        super().__init__(env, is_noise_grayscale)
        require_below_one(probability_of_noise_per_pixel=probability_of_noise_per_pixel)
        self.probability_of_noise_per_pixel = probability_of_noise_per_pixel

    def _draw(self, shape: tuple[int, ...]) -> tuple[NDArray, NDArray]:
        noise = self._noise(shape)
        return self.np_random.random(shape[:2]) < self.probability_of_noise_per_pixel, noise


class ObstructView(ImageNoise[ObsType, ActType]):
    """A wrapper that hides square patches of rendered images, at random places, behind white noise.

    There are as many patches as would hide `obstructed_pixels_ratio` of the pixels if they did not overlap and lay
    within the image. `funcenv.wrappers.ObstructView` changes images that are observations already.

    Args:
        env: Environment with the render mode "rgb_array" or "rgb_array_list".
        obstructed_pixels_ratio: At least 0 and below 1.
        obstruction_width: Side of a patch in pixels, at least 1.
        is_noise_grayscale: Whether the noise is grey.

    Raises:
        TypeError: `obstruction_width` is not an integer, or `render` does not return images.
        ValueError: The ratio is outside [0, 1), or the width is below 1.

    >>> from funcenv import adapters
    >>> env = ObstructView(adapters.make("CartPole-v1", render_mode="rgb_array"), 0.25, obstruction_width=20)
    >>> _ = env.reset(seed=0)
    >>> env.render().shape
    (260, 600, 3)
    """

    def __init__(
        self,
        env: Env[Any, Any],
        obstructed_pixels_ratio: float,
        obstruction_width: int,
        is_noise_grayscale: bool = False,
    ) -> None:
        super().__init__(env, is_noise_grayscale)
        require_below_one(obstructed_pixels_ratio=obstructed_pixels_ratio)
        self.obstructed_pixels_ratio = obstructed_pixels_ratio
        self.obstruction_width = require_size("obstruction_width", obstruction_width)

    def _draw(self, shape: tuple[int, ...]) -> tuple[NDArray, NDArray]:
        height, width = shape[:2]
        before = self.obstruction_width // 2
        after = self.obstruction_width - before
        num_patches = int(height * width * self.obstructed_pixels_ratio / self.obstruction_width**2)
        hidden = np.zeros((height, width), bool)
        for center in self.np_random.integers(0, height * width, num_patches).tolist():
            row, column = divmod(center, width)
            hidden[max(row - before, 0) : row + after, max(column - before, 0) : column + after] = True
        return hidden, self._noise(shape)
