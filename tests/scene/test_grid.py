"""Many scenes in one image."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.envs import CartPole
from funcenv.scene import Camera, Circle, Scene, mosaic, rasterize, rgba

GAP = (10, 20, 30)


@jax.vmap
def balls(x):
    return Scene(Camera((0.0, 0.0), 2.0, 2.0), (Circle((x, 0.2), 0.5, rgba("#ff0000")),), (), rgba("#ffffe0"))


@functools.partial(jax.jit, static_argnums=(1, 2), static_argnames=("columns", "gap", "grayscale", "supersample"))
def made(xs, height, width, **options):
    return mosaic(balls(xs), height, width, gap_color=np.array(GAP) / 255, **options)


def draw(count, height, width, columns=None, gap=2, **options):
    xs = jnp.linspace(-0.5, 0.5, count)
    return np.asarray(made(xs, height, width, columns=columns, gap=gap, **options)), xs


@pytest.mark.parametrize(
    ("count", "columns", "gap", "rows"),
    [(6, None, 2, 2), (6, 2, 0, 3), (5, 5, 1, 1), (7, 3, 3, 3), (1, None, 2, 1), (4, 1, 2, 4)],
)
def test_every_tile_is_the_image_of_its_scene(count, columns, gap, rows):
    per_row = columns or {6: 3, 1: 1}[count]
    height, width = rows * 20 + (rows - 1) * gap, per_row * 25 + (per_row - 1) * gap
    image, xs = draw(count, height, width, columns, gap)
    inked = np.zeros((height, width), bool)
    for i in range(count):
        top, left = i // per_row * (20 + gap), i % per_row * (25 + gap)
        expected = jax.jit(rasterize, static_argnums=(1, 2))(jax.tree.map(lambda leaf, i=i: leaf[i], balls(xs)), 20, 25)
        tile = image[top : top + 20, left : left + 25]
        assert np.abs(tile.astype(int) - np.asarray(expected, int)).max() <= 1
        inked[top : top + 20, left : left + 25] = True
    assert (image[~inked] == GAP).all()


def test_what_does_not_divide_stays_at_the_borders():
    image, _ = draw(9, 52, 66)
    assert image.shape == (52, 66, 3)
    tiles = [(image != GAP).any(axis=(2, 1 - axis)).sum() for axis in (0, 1)]
    assert tiles == [3 * 16, 3 * 20]
    for border in (0, -1):
        assert (image[:, border] == GAP).all()
    with_gap = (image != GAP).any(axis=(0, 2))
    assert with_gap[1:21].all()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 12, 17])
def test_nearly_square(count):
    image, _ = draw(count, 40, 40, gap=1)
    inked = (image != GAP).any(axis=2)
    columns, rows = ((np.diff(inked.any(axis=axis).astype(int), prepend=0) == 1).sum() for axis in (0, 1))
    assert rows * columns >= count
    assert columns - 1 <= rows <= columns


def test_grey_and_supersampled():
    grey, _ = draw(4, 42, 42, grayscale=True, supersample=2)
    color, _ = draw(4, 42, 42, supersample=2)
    assert grey.shape == (42, 42)
    assert np.abs(grey - color.astype(float) @ (0.299, 0.587, 0.114)).max() <= 1


def test_compiled_and_of_an_environment():
    env = CartPole()

    @jax.jit
    def show(key):
        states = jax.vmap(env.initial)(jax.random.split(key, 5))
        return mosaic(jax.vmap(env.scene)(states), 80, 120)

    image = show(jax.random.key(0))
    assert image.shape == (80, 120, 3)
    assert image.dtype == np.uint8
    assert len(np.unique(np.asarray(image).reshape(-1, 3), axis=0)) > 10


def test_bad_input():
    with pytest.raises(ValueError, match="3 rows of 3 scenes with gaps of 2 do not fit into 6 x 80 pixels; draw fewer"):
        draw(9, 6, 80)
    with pytest.raises(ValueError, match="columns must be at least 1, got 0"):
        draw(4, 40, 40, columns=0)
    with pytest.raises(ValueError, match="gap must be at least 1, got -1"):
        draw(4, 40, 40, gap=-1)
    with pytest.raises(ValueError, match=r"every array of a batch of scenes has the same leading axis, .* got camera"):
        mosaic(Scene(Camera((0.0, 0.0), 2.0, 2.0)), 40, 40)
    mixed = balls(jnp.zeros(3)).replace(background=jnp.zeros(4))
    with pytest.raises(ValueError, match=r"camera.center\[0\] of shape \[3\] and background of shape \[4\]"):
        mosaic(mixed, 40, 40)
