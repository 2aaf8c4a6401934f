"""The same shapes drawn by Pillow and by pygame, eight times larger and reduced to the mean of each square of pixels.

Their own outlines are a fraction of a large pixel off, so the bounds here are looser than those on exact coverage.
"""

import os

import numpy as np
import pytest

from funcenv.scene import Circle, Line, Polygon, Rectangle
from tests.support.drawing import BLACK, covered

LARGER = 8
POINTS = {
    "triangle": [(-1.5, -1.1), (1.7, -0.4), (0.2, 1.4)],
    "bolt": [(-1.0, 1.2), (0.3, 1.3), (-0.1, 0.3), (0.9, 0.4), (-0.8, -1.6), (-0.3, -0.2), (-1.2, -0.3)],
}


def shape_of(kind):
    return {
        "disc": Circle((0.2, -0.3), 1.21, BLACK),
        "rectangle": Rectangle((0.2, -0.3), (2.42, 1.36), BLACK),
        "line": Line((-1.31, -0.72), (1.13, 0.94), 0.31, BLACK, cap="butt"),
        **{name: Polygon(np.array(points, np.float32), BLACK) for name, points in POINTS.items()},
    }[kind]


def to_large(x, y):
    """World coordinates to those of the large image: the camera looks at (0.3, -0.2), 5 wide, 4 high, 50 x 40."""
    return (x - 0.3 + 2.5) * 10 * LARGER, (2.0 - (y + 0.2)) * 10 * LARGER


def reduced(large):
    return large.reshape(40, LARGER, 50, LARGER).mean(axis=(1, 3)) / 255


def pillow(kind):
    from PIL import Image, ImageDraw

    image = Image.new("L", (50 * LARGER, 40 * LARGER), 0)
    draw = ImageDraw.Draw(image)
    if kind == "disc":
        draw.ellipse([*to_large(0.2 - 1.21, -0.3 + 1.21), *to_large(0.2 + 1.21, -0.3 - 1.21)], fill=255)
    elif kind == "rectangle":
        draw.rectangle([*to_large(0.2 - 1.21, -0.3 + 0.68), *to_large(0.2 + 1.21, -0.3 - 0.68)], fill=255)
    elif kind == "line":
        draw.line([to_large(-1.31, -0.72), to_large(1.13, 0.94)], fill=255, width=round(0.31 * 10 * LARGER))
    else:
        draw.polygon([to_large(*point) for point in POINTS[kind]], fill=255)
    return np.asarray(image.resize((50, 40), Image.Resampling.BOX), np.float64) / 255


def pygame_(kind):
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    surface = pygame.Surface((50 * LARGER, 40 * LARGER))
    if kind == "disc":
        pygame.draw.circle(surface, "white", to_large(0.2, -0.3), 1.21 * 10 * LARGER)
    elif kind == "rectangle":
        left, top = to_large(0.2 - 1.21, -0.3 + 0.68)
        pygame.draw.rect(surface, "white", (left, top, 24.2 * LARGER, 13.6 * LARGER))
    elif kind == "line":
        start, end = np.array([-1.31, -0.72]), np.array([1.13, 0.94])
        across = 0.155 * np.array([-(end - start)[1], (end - start)[0]]) / np.linalg.norm(end - start)
        corners = [start + across, end + across, end - across, start - across]
        pygame.draw.polygon(surface, "white", [to_large(*corner) for corner in corners])
    else:
        pygame.draw.polygon(surface, "white", [to_large(*point) for point in POINTS[kind]])
    return reduced(pygame.surfarray.array3d(surface)[:, :, 0].T.astype(np.float64))


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:UserWarning")  # pygame's own imports
@pytest.mark.parametrize("library", [pillow, pygame_])
@pytest.mark.parametrize("kind", ["disc", "rectangle", "line", *POINTS])
def test_as_drawn_elsewhere(library, kind):
    """The mean difference, in levels of 255, over all pixels and over those at the edge."""
    theirs, ours = library(kind), covered(shape_of(kind))
    difference = 255 * np.abs(theirs - ours)
    edge = (ours > 0.01) & (ours < 0.99)
    print(
        f"{kind} by {library.__name__}: mean {difference.mean():.2f}, at the edge {difference[edge].mean():.1f} levels"
    )
    assert difference.mean() < 1.2
    assert difference.max() < 0.25 * 255
