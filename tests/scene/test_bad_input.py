"""What cannot be drawn, and what is said about it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv import scene as fs

CAMERA, INK = fs.Camera((0.0, 0.0), 2.0, 2.0), fs.rgba("#203040")


def draw(*shapes, **changes):
    return fs.rasterize(fs.Scene(CAMERA, shapes, **changes), 8, 8)


def test_sizes():
    scene = fs.Scene(CAMERA)
    with pytest.raises(ValueError, match="height must be at least 1, got 0"):
        fs.rasterize(scene, 0, 8)
    with pytest.raises(TypeError, match="width must be an integer, got 8.0"):
        fs.rasterize(scene, 8, 8.0)
    with pytest.raises(ValueError, match="supersample must be at least 1, got 0"):
        fs.rasterize(scene, 8, 8, supersample=0)
    with pytest.raises(ValueError, match="dtype must be uint8 or float32, got float64"):
        fs.rasterize(scene, 8, 8, dtype=np.float64)
    assert fs.rasterize(scene, np.int32(2), np.int64(3)).shape == (2, 3, 3)


def test_things_that_are_no_shapes():
    with pytest.raises(TypeError, match="a scene is made of shapes from funcenv.scene, got tuple among them"):
        draw((fs.Circle((0.0, 0.0), 1.0, INK),))
    with pytest.raises(NotImplementedError, match=r"Blob must define layers\(pixels\)"):
        draw(type("Blob", (fs.Shape,), {})())


def test_names_of_colours():
    with pytest.raises(
        ValueError, match=r"color of a Circle must be four numbers, got 'red'; write rgba\('#d14a58'\), or"
    ):
        fs.Circle((0.0, 0.0), 1.0, "red")
    with pytest.raises(ValueError, match=r"outline of a Circle .* got '#102030'; write rgba\('#102030'\)"):
        fs.Circle((0.0, 0.0), 1.0, INK, outline="#102030")
    with pytest.raises(ValueError, match="background of a Scene must be four numbers, got 'white'"):
        fs.Scene(CAMERA, background="white")
    with pytest.raises(ValueError, match="color of a Line must be four numbers"):
        fs.Line((0.0, 0.0), (1.0, 0.0), 0.1, "red")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (fs.Circle((0.0, 0.0), 1.0, INK[:3]), r"color of a Circle must have shape \[4\], got \[3\]; rgba"),
        (fs.Circle((0.0, 0.0, 0.0), 1.0, INK), r"center of a Circle must have shape \[2\], got \[3\]"),
        (fs.Circle(0.0, 1.0, INK), r"center of a Circle must have shape \[2\], got \[\]"),
        (
            fs.Circle(np.zeros((5, 2)), 1.0, INK),
            r"got \[5, 2\]; draw a batch of scenes with jax.vmap or mosaic, and sev",
        ),
        (fs.Circle((0.0, 0.0), (1.0, 2.0), INK), r"radius of a Circle must have shape \[\], got \[2\]"),
        (fs.Rectangle((0.0, 0.0), 1.0, INK), r"size of a Rectangle must have shape \[2\], got \[\]"),
        (fs.Line((0.0, 0.0), 1.0, 0.1, INK), r"end of a Line must have shape \[2\]"),
        (fs.Arc((0.0, 0.0), 1.0, (0.0, 1.0), 1.0, 0.1, INK), r"start of a Arc must have shape \[\]"),
        (fs.Polygon(np.zeros((2, 2)), INK), r"points of a Polygon must have shape \[3 or more, 2\], got \[2, 2\]"),
        (fs.Polygon([(0.0, 0.0), (1.0, 0.0)], INK), r"points of a Polygon must have shape \[3 or more, 2\]"),
        (fs.Polygon(np.zeros((3, 3)), INK), r"points of a Polygon .* got \[3, 3\]"),
        (fs.Terrain(np.zeros(1), 0.0, 1.0, INK), r"heights of a Terrain must have shape \[2 or more\], got \[1\]"),
        (fs.Text((0.0, 0.0), np.int32(65), 1.0, INK), r"codes of a Text must have shape \[n\], got \[\]"),
    ],
)
def test_fields_of_the_wrong_shape(shape, message):
    for wrapped in (lambda: draw(shape), lambda: draw(backdrop=(shape,)), lambda: jax.eval_shape(lambda: draw(shape))):
        with pytest.raises(ValueError, match=message):
            wrapped()


def test_fields_of_many():
    with pytest.raises(ValueError, match=r"color of a Circle must have shape \[4\], got \[3\]"):
        draw(fs.Repeat(fs.Circle(np.zeros((2, 2)), np.ones(2), np.ones((2, 3)))))


def test_a_batch_of_scenes_without_vmap():
    scenes = jax.vmap(lambda x: fs.Scene(CAMERA, (fs.Circle((x, 0.0), 1.0, INK),)))(jnp.zeros(3))
    with pytest.raises(
        ValueError, match=r"center of a Camera must have shape \[2\], got \[2, 3\]; draw a batch of sce"
    ):
        fs.rasterize(scenes, 8, 8)


def test_a_cap_that_does_not_exist():
    with pytest.raises(ValueError, match='cap must be "round" or "butt", got \'square\''):
        fs.Line((0.0, 0.0), (1.0, 0.0), 0.1, INK, cap="square")


def test_not_a_number_hides_a_shape():
    """A position that is NaN, as of a state that does not exist, spoils nothing else."""
    nan = float("nan")
    dot = fs.Circle((0.0, 0.0), 0.5, INK)
    for lost in (
        fs.Circle((nan, 0.0), 0.5, INK),
        fs.Rectangle((nan, 0.0), (1.0, 1.0), INK),
        fs.Line((nan, 0.0), (1.0, 0.0), 0.1, INK),
        fs.Arc((nan, 0.0), 1.0, 0.0, 1.0, 0.1, INK),
    ):
        np.testing.assert_array_equal(draw(dot, lost), draw(dot))


def test_hidden_text_of_another_length_is_padded_with_blanks():
    one, other = (fs.Text((0.0, 0.0), fs.letters(text), 0.5, INK, anchor="left") for text in ("ab", "ab  "))
    np.testing.assert_array_equal(draw(one), draw(other))
