"""Laws that images obey, whatever is drawn."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv import scene as fs
from tests.support.drawing import BLACK, drawn

CAMERA = fs.Camera((0.0, 0.0), 4.0, 3.2)
RED, GREEN, BLUE = fs.rgba("#d03020"), fs.rgba("#20a040", 0.6), fs.rgba("#3060c0")
TRIANGLE = np.array([(0.1, 0.9), (1.3, 0.2), (0.6, 1.4)], np.float32)


def shapes(x=0.0, y=0.0):
    """Return some of everything that can be moved."""
    return (
        fs.Circle((x - 0.7, y + 0.4), 0.61, RED, outline=BLUE, outline_width=0.1),
        fs.Rectangle((x + 0.4, y - 0.5), (1.2, 0.7), GREEN, angle=0.4),
        fs.Rectangle((x + 0.9, y + 0.3), (0.5, 0.4), BLUE, corner_radius=0.1, outline=RED, outline_width=0.05),
        fs.Line((x - 1.2, y - 1.1), (x + 0.3, y + 1.0), 0.15, BLUE),
        fs.Line((x - 1.0, y + 1.1), (x + 1.3, y - 0.2), 0.12, RED, cap="butt"),
        fs.Arc((x, y), 1.1, 0.3, 2.1, 0.14, GREEN),
        fs.Polygon(TRIANGLE + jnp.stack([jnp.float32(x), jnp.float32(y)])[None], RED, outline=BLUE, outline_width=0.04),
    )


def everything(x=0.0):
    dots = fs.Repeat(fs.Circle(np.array([[-1.5, 1.2], [1.4, -1.3]]), np.array([0.1, 0.2]), np.stack([RED, BLUE])))
    image = np.random.default_rng(0).integers(0, 256, (5, 6, 4)).astype(np.uint8)
    return fs.Scene(
        fs.Camera((0.0, 0.0), 4.0, 3.2),
        (
            *shapes(x, 0.1),
            dots,
            fs.Sprite((x, 1.0), (0.8, 0.6), image),
            fs.Text((0.0, -1.4), fs.letters("Gq7!"), 0.2, BLUE),
        ),
        (fs.Terrain(np.array([-1.0, -0.6, -1.2], np.float32), -2.0, 2.0, GREEN, outline=RED, outline_width=0.05),),
        fs.rgba("#f0f0e0"),
    )


def levels(one, other):
    """Return the greatest difference."""
    return np.abs(np.asarray(one, int) - np.asarray(other, int)).max()


def test_moving_the_world_and_the_camera_alike_changes_nothing():
    first = drawn(fs.Scene(fs.Camera((0.0, 0.0), 4.0, 3.2), shapes()))
    moved = drawn(fs.Scene(fs.Camera((3.0, -5.0), 4.0, 3.2), shapes(3.0, -5.0)))
    assert levels(first, moved) <= 1


def test_moving_shapes_by_whole_pixels_moves_the_image():
    camera = fs.Camera((0.0, 0.0), 5.0, 4.0)  # pixels of 0.1
    first, moved = drawn(fs.Scene(camera, shapes())), drawn(fs.Scene(camera, shapes(0.3, -0.2)))
    assert levels(first[:-2, :-3], moved[2:, 3:]) <= 1


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_quarter_turn_turns_the_image(quarters):
    camera = fs.Camera((0.0, 0.0), 4.0, 4.0)
    first = drawn(fs.Scene(camera, shapes()), 48, 48)
    turned = drawn(fs.Scene(camera, fs.transform(shapes(), angle=quarters * np.pi / 2)), 48, 48)
    assert levels(np.rot90(first, quarters), turned) <= 1


def test_a_mirrored_polygon_is_the_mirrored_image():
    camera = fs.Camera((0.0, 0.0), 4.0, 4.0)
    first = drawn(fs.Scene(camera, (fs.Polygon(TRIANGLE, BLACK),)), 48, 48)
    mirrored = drawn(fs.Scene(camera, (fs.Polygon(TRIANGLE * (-1, 1), BLACK),)), 48, 48)
    assert levels(np.asarray(first)[:, ::-1], mirrored) <= 1


def test_a_larger_world_seen_from_farther_looks_the_same():
    first = drawn(fs.Scene(fs.Camera((0.0, 0.0), 4.0, 3.2), shapes()))
    larger = drawn(fs.Scene(fs.Camera((0.0, 0.0), 40.0, 32.0), fs.transform(shapes(), scale=10.0)))
    assert levels(first, larger) <= 1


def test_the_last_shape_is_on_top():
    camera, under, over = (
        fs.Camera((0.0, 0.0), 2.0, 2.0),
        fs.Circle((0.0, 0.0), 0.5, RED),
        fs.Circle((0.0, 0.0), 0.5, BLUE),
    )
    middle = [drawn(fs.Scene(camera, order), 9, 9)[4, 4].tolist() for order in ((under, over), (over, under))]
    assert middle == [[0x30, 0x60, 0xC0], [0xD0, 0x30, 0x20]]
    assert drawn(fs.Scene(camera, (under,), (over,)), 9, 9)[4, 4].tolist() == [0xD0, 0x30, 0x20]


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 1.0])
def test_alpha_mixes(alpha):
    scene = fs.Scene(fs.Camera((0.0, 0.0), 2.0, 2.0), (fs.Circle((0.0, 0.0), 0.9, fs.rgba("#204060", alpha)),))
    expected = 255 + alpha * (np.array([0x20, 0x40, 0x60]) - 255)
    np.testing.assert_allclose(drawn(scene, 9, 9)[4, 4], expected, atol=0.51)


def test_two_coats_of_half_are_one_of_three_quarters():
    camera = fs.Camera((0.0, 0.0), 2.0, 2.0)
    half, most = (fs.Rectangle((0.0, 0.0), (1.0, 1.0), fs.rgba("#804020", alpha)) for alpha in (0.5, 0.75))
    twice, once = (np.asarray(drawn(fs.Scene(camera, coats), 8, 8)) for coats in ((half, half), (most,)))
    assert levels(twice[3:5, 3:5], once[3:5, 3:5]) <= 1


def test_a_hidden_shape_leaves_no_trace():
    scene = everything()
    hidden = [shape.replace(color=fs.rgba("#ff00ff", 0.0)) for shape in shapes() if not hasattr(shape, "outline")]
    assert levels(drawn(scene), drawn(scene.replace(shapes=scene.shapes + tuple(hidden)))) == 0


@pytest.mark.parametrize("grayscale", [False, True])
@pytest.mark.parametrize("supersample", [1, 2])
def test_a_batch_is_the_single_images(grayscale, supersample):
    positions = jnp.linspace(-0.5, 0.5, 4)
    draw = functools.partial(fs.rasterize, height=24, width=30, grayscale=grayscale, supersample=supersample)
    batch = jax.jit(jax.vmap(lambda x: draw(everything(x))))(positions)
    for x, image in zip(positions, batch, strict=True):
        assert levels(image, drawn(everything(x), 24, 30, supersample, grayscale)) <= 1


def test_in_and_out_of_jit():
    scene = fs.Scene(CAMERA, (*shapes()[::2], fs.Text((0.0, -1.4), fs.letters("Gq7!"), 0.2, BLUE)))
    assert levels(drawn(scene, 24, 30), fs.rasterize(scene, 24, 30)) <= 1


def test_with_and_without_x64():
    expected = drawn(everything())
    with jax.enable_x64(True):
        image = jax.jit(lambda: fs.rasterize(everything(), 40, 50))()
    assert image.dtype == np.uint8
    assert levels(expected, image) <= 1


def test_in_strict_promotion():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        jax.eval_shape(lambda x: fs.rasterize(everything(x), 10, 12), jnp.float32(0.1))


def test_grey_is_the_luminance():
    """ITU-R BT.601, of the image before it is rounded."""
    color, grey = (np.asarray(drawn(everything(), grayscale=grey), np.float64) for grey in (False, True))
    assert np.abs(grey - color @ (0.299, 0.587, 0.114)).max() <= 1


def test_grey_is_what_pillow_makes_of_it():
    from PIL import Image

    theirs = Image.fromarray(np.asarray(drawn(everything()))).convert("L")
    assert levels(drawn(everything(), grayscale=True), np.asarray(theirs)) <= 1


def test_floats_are_the_image_before_it_is_rounded():
    floats = drawn(everything(), dtype="float32")
    assert floats.dtype == np.float32
    assert levels(np.floor(np.asarray(floats) * 255 + 0.5), drawn(everything())) <= 1


def test_supersampling_keeps_the_mean():
    one, four = (np.asarray(drawn(everything(), supersample=times), np.float64) for times in (1, 4))
    assert abs(one.mean() - four.mean()) < 0.2
    assert np.abs(one - four).mean() < 1.0


@pytest.mark.parametrize(("height", "width"), [(20, 60), (60, 20), (37, 53)])
def test_other_proportions_show_more_never_less(height, width):
    """The camera's rectangle, drawn as a rectangle, is whole, in the middle, and undistorted."""
    camera = fs.Camera((1.0, 2.0), 3.0, 2.0)
    seen = fs.Rectangle((1.0, 2.0), (3.0, 2.0), (0.0, 0.0, 0.0, 1.0))
    image = 1 - np.asarray(drawn(fs.Scene(camera, (seen,)), height, width, grayscale=True, dtype="float32"))
    pixels = min(width / 3, height / 2)  # per unit
    assert image.sum() == pytest.approx(6 * pixels**2, rel=1e-4)
    np.testing.assert_allclose(image.sum(axis=1).max(), 3 * pixels, rtol=1e-4)
    np.testing.assert_allclose(image.sum(axis=0).max(), 2 * pixels, rtol=1e-4)
    np.testing.assert_allclose(image, image[::-1, ::-1], atol=1e-4)


def test_pixels_are_square():
    for height, width in ((30, 90), (90, 30)):
        disc = 1 - np.asarray(
            drawn(
                fs.Scene(fs.Camera((0.0, 0.0), 4.0, 4.0), (fs.Circle((0.0, 0.0), 1.0, BLACK),)),
                height,
                width,
                grayscale=True,
                dtype="float32",
            )
        )
        np.testing.assert_allclose(disc.sum(axis=0).max(), disc.sum(axis=1).max(), rtol=1e-3)


def test_up_is_up_and_right_is_right():
    corner = fs.Circle((0.9, 0.9), 0.3, (0.0, 0.0, 0.0, 1.0))
    image = drawn(fs.Scene(fs.Camera((0.0, 0.0), 2.0, 2.0), (corner,)), 9, 9, grayscale=True)
    assert np.unravel_index(np.argmin(image), image.shape) == (0, 8)


@pytest.mark.dear
def test_gradients_are_finite():
    """Of the mean brightness, with respect to every number in the scene, where edges touch pixel middles too."""

    def brightness(scene):
        return fs.rasterize(scene, 20, 25, grayscale=True, dtype="float32").mean()

    numbers = 0
    for shape in (*shapes(), everything().shapes[-1], *everything().backdrop):
        gradient = jax.jit(jax.grad(brightness, allow_int=True))(fs.Scene(CAMERA, (shape,)).canonical())
        leaves = [leaf for leaf in jax.tree.leaves(gradient) if leaf.dtype == np.float32]
        assert all(np.all(np.isfinite(leaf)) for leaf in leaves), shape
        numbers += len(leaves)
    assert numbers > 70
    degenerate = fs.Scene(
        fs.Camera((0.0, 0.0), 2.0, 2.0),
        (
            fs.Circle((0.0, 0.0), 0.0, RED),
            fs.Rectangle((0.0, 0.0), (0.0, 0.0), RED, angle=0.0),
            fs.Line((0.0, 0.0), (0.0, 0.0), 0.0, RED),
            fs.Line((0.0, 0.0), (0.0, 0.0), 0.0, RED, cap="butt"),
            fs.Polygon(np.zeros((3, 2), np.float32), RED),
        ),
    ).canonical()
    assert np.all(np.isfinite(fs.rasterize(degenerate, 21, 21)))
    for shape in degenerate.shapes:
        gradient = jax.jit(jax.grad(brightness))(degenerate.replace(shapes=(shape,)))
        assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient)), shape


@pytest.mark.parametrize("kind", [fs.Circle, fs.Rectangle, fs.Polygon])
def test_gradients_are_those_of_areas(kind):
    """The brightness of a black shape on white falls by its area; its derivative is that of the area."""
    side, other = TRIANGLE[1:] - TRIANGLE[0]
    triangle = abs(side[0] * other[1] - side[1] * other[0]) / 2
    shape, unit = {
        fs.Circle: (lambda s: fs.Circle((0.03, 0.01), s, BLACK), np.pi),
        fs.Rectangle: (lambda s: fs.Rectangle((0.03, 0.01), (s, 2 * s), BLACK, angle=0.3), 2),
        fs.Polygon: (lambda s: fs.Polygon(TRIANGLE * s, BLACK), triangle),
    }[kind]

    def area(s):
        scene = fs.Scene(fs.Camera((0.0, 0.0), 4.0, 4.0), (shape(s),))
        return 16 * (1 - fs.rasterize(scene, 60, 60, grayscale=True, dtype="float32").mean())

    assert float(jax.jit(jax.grad(area))(0.8)) == pytest.approx(2 * 0.8 * unit, rel=0.05)


def test_a_backdrop_is_painted_once_for_a_batch():
    """Compiled for a batch, the program holds the backdrop of one image, not of each."""

    def draw(x):
        circle, line = fs.Circle((x, 0.0), 0.5, RED), fs.Line((-1.0, 0.0), (1.0, 0.3), 0.1, BLUE)
        return fs.rasterize(fs.Scene(fs.Camera((0.0, 0.0), 2.0, 2.0), (circle,), (line,)), 32, 32, grayscale=True)

    alone = jax.jit(draw).lower(jnp.float32(0)).compile().cost_analysis()["flops"]
    batch = jax.jit(jax.vmap(draw)).lower(jnp.zeros(64)).compile().cost_analysis()["flops"]
    assert batch < 64 * 0.8 * alone


def test_repeated_shapes_that_cannot_be_seen_change_nothing():
    corners = np.stack([TRIANGLE, TRIANGLE - 0.5, TRIANGLE + 9.0, TRIANGLE - 2.0, TRIANGLE + 1.0])
    colors = np.stack([RED, BLUE * np.array([1, 1, 1, 0]), GREEN, BLUE, GREEN]).astype(np.float32)
    centers = np.array([(0.0, 0.0), (5.0, 0.0), (2.2, 0.0), (0.4, 0.1)], np.float32)
    boxes = fs.Rectangle(centers, np.full((4, 2), 0.5, np.float32), colors[:4], 0.7)
    each = [fs.Polygon(*pair) for pair in zip(corners, colors, strict=True)]
    each += [fs.Rectangle(center, (0.5, 0.5), color, 0.7) for center, color in zip(centers, colors[:4], strict=True)]
    pixels = drawn(fs.Scene(CAMERA, (fs.Repeat(fs.Polygon(corners, colors)), fs.Repeat(boxes))))
    np.testing.assert_array_equal(pixels, drawn(fs.Scene(CAMERA, tuple(each))))


def test_a_batch_paints_what_a_single_image_leaves_out():
    def image(x):
        corners = np.stack([TRIANGLE, TRIANGLE + 8.0]) + x
        return fs.rasterize(fs.Scene(CAMERA, (fs.Repeat(fs.Polygon(corners, np.stack([RED, BLUE]))),)), 24, 30)

    shifts = jnp.array([0.0, -8.0, 3.0])
    single = np.stack([jax.jit(image)(x) for x in shifts])
    np.testing.assert_array_equal(jax.jit(jax.vmap(image))(shifts), single)
    assert (single[0] != single[1]).any()
