"""A scene with every kind of shape, for the browser to show."""

import numpy as np
import pytest

from funcenv.replay import Replay
from funcenv.scene import (
    Arc,
    Camera,
    Circle,
    Line,
    Polygon,
    Rectangle,
    Repeat,
    Scene,
    Sprite,
    Terrain,
    Text,
    letters,
    rgba,
    transform,
)


def texels(rows, columns):
    """Texels of many colours, some of them transparent."""
    numbers = np.arange(rows * columns)
    channels = [37 * numbers, 91 * numbers + 40, 153 * numbers + 80, np.where(numbers % 5 == 0, 0, 160 + numbers)]
    return (np.stack(channels, -1) % 256).astype(np.uint8).reshape(rows, columns, 4)


def all_shapes(t):
    """Return a scene with every kind of shape and every field of one in use, at a moment of its motion."""
    ink, red, blue = rgba("#20242c"), rgba("#d9483b"), rgba("#2f6fd0", 0.7)
    green, gold = rgba("#3a9a5b"), rgba("#e0a92e")
    dots = np.stack([np.linspace(-4.6, -3.2, 8), np.full(8, 2.6) + 0.1 * np.sin(np.arange(8) + t)], 1)
    star = np.stack([np.cos(np.arange(10) * np.pi / 5 + t), np.sin(np.arange(10) * np.pi / 5 + t)], 1)
    star *= np.where(np.arange(10) % 2, 0.35, 0.8)[:, None]
    wheel = (
        Circle((0.0, 0.0), 0.45, rgba("#ffffff"), outline=ink, outline_width=0.08),
        *(Line((0.0, 0.0), (0.45 * np.cos(a), 0.45 * np.sin(a)), 0.05, ink) for a in (0.0, 2.1, 4.2)),
    )
    shapes = (
        Repeat(Circle(dots, np.linspace(0.03, 0.12, 8), np.tile(red, (8, 1)))),
        Rectangle((-3.6, 1.4), (1.6, 0.7), blue, angle=0.3 + t, outline=ink, outline_width=0.06),
        Rectangle((-1.5, 1.6), (1.3, 0.9), gold, corner_radius=0.25, outline=red, outline_width=0.1),
        Rectangle((0.3, 1.7), (1.1, 0.6), green),
        Rectangle((1.9, 1.6), (1.0, 0.7), green, angle=-0.5, corner_radius=0.1),
        Line((3.0, 1.1), (4.5, 2.3), 0.22, ink),
        Line((3.0, 2.3), (4.4, 1.4 + 0.2 * t), 0.18, red, cap="butt"),
        Line((-4.7, 0.7), (-2.9, 0.35), 0.006, ink),
        Line((-4.7, 0.5), (-2.9, 0.5), 0.02, ink, cap="butt"),
        Line((-2.6, 0.6), (-2.6, 0.6), 0.2, blue),
        Arc((-1.6, 0.2), 0.5, start=0.4 + t, sweep=4.0, width=0.12, color=blue),
        Arc((-0.4, 0.2), 0.4, start=1.0, sweep=-2.2, width=0.08, color=red),
        Arc((0.7, 0.2), 0.4, start=0.0, sweep=7.0, width=0.05, color=ink),
        Polygon(star + np.array([2.0, 0.2]), gold, outline=ink, outline_width=0.05),
        Polygon(np.array([[3.0, -0.3], [4.4, -0.2], [4.0, 0.7], [3.7, 0.1]]), blue),
        Circle((4.3, 2.7), 0.25, rgba("#000000", 0.0), outline=green, outline_width=0.07),
        Sprite((-4.1, -0.9), (1.0, 1.0), texels(6, 6)),
        Sprite((-2.6 + 0.1 * t, -0.9), (0.9, 0.55), texels(40, 60), alpha=0.8),
        Repeat(Sprite(np.array([[-1.3, -0.8], [-0.5, -1.0]]), np.full((2, 2), 0.6), np.stack([texels(4, 4)] * 2),
                    np.array([1.0, 0.5]))),
        Text((0.2, -0.8), letters("Step 42%"), 0.3, ink, anchor="left"),
        Text((2.9 + 0.05 * t, -1.3), letters("@gjy_|"), 0.24, red, anchor="right"),
        Text((4.0, -0.9), letters("tiny"), 0.09, ink),
        Terrain(np.array([0.2, 0.5, 0.1, 0.0, 0.6, 0.2]) - 2.3, -4.0, 4.0, green, outline=ink, outline_width=0.05),
        *transform(wheel, at=(-2.0 + t, -1.5), angle=t, scale=0.8),
    )  # fmt: skip
    backdrop = (Rectangle((0.0, -3.0), (10.0, 1.0), rgba("#c9b38a")), Line((-5.0, 0.9), (5.0, 0.9), 0.01, ink))
    return Scene(Camera((0.0, 0.0), 10.0, 6.5), shapes, backdrop, background=rgba("#eef2f7"))


@pytest.fixture(scope="session")
def every_shape():
    """Return a replay of `all_shapes`."""
    moments = [0.0, 0.25, 0.5, 1.0]
    return Replay.from_scenes(
        [all_shapes(t) for t in moments], [1.0, -0.5, 0.25], title="Every <shape>", terminated=True
    )
