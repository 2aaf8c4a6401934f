"""Rays against plane geometry, and static boxes against polygons."""

import jax
import numpy as np
import pytest

from funcenv.physics import Body, Boxes, Circle, Edges, Fixture, Polygon, World, cast_ray, initial_state, step


def rays(seed=0, count=400):
    points = np.random.default_rng(seed).uniform(-3, 3, (4, count)).astype(np.float32)
    return (points[0], points[1]), (points[2], points[3])


def crossing(start, end, a, b):
    """Return where rays cross the segment from a to b, in float64; infinity where they do not."""
    (x, y), (u, v) = start, (end[0] - start[0], end[1] - start[1])
    ex, ey = b[0] - a[0], b[1] - a[1]
    det = u * ey - v * ex
    t = ((a[0] - x) * ey - (a[1] - y) * ex) / det
    s = ((a[0] - x) * v - (a[1] - y) * u) / det
    return np.where((t >= 0) & (t <= 1) & (s >= 0) & (s <= 1), t, np.inf)


def test_rays_meet_the_nearest_edge():
    ends = np.random.default_rng(1).uniform(-2, 2, (4, 6)).astype(np.float32)
    start, end = rays()
    found = np.asarray(jax.jit(cast_ray)(Edges(*ends), start, end))
    expected = np.min([crossing(np.float64(start), np.float64(end), c[:2], c[2:]) for c in np.float64(ends).T], axis=0)
    assert (found == 1).mean() == pytest.approx(np.mean(np.isinf(expected)), abs=0.01)
    np.testing.assert_allclose(found, np.minimum(expected, 1), atol=1e-4)


def test_rays_meet_polygons_circles_and_boxes_from_outside():
    start, end = rays(2)
    corners = ((-1.0, -0.5), (1.0, -0.5), (1.0, 0.5), (-1.0, 0.5))
    sides = zip(corners, corners[1:] + corners[:1], strict=True)
    expected = np.min([crossing(np.float64(start), np.float64(end), a, b) for a, b in sides], axis=0)
    is_inside = (np.abs(start[0]) < 1) & (np.abs(start[1]) < 0.5)
    expected = np.where(is_inside, 1, np.minimum(expected, 1))
    box = Boxes(*(np.array([side], np.float32) for side in (-1.0, -0.5, 1.0, 0.5)))
    for shape in (Polygon(corners), Polygon.box(1.0, 0.5), box):
        np.testing.assert_allclose(cast_ray(shape, start, end), expected, atol=1e-5)
    assert float(cast_ray(Circle(1.0), (-3.0, 0.0), (1.0, 0.0))) == pytest.approx(0.5)
    assert float(cast_ray(Circle(1.0, (0.0, 2.0)), (-3.0, 0.0), (1.0, 0.0))) == 1
    assert float(cast_ray(Circle(1.0), (0.5, 0.0), (3.0, 0.0))) == 1  # from inside


def test_a_ray_sees_a_body_where_it_is():
    quarter = (1.0, 2.0), (np.float32(1), np.float32(0))  # turned by 90 degrees
    found = cast_ray(Polygon.box(1.0, 0.5), (1.0, 5.0), (1.0, 0.0), quarter)
    assert float(found) == pytest.approx(2 / 5)


@jax.jit
def _fall(world):
    state = initial_state(world)
    return jax.lax.scan(lambda state, _: (step(world, state, 1 / 60, 10, 10),) * 2, state, length=60)[1]


@pytest.mark.dear
def test_boxes_hold_what_polygons_hold():
    shapes = [
        (Fixture(Boxes(*np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 2.0], [0.0, 0.5]], np.float32))),),
        tuple(Fixture(Polygon(((a, b), (c, b), (c, d), (a, d)))) for a, b, c, d in ((-2, -1, 1, 0), (1, -1, 2, 0.5))),
    ]
    boxes = [Body((Fixture(Polygon.box(0.3, 0.3), density=1.0),), position=(x, 1.0), angle=0.1) for x in (-0.5, 1.5)]
    worlds = [World((Body(s, is_static=True), *boxes), max_contacts=4, is_continuous=False) for s in shapes]
    one, other = map(_fall, worlds)
    assert (np.asarray(one.y[-1]) > 0.29).all()
    assert (np.asarray(one.y[-1]) < [0.5, 0.9]).all()
    np.testing.assert_allclose(other.x, one.x, atol=1e-3)
    np.testing.assert_allclose(other.y, one.y, atol=1e-3)


def test_moving_bodies_are_not_divided():
    with pytest.raises(ValueError, match="a divided body must be static"):
        Body((Fixture(Circle(1.0), density=1.0),), is_divided=True)
    with pytest.raises(ValueError, match="Boxes must belong to a static body"):
        Body((Fixture(Boxes(*np.zeros((4, 1)))),))
