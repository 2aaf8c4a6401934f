"""Shapes against their exact coverage of every pixel."""

import numpy as np
import pytest

from funcenv.scene import Arc, Circle, Line, Polygon, Rectangle, Terrain, transform
from tests.support.drawing import BLACK, circular, covered, exact, turn

LEVEL = 1 / 255
ANGLES = np.radians([0.0, 7.0, 22.5, 45.0, 60.0, 90.0, 135.0])


def compare(covered, exact, supersample, level, area):
    """No pixel is off by more than `level`, and the whole by no more than a part `area`."""
    found = covered(supersample)
    assert np.abs(found - exact).max() <= level
    assert abs(found.sum() / exact.sum() - 1) <= area


def check(shape, corners, supersample=1, level=LEVEL, area=5e-3):
    compare(lambda times: covered(shape, times), exact(corners), supersample, level, area)


def test_the_reference_itself():
    """Areas that are known: of a square in one pixel, of a triangle, of a disc."""
    pixel = exact([(0.31, -0.29), (0.39, -0.29), (0.39, -0.21), (0.31, -0.21)])
    assert pixel.max() == pytest.approx(0.64)
    assert pixel.sum() == pytest.approx(0.64)
    assert exact([(0, 0), (1, 0), (0, 1)]).sum() == pytest.approx(50)
    assert exact(circular((0.1, 0.2), 1.5)).sum() == pytest.approx(np.pi * 15**2, rel=1e-6)


@pytest.mark.parametrize("angle", ANGLES)
def test_half_planes_are_exact(angle):
    corners = turn([(0, -20), (0, 20), (-20, 20), (-20, -20)], angle, (0.137, 0.05))
    check(Polygon(corners.astype(np.float32), BLACK), corners, level=LEVEL / 10, area=1e-4)


def star():
    corners = [((1.6 - i % 2) * np.cos(i * np.pi / 5), (1.6 - i % 2) * np.sin(i * np.pi / 5)) for i in range(10)]
    return turn(corners, 0.1, (0.2, 0.1))


@pytest.mark.parametrize("supersample", [1, 2, 3])
@pytest.mark.parametrize("kind", ["triangle", "star", "sliver", "clockwise"])
def test_polygons_are_exact(kind, supersample):
    corners = {
        "triangle": np.array([(-1.5, -1.1), (1.7, -0.4), (0.2, 1.4)]),
        "star": star(),
        "sliver": np.array([(-2.0, -1.0), (2.0, 0.3), (-1.9, -0.8)]),
        "clockwise": star()[::-1],
    }[kind]
    check(Polygon(corners.astype(np.float32), BLACK), corners, supersample, level=LEVEL / 10, area=1e-4)


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_random_polygons_are_exact(count):
    """Corners at sorted angles around a point, so that no side crosses another; some reach beyond the image."""
    random = np.random.default_rng(count)
    for _ in range(5):
        angles = np.sort(random.uniform(0, 2 * np.pi, count))
        corners = random.uniform(0.2, 3.0, (count, 1)) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        check(Polygon(corners.astype(np.float32), BLACK), corners.astype(np.float32), level=LEVEL / 10, area=1e-4)


@pytest.mark.parametrize("size", [(2.03, 1.31), (2.03, 0.04), (0.02, 0.07)])
def test_upright_rectangles_are_exact(size):
    half_width, half_height = size[0] / 2, size[1] / 2
    corners = [(-half_width, -half_height), (half_width, -half_height), (half_width, half_height)]
    corners = np.array([*corners, (-half_width, half_height)]) + (0.112, 0.073)
    if min(size) > 0.1:  # thinner ones fade over two pixels, the whole of them remains
        check(Rectangle((0.112, 0.073), size, BLACK), corners, level=LEVEL / 10, area=1e-4)
    else:
        check(Rectangle((0.112, 0.073), size, BLACK), corners, level=0.5, area=1e-4)


@pytest.mark.parametrize("size", [(2.03, 1.31), (2.03, 0.2), (2.03, 0.05)])
@pytest.mark.parametrize("angle", ANGLES[1:])
def test_turned_rectangles(size, angle):
    """Their sides are exact, their corners the product of two sides."""
    half_width, half_height = size[0] / 2, size[1] / 2
    corners = [(-half_width, -half_height), (half_width, -half_height), (half_width, half_height)]
    corners = turn([*corners, (-half_width, half_height)], angle, (0.11, 0.07))
    shape = Rectangle((0.11, 0.07), size, BLACK, angle=angle)
    check(shape, corners, level=8 * LEVEL)
    check(shape, corners, supersample=4, level=LEVEL, area=1e-3)
    start, end = turn([(-half_width, 0), (half_width, 0)], angle, (0.11, 0.07))
    line = Line(tuple(start), tuple(end), size[1], BLACK, cap="butt")
    check(line, corners, level=8 * LEVEL)
    check(line, corners, supersample=4, level=LEVEL, area=1e-3)


@pytest.mark.parametrize("radius", [1.3, 0.5, 0.25])
def test_discs(radius):
    """From a radius of 2.5 pixels up."""
    shape, corners = Circle((0.13, -0.21), radius, BLACK), circular((0.13, -0.21), radius)
    check(shape, corners, level=11 * LEVEL)
    check(shape, corners, supersample=16, level=LEVEL, area=1e-3)


@pytest.mark.parametrize("width", [0.5, 0.2])
def test_round_lines(width):
    """From a width of 2 pixels up."""
    start, end = np.array([-1.3, -0.7]), np.array([1.1, 0.9])
    across = np.arctan2(*(end - start)[::-1]) - np.pi / 2
    corners = [circular(end, width / 2, across, np.pi), circular(start, width / 2, across + np.pi, np.pi)]
    shape = Line(tuple(start), tuple(end), width, BLACK)
    check(shape, np.concatenate(corners), level=10 * LEVEL)
    check(shape, np.concatenate(corners), supersample=8, level=LEVEL, area=1e-3)


@pytest.mark.parametrize(("start", "sweep", "width"), [(0.4, 2.5, 0.3), (2.0, 4.5, 0.2), (3.0, -1.0, 0.4)])
def test_arcs(start, sweep, width):
    center, radius, low, turned = (0.1, -0.1), 1.2, min(start, start + sweep), abs(sweep)
    ends = [(center[0] + radius * np.cos(angle), center[1] + radius * np.sin(angle)) for angle in (low, low + turned)]
    corners = [
        circular(center, radius + width / 2, low, turned),
        circular(ends[1], width / 2, low + turned, np.pi),
        circular(center, radius - width / 2, low + turned, -turned),
        circular(ends[0], width / 2, low + np.pi, np.pi),
    ]
    shape = Arc(center, radius, start, sweep, width, BLACK)
    check(shape, np.concatenate(corners), level=20 * LEVEL, area=1e-2)
    check(shape, np.concatenate(corners), supersample=16, level=LEVEL, area=1e-3)


@pytest.mark.parametrize("sweep", [2 * np.pi, -2 * np.pi, 9.0])
def test_a_full_turn_closes(sweep):
    ring = covered(Circle((0.3, -0.2), 1.3, BLACK)) - covered(Circle((0.3, -0.2), 1.1, BLACK))
    whole = covered(Arc((0.3, -0.2), 1.2, 0.0, sweep, 0.2, BLACK))
    np.testing.assert_allclose(whole, ring, atol=8 * LEVEL)
    assert whole.sum() == pytest.approx(ring.sum(), rel=5e-3)


def test_terrain():
    """Straight slopes are half-planes; where two meet, the nearer one counts."""
    heights = np.array([-1.0, 0.3, 0.1, -0.6, 0.9])
    surface = list(zip(np.linspace(-2.0, 2.2, 5), heights, strict=True))
    corners = [(-9, -9), (-9, heights[0]), *surface, (9, heights[-1]), (9, -9)]
    shape = Terrain(heights.astype(np.float32), -2.0, 2.2, BLACK)
    check(shape, corners, level=60 * LEVEL)
    check(shape, corners, supersample=8, level=LEVEL, area=1e-4)


def test_level_terrain_is_a_half_plane():
    corners = [(-9, -9), (-9, 0.137), (9, 0.137), (9, -9)]
    check(Terrain(np.full(3, 0.137, np.float32), -1.0, 1.0, BLACK), corners, level=LEVEL / 10, area=1e-4)


@pytest.mark.parametrize("radius", [0.05, 0.02, 0.001])
def test_dots_smaller_than_a_pixel_keep_their_area(radius):
    """None disappears between two pixels."""
    for x in np.linspace(0.0, 0.1, 7):
        dot = covered(Circle((0.3 + x, -0.2 + x / 3), radius, BLACK))
        assert dot.sum() == pytest.approx(np.pi * (radius / 0.1) ** 2, rel=1e-3)


@pytest.mark.parametrize("width", [0.1, 0.05, 0.02])
def test_thin_lines_fade(width):
    """The area of butt ones is right to 0.5%, of round ones to 10%."""
    for y in np.linspace(0.0, 0.1, 4):
        start, end = (-1.3, -0.7 + y), (1.1, 0.9 + y)
        butt = covered(Line(start, end, width, BLACK, cap="butt")).sum() / 100
        assert butt == pytest.approx(np.hypot(2.4, 1.6) * width, rel=5e-3)
        round_ended = covered(Line(start, end, width, BLACK)).sum() / 100
        assert round_ended == pytest.approx(np.hypot(2.4, 1.6) * width + np.pi * width**2 / 4, rel=0.1)


def test_outlines_lie_along_the_edge():
    """An outline on a shape without colour is the shape drawn larger, less the shape drawn smaller."""
    none = (0.0, 0.0, 0.0, 0.0)
    for ring, large, small in (
        (
            Circle((0.1, 0.0), 1.0, none, outline=BLACK, outline_width=0.3),
            Circle((0.1, 0.0), 1.15, BLACK),
            Circle((0.1, 0.0), 0.85, BLACK),
        ),
        (
            Rectangle((0.1, 0.0), (2.0, 1.0), none, outline=BLACK, outline_width=0.3),
            Rectangle((0.1, 0.0), (2.3, 1.3), BLACK, corner_radius=0.15),
            Rectangle((0.1, 0.0), (1.7, 0.7), BLACK),
        ),
    ):
        np.testing.assert_allclose(covered(ring, 8), covered(large, 8) - covered(small, 8), atol=2 * LEVEL)


def test_an_outlined_polygon_is_its_sides_as_lines():
    corners = np.array([(-1.5, -1.1), (1.7, -0.4), (0.2, 1.4)], np.float32)
    sides = zip(corners, np.roll(corners, -1, axis=0), strict=True)
    lines = [covered(Line(tuple(a), tuple(b), 0.3, BLACK)) for a, b in sides]
    outlined = covered(Polygon(corners, (0.0, 0.0, 0.0, 0.0), outline=BLACK, outline_width=0.3))
    np.testing.assert_allclose(outlined, np.max(lines, axis=0), atol=1e-5)


def test_placed_shapes_are_exact_too():
    corners = np.array([(-0.5, -0.5), (0.5, -0.4), (0.1, 0.6)])
    (shape,) = transform([Polygon(corners.astype(np.float32), BLACK)], (0.2, -0.1), 0.7, 1.8)
    check(shape, turn(1.8 * corners, 0.7, (0.2, -0.1)), level=LEVEL / 10, area=1e-4)


def test_lines_without_length():
    """A round one is a dot, a butt one nothing; neither is NaN."""
    dot = covered(Line((0.1, 0.2), (0.1, 0.2), 0.4, BLACK))
    np.testing.assert_allclose(dot, covered(Circle((0.1, 0.2), 0.2, BLACK)), atol=0.03)
    assert covered(Line((0.1, 0.2), (0.1, 0.2), 0.4, BLACK, cap="butt")).max() < 0.01
