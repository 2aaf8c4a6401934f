"""Resized images are those of OpenCV, bit for bit."""

import cv2
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.spaces import Box
from funcenv.wrappers import GrayscaleObservation, ResizeObservation
from funcenv.wrappers.resize_observation import resize
from tests.support.ale import original
from tests.support.compiling import users_options
from tests.support.tiny_envs import Screen

SCREEN = (210, 160)
SMALLER = [(84, 84), (64, 48), (105, 80), (70, 40), (210, 84), (84, 160), (42, 42), (209, 159), (37, 41), (96, 96)]
SMALLER += [(1, 1), (1, 160), (210, 1), (2, 3), (128, 128), (100, 150), (35, 32), (30, 16), (199, 7)]
LARGER = [(256, 256), (300, 300), (512, 512), (420, 320), (211, 161), (210, 161), (211, 160), (500, 333), (225, 999)]
MIXED = [(100, 220), (256, 84), (84, 256), (1, 161), (211, 1), (210, 200), (300, 160), (209, 161), (105, 320), (7, 400)]
SIZES = [SCREEN, *SMALLER, *LARGER, *MIXED, (640, 40)]


def observed(env):
    return np.asarray(jax.jit(env.reset)(funcenv.key(0))[1].observation)


def noise(shape, num_levels=256):
    levels = np.random.default_rng(num_levels).integers(0, num_levels, shape)
    return (levels * (256 // num_levels)).astype(np.uint8)


def by_opencv(image, shape):
    return cv2.resize(image, shape[::-1], interpolation=cv2.INTER_AREA).reshape(*shape, *image.shape[2:])


@pytest.fixture(scope="module")
def pictures():
    """Return a frame of a game, noise, noise of four levels, whose averages are often halves, and an edge."""
    edge = np.zeros(SCREEN, np.uint8)
    edge[SCREEN[0] // 2 :, SCREEN[1] // 3 :] = 255
    return np.stack([original("seaquest").getScreenGrayscale(), noise(SCREEN), noise(SCREEN, 4), edge])


@pytest.mark.parametrize("shape", SIZES)
def test_grey_and_coloured_images_are_those_of_opencv(pictures, shape):
    ours = jax.jit(jax.vmap(lambda image: resize(image, shape)))(pictures)
    np.testing.assert_array_equal(ours, [by_opencv(image, shape) for image in pictures])
    coloured = np.stack(pictures[:3], -1)
    np.testing.assert_array_equal(jax.jit(resize, static_argnums=1)(coloured, shape), by_opencv(coloured, shape))


@pytest.mark.parametrize("old", [(1, 1), (1, 7), (5, 7), (105, 3)])
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (2, 11), (9, 10), (105, 4)])
def test_tiny_images_are_those_of_opencv(old, shape):
    image = noise(old)
    np.testing.assert_array_equal(jax.jit(resize, static_argnums=1)(image, shape), by_opencv(image, shape))


@pytest.mark.parametrize("width", [420, 98])
def test_whole_factors_that_opencv_takes_for_fractions(width):
    """1 / (1 / 420) is not 420 in float64."""
    image = noise((4000, width), 3) // 8
    np.testing.assert_array_equal(jax.jit(resize, static_argnums=1)(image, (4000, 1)), by_opencv(image, (4000, 1)))


def test_an_image_that_is_known_at_compilation_is_resized_alike():
    """The compiler computes it, and would reorder products."""
    image = np.kron(noise((70, 80), 3), np.ones((3, 2), np.uint8))
    ours = jax.jit(lambda: resize(jnp.asarray(image), (84, 84)), compiler_options=users_options())
    np.testing.assert_array_equal(ours(), by_opencv(image, (84, 84)))


@pytest.mark.parametrize("shape", [(3, 4), (9, 4), (5, 7)])
def test_the_wrapper_resizes_observations(shape):
    image = noise((5, 7, 3))
    env = ResizeObservation(Screen(CartPole(), image), shape)
    assert env.observation_space == Box(0, 255, (*shape, 3), np.uint8)
    np.testing.assert_array_equal(observed(env), by_opencv(image, shape))
    grey = GrayscaleObservation(Screen(CartPole(), image))
    assert ResizeObservation(grey, shape).observation_space == Box(0, 255, shape, np.uint8)
    np.testing.assert_array_equal(observed(ResizeObservation(grey, shape)), by_opencv(observed(grey), shape))
