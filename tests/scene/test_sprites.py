"""Text and sprites: each pixel the exact mean of what lies under it; the font complete."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.scene import Camera, Scene, Sprite, Text, digits, letters
from funcenv.scene.color import luminance
from funcenv.scene.font import glyphs
from tests.support.drawing import drawn

UNIT = Camera((0.0, 0.0), 1.0, 1.0)


def painted(shape, size, background=(1.0, 1.0, 1.0, 1.0)):
    return np.asarray(drawn(Scene(UNIT, (shape,), (), background), size, size, dtype="float32"))


@pytest.fixture(name="image")
def image_fixture():
    return np.random.default_rng(1).integers(0, 256, (12, 12, 4)).astype(np.uint8)


def test_texel_for_pixel_a_sprite_is_its_image(image):
    image[..., 3] = 255
    np.testing.assert_allclose(painted(Sprite((0.0, 0.0), (1.0, 1.0), image), 12), image[..., :3] / 255, atol=1e-5)


@pytest.mark.parametrize("factor", [2, 3, 5])
def test_enlarged_it_is_made_of_squares(image, factor):
    image[..., 3] = 255
    large = np.repeat(np.repeat(image[..., :3] / 255, factor, axis=0), factor, axis=1)
    np.testing.assert_allclose(painted(Sprite((0.0, 0.0), (1.0, 1.0), image), 12 * factor), large, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_reduced_it_is_the_mean(image, size):
    image[..., 3] = 255
    step = 12 // size
    means = image[..., :3].reshape(size, step, size, step, 3).mean(axis=(1, 3)) / 255
    np.testing.assert_allclose(painted(Sprite((0.0, 0.0), (1.0, 1.0), image), size), means, atol=1e-5)


@pytest.mark.parametrize("size", [5, 7, 11])
def test_reduced_by_any_factor_it_is_the_mean(image, size):
    image[..., 3] = 255
    large = np.repeat(np.repeat(image[..., :3] / 255, size, axis=0), size, axis=1)
    means = large.reshape(size, 12, size, 12, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(painted(Sprite((0.0, 0.0), (1.0, 1.0), image), size), means, atol=1e-5)


def test_transparent_texels_have_no_colour(image):
    """Means are of light: a pixel half under an opaque texel, half under a transparent one, is half background."""
    background = np.array([0.2, 0.4, 0.9])
    alpha = image[..., 3:] / 255
    over = (image[..., :3] / 255 * alpha + background * (1 - alpha)).reshape(4, 3, 4, 3, 3).mean(axis=(1, 3))
    ours = painted(Sprite((0.0, 0.0), (1.0, 1.0), image), 4, (*background, 1.0))
    np.testing.assert_allclose(ours, over, atol=1e-5)


def test_the_whole_fades(image):
    image[..., 3] = 255
    whole = painted(Sprite((0.0, 0.0), (1.0, 1.0), image), 12)
    faded = painted(Sprite((0.0, 0.0), (1.0, 1.0), image, alpha=0.25), 12)
    np.testing.assert_allclose(faded, 1 + 0.25 * (whole - 1), atol=1e-5)


def test_wrong_images_are_refused():
    with pytest.raises(ValueError, match=r"image must be uint8 \[rows, columns, 4\].*got float32\[8, 8, 4\]"):
        Sprite((0.0, 0.0), (1.0, 1.0), np.zeros((8, 8, 4), np.float32))
    with pytest.raises(ValueError, match=r"got uint8\[8, 8, 3\]"):
        Sprite((0.0, 0.0), (1.0, 1.0), np.zeros((8, 8, 3), np.uint8))
    with pytest.raises(ValueError, match=r"image must be uint8"):
        Sprite((0.0, 0.0), (1.0, 1.0), [[0]])


def test_the_font_has_every_printable_character_and_no_two_alike():
    drawings = {glyph.tobytes() for glyph in glyphs()}
    assert glyphs().shape == (95, 9, 5)
    assert len(drawings) == 95
    assert not glyphs()[0].any()
    assert all(glyph.any() for glyph in glyphs()[1:])


def test_capitals_and_digits_are_seven_rows_high():
    for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789":
        rows = np.flatnonzero(glyphs()[ord(character) - 32].any(axis=1))
        assert (rows[0], rows[-1]) == (0, 6), character


def ink(text, anchor, columns=60, rows=18, position=(0.0, 0.0)):
    """Draw a text with a texel a pixel: capitals 7 pixels high, in a world of 60 x 18."""
    shape = Text(position, letters(text), 7.0, (0.0, 0.0, 0.0, 1.0), anchor=anchor)
    scene = Scene(Camera((0.0, 0.0), columns, rows), (shape,))
    return 1 - np.asarray(drawn(scene, rows, columns, grayscale=True, dtype="float32"))


@pytest.mark.parametrize("anchor", ["left", "center", "right"])
def test_text_is_its_glyphs_side_by_side(anchor):
    expected = np.zeros((9, 17), np.float32)
    for i, character in enumerate("Agq"):
        expected[:, 6 * i : 6 * i + 5] = glyphs()[ord(character) - 32]
    middle = {"left": 30, "center": 30 - 17 / 2, "right": 30 - 17}[anchor]
    position = (0.5 if anchor == "center" else 0.0, 0.5)  # so that texels lie on pixels
    left = int(middle + position[0])
    top = 9 - 7 // 2 - 1
    drawn_text = ink("Agq", anchor, position=position)
    np.testing.assert_allclose(drawn_text[top : top + 9, left : left + 17], expected, atol=1e-4)
    assert drawn_text.sum() == pytest.approx(expected.sum(), rel=1e-4)


@pytest.mark.parametrize("scale", [0.3, 0.77, 1.6])
def test_text_of_any_size_keeps_its_ink(scale):
    shape = Text((0.1, 0.2), letters("Step 42"), 7.0 * scale, (0.0, 0.0, 0.0, 1.0))
    drawn_text = 1 - np.asarray(drawn(Scene(Camera((0.0, 0.0), 90.0, 30.0), (shape,)), 30, 90, 1, True, "float32"))
    texels = sum(glyphs()[code - 32].sum() for code in letters("Step 42"))
    assert drawn_text.sum() == pytest.approx(texels * scale**2, rel=1e-4)


def test_codes_beyond_the_font_are_drawn_as_its_ends():
    codes = Text((0.0, 0.0), np.array([7, 300], np.int32), 0.5, (0.0, 0.0, 0.0, 1.0))
    ends = Text((0.0, 0.0), letters(" ~"), 0.5, (0.0, 0.0, 0.0, 1.0))
    np.testing.assert_array_equal(painted(codes, 20), painted(ends, 20))


def test_text_that_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="the font has the printable ASCII characters, got 'é' in 'café'; leave it"):
        letters("café")
    with pytest.raises(ValueError, match=r"got '\\n'"):
        letters("a\nb")
    with pytest.raises(ValueError, match="anchor must be one of left, center, right, got 'top'"):
        Text((0.0, 0.0), letters("a"), 1.0, (0.0, 0.0, 0.0, 1.0), anchor="top")


@pytest.mark.parametrize("value", [0, 7, -7, 10, 99, 100, -100, 12345, -99999, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_digits_are_those_of_python(value, count):
    text = "".join(map(chr, np.asarray(jax.jit(digits, static_argnums=1)(jnp.int32(value), count))))
    expected = f"{value:>{count}}"
    assert len(text) == count
    if len(expected) == count:
        assert text == expected
    else:  # too long: the last digits
        assert text == expected[-count:]


def test_a_grey_sprite_is_the_luminance_of_the_coloured_one():
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 4), np.uint8)
    scene = Scene(Camera((0.0, 0.0), 4.0, 4.0), (Sprite((0.3, -0.2), (3.1, 2.7), image),))
    colored, grey = (drawn(scene, 20, 20, dtype="float32", grayscale=grayscale) for grayscale in (False, True))
    np.testing.assert_allclose(grey, luminance(*np.moveaxis(np.asarray(colored), -1, 0)), atol=1e-6)
