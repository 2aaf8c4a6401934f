"""Observe an environment by grey images, as training with `pixels` does."""

from __future__ import annotations

from funcenv.func_env import AnyEnv
from funcenv.wrappers._spaces import holds_images
from funcenv.wrappers.frame_stack_observation import FrameStackObservation
from funcenv.wrappers.grayscale_observation import GrayscaleObservation
from funcenv.wrappers.pixel_observation import PixelObservation
from funcenv.wrappers.resize_observation import ResizeObservation


def observe_pixels(env: AnyEnv, size: int, frames: int) -> AnyEnv:
    """Return an environment that is observed by grey images: its own, at another size, or drawings of its scene.

    Observations are uint8 `[frames, size, size]`, the newest image last. Coloured images become grey by BT.709, as in
    `GrayscaleObservation`, and drawings by BT.601.

    Args:
        env: An environment whose observations are images, or that defines `scene`.
        size: The number of rows and of columns of an image.
        frames: The number of images in an observation, those of the newest steps. One shows no velocities.

    >>> import funcenv
    >>> observe_pixels(funcenv.make("arcade/Pong-v0"), 42, 2).observation_space
    Box(0, 255, (2, 42, 42), uint8)
    """
    images: AnyEnv
    if holds_images(env.observation_space, channels=()):
        images = ResizeObservation(env, (size, size))
    elif holds_images(env.observation_space, channels=(3,)):
        images = ResizeObservation(GrayscaleObservation(env), (size, size))
    else:
        images = PixelObservation(env, size, size, grayscale=True, standard="BT.601")
    return FrameStackObservation(images, frames)
