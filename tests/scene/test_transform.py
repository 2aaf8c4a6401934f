"""Motions of shapes compose as motions of points do; Repeat is the loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv import scene as fs
from tests.support.drawing import drawn

INK = fs.rgba("#203040")
SHAPES = (
    fs.Circle((0.3, 0.2), 0.4, INK, outline=INK, outline_width=0.1),
    fs.Rectangle((-0.2, 0.1), (0.6, 0.3), INK, corner_radius=0.05),
    fs.Rectangle((-0.2, 0.1), (0.6, 0.3), INK, angle=0.3),
    fs.Line((0.0, 0.0), (0.5, -0.4), 0.1, INK),
    fs.Arc((0.1, 0.0), 0.4, 0.2, 1.5, 0.1, INK),
    fs.Polygon(np.array([(0.0, 0.0), (0.5, 0.1), (0.2, 0.6)], np.float32), INK, outline=INK, outline_width=0.02),
    fs.Sprite((0.2, 0.3), (0.2, 0.1), np.full((2, 2, 4), 200, np.uint8)),
    fs.Text((0.1, -0.3), fs.letters("ok"), 0.2, INK),
    fs.Repeat(fs.Circle(np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([0.1, 0.2]), np.stack([INK, INK]))),
)


def numbers(shapes):
    return np.concatenate([np.ravel(leaf).astype(np.float64) for leaf in jax.tree.leaves(tuple(shapes))])


def same(one, other):
    assert [type(shape) for shape in one] == [type(shape) for shape in other]
    np.testing.assert_allclose(numbers(one), numbers(other), atol=2e-6)


def test_nothing_moved():
    same(fs.transform(SHAPES), SHAPES)
    assert fs.transform(SHAPES)[1].angle is None  # upright shapes are drawn faster


def test_a_turn_by_an_array_of_zero_is_none_either():
    turned = fs.transform(SHAPES, angle=jnp.float32(0))
    assert turned[1].angle == 0
    same([turned[1].replace(angle=None)], [SHAPES[1]])


def test_two_motions_are_one():
    """Points go p -> t + s R(a) p, twice."""
    twice = fs.transform(fs.transform(SHAPES, (0.5, -0.3), 0.7, 2.0), (-1.0, 0.4), -0.2, 0.5)
    cos, sin = np.cos(-0.2), np.sin(-0.2)
    shift = np.array([-1.0, 0.4]) + 0.5 * np.array([[cos, -sin], [sin, cos]]) @ (0.5, -0.3)
    same(twice, fs.transform(SHAPES, tuple(shift), 0.5, 1.0))
    upright = fs.transform(fs.transform(SHAPES, (0.5, -0.3), scale=2.0), (-1.0, 0.4), scale=0.5)
    same(upright, fs.transform(SHAPES, (-0.75, 0.25)))


def test_a_motion_and_its_inverse():
    there = fs.transform(fs.transform(SHAPES), (0.5, -0.3), 0.7, 2.0)
    cos, sin = np.cos(0.7), np.sin(0.7)
    back = -0.5 * np.array([[cos, sin], [-sin, cos]]) @ (0.5, -0.3)
    same(fs.transform(there, tuple(back), -0.7, 0.5), fs.transform(SHAPES, angle=jnp.float32(0)))


def test_ground_stays_where_it_is():
    with pytest.raises(ValueError, match=r"a Terrain cannot be moved by transform\(\)"):
        fs.transform([fs.Terrain(np.zeros(3), -1.0, 1.0, INK)])


def stacked(shapes):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *shapes)


def random_shapes(kind, count=4):
    random = np.random.default_rng(0)

    def point():
        return random.uniform(-1, 1, 2).astype(np.float32)

    def color():
        return random.uniform(0.2, 1, 4).astype(np.float32)

    build = {
        "circle": lambda i: fs.Circle(point(), random.uniform(0.1, 0.5), color(), outline=color(), outline_width=0.1),
        "rectangle": lambda i: fs.Rectangle(point(), random.uniform(0.2, 1, 2), color(), angle=random.uniform(0, 3)),
        "line": lambda i: fs.Line(point(), point(), 0.1, color()),
        "butt": lambda i: fs.Line(point(), point(), 0.1, color(), cap="butt"),
        "arc": lambda i: fs.Arc(point(), 0.5, random.uniform(0, 6), random.uniform(0, 6), 0.1, color()),
        "polygon": lambda i: fs.Polygon(np.stack([point(), point(), point()]), color()),
        "sprite": lambda i: fs.Sprite(point(), point() ** 2, random.integers(0, 256, (3, 2, 4)).astype(np.uint8)),
        "text": lambda i: fs.Text(point(), np.asarray(fs.digits(37 * i, 3)), 0.3, color()),
        "terrain": lambda i: fs.Terrain(random.uniform(-1, 1, 5), -1.0, 1.0, color()),
    }[kind]
    return [build(i) for i in range(count)]


KINDS = ["circle", "rectangle", "line", "butt", "arc", "polygon", "sprite", "text", "terrain"]


@pytest.mark.parametrize("kind", KINDS)
def test_many_are_drawn_one_after_another(kind):
    shapes = random_shapes(kind)
    camera = fs.Camera((0.0, 0.0), 2.5, 2.0)
    many = fs.Repeat(stacked(shapes))
    assert many.count == 4
    one_by_one = np.asarray(drawn(fs.Scene(camera, tuple(shapes))), int)
    assert np.abs(one_by_one - np.asarray(drawn(fs.Scene(camera, (many,))), int)).max() <= 1
    assert np.abs(one_by_one - np.asarray(drawn(fs.Scene(camera, (), (many,))), int)).max() <= 1


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_many_move_as_each(kind):
    shapes = random_shapes(kind)
    (moved,) = fs.transform([fs.Repeat(stacked(shapes))], (0.2, 0.1), 0.5, 1.5)
    np.testing.assert_allclose(
        numbers([moved.shape]), numbers([stacked(fs.transform(shapes, (0.2, 0.1), 0.5, 1.5))]), atol=1e-6
    )
    for one, other in zip(jax.tree.leaves(moved), jax.tree.leaves(shapes[0]), strict=True):
        assert one.dtype.kind == np.asarray(other).dtype.kind
