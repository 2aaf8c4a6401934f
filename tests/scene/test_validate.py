"""Scenes that do not stack say which shape differs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.scene import Camera, Circle, Line, Polygon, Repeat, Scene, Text, letters, require_same_structure

CAMERA, INK = Camera((0.0, 0.0), 2.0, 2.0), (0.0, 0.0, 0.0, 1.0)
BALL, ROPE = Circle((0.0, 0.0), 0.5, INK), Line((0.0, 0.0), (1.0, 0.0), 0.1, INK)


def scene(*shapes, **changes):
    return Scene(CAMERA, shapes, **changes)


def polygon(corners):
    return Polygon(np.zeros((corners, 2), np.float32), INK)


def many(count):
    return Repeat(Circle(np.zeros((count, 2)), np.zeros(count), np.zeros((count, 4))))


def text(letters_, anchor="center"):
    return Text((0.0, 0.0), letters(letters_), 1.0, INK, anchor=anchor)


DIFFERENT = [
    (scene(BALL, ROPE), scene(BALL), ["shapes[1] (Line) is dropped"]),
    (scene(BALL, ROPE), scene(ROPE), ["shapes[0] (Circle) is dropped"]),
    (scene(BALL), scene(BALL, BALL), ["shapes[1] (Circle) is added"]),
    (scene(polygon(3), polygon(4), polygon(5)), scene(polygon(3), polygon(5)), ["shapes[1] (Polygon) is dropped"]),
    (
        scene(polygon(3)),
        scene(polygon(4)),
        ["shapes[0] (Polygon).points is an array [4, 2] instead of an array [3, 2]"],
    ),
    (scene(BALL), scene(ROPE), ["shapes[0] is a Line instead of a Circle"]),
    (scene(many(3)), scene(many(4)), ["shapes[0] (Repeat of Circle).shape.center is an array [4, 2]"]),
    (scene(many(3)), scene(BALL), ["shapes[0] is a Circle instead of a Repeat of Circle"]),
    (
        scene(text("a")),
        scene(text("ab", "left")),
        ["codes is an array [2] instead of an array [1]", "anchor is 'left' instead of 'center'"],
    ),
    (scene(BALL), scene(BALL.replace(outline=INK)), ["outline is a tuple (4 times a number) instead of None"]),
    (scene(BALL), scene(BALL.replace(center=np.zeros(2))), ["center is an array [2] instead of a tuple"]),
    (scene(backdrop=(ROPE,)), scene(), ["backdrop[0] (Line) is dropped"]),
    (scene(BALL), scene(BALL, background=np.ones(3)), ["background is an array [3]"]),
    (scene(), scene(*[BALL] * 8), ["shapes[4] (Circle) is added, and 3 more;"]),
]


@pytest.mark.parametrize(("first", "other", "named"), DIFFERENT)
def test_what_differs_is_named(first, other, named):
    with pytest.raises(ValueError, match="a scene must have the same shapes in every state, but after step 7") as error:
        require_same_structure(first, other, "after step 7")
    for part in named:
        assert part in str(error.value)
    with pytest.raises(ValueError, match="the same shapes"):
        require_same_structure(other, first, "after step 7")


@pytest.mark.parametrize(("first", "other", "named"), DIFFERENT)
def test_what_is_refused_would_not_stack(first, other, named):
    """Every difference that it finds is one that stacking trips over."""
    with pytest.raises(ValueError):
        jax.tree.map(lambda *leaves: np.stack(leaves), first, other)


@pytest.mark.parametrize("made", [scene(BALL, ROPE), scene(many(2), text("hi"), backdrop=(polygon(4),)), scene()])
def test_other_values_are_no_difference(made):
    other = jax.tree.map(lambda leaf: np.asarray(leaf) + np.asarray(leaf).dtype.type(1), made)
    require_same_structure(jax.tree.map(np.asarray, made), other, "there")
    require_same_structure(made.canonical(), jax.eval_shape(made.canonical), "there")
    jax.jit(lambda made: require_same_structure(made, made, "there"))(made)


def test_batches_of_scenes():
    batch = jax.vmap(lambda x: scene(Circle((x, 0.0), 0.5, jnp.zeros(4))))
    require_same_structure(batch(jnp.zeros(3)), batch(jnp.ones(3)), "there")
    with pytest.raises(ValueError, match=r"shapes\[0\] \(Circle\).center is a tuple \(2 times an array \[4\]\)"):
        require_same_structure(batch(jnp.zeros(3)), batch(jnp.zeros(4)), "there")
