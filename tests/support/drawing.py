"""Exact coverage, computed in float64 by NumPy, and images of single black shapes."""

import functools

import jax
import numpy as np

from funcenv.scene import Camera, Scene, rasterize

BLACK = (0.0, 0.0, 0.0, 1.0)
HEIGHT, WIDTH = 40, 50
CAMERA = Camera((0.3, -0.2), 5.0, 4.0)  # a pixel is 0.1 wide


@functools.partial(jax.jit, static_argnames=("height", "width", "supersample", "grayscale", "dtype"))
def drawn(scene, height=HEIGHT, width=WIDTH, supersample=1, grayscale=False, dtype="uint8"):
    return rasterize(scene, height, width, supersample=supersample, grayscale=grayscale, dtype=dtype)


def covered(shape, supersample=1):
    """Return the part of each pixel that a black shape covers by our rasteriser, before rounding."""
    scene = Scene(CAMERA, (shape,))
    return 1 - np.asarray(drawn(scene, supersample=supersample, grayscale=True, dtype="float32"), np.float64)


def exact(corners, height=HEIGHT, width=WIDTH, camera=CAMERA):
    """Return the part of each pixel that a polygon covers.

    Green's theorem: the integral of clip(y - foot, 0, pixel) dx around the polygon, an edge and a column at a time; y
    is linear there, and t^2 / 2 clipped is the antiderivative of t clipped.
    """
    pixel = max(float(camera.width) / width, float(camera.height) / height)
    left = camera.center[0] + (np.arange(width) - width / 2) * pixel
    foot = camera.center[1] - (np.arange(height)[:, None] + 1 - height / 2) * pixel
    total = np.zeros((height, width))
    corners = np.asarray(corners, np.float64)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if ax == bx:
            continue
        first, last = (np.clip(x, min(ax, bx), max(ax, bx)) for x in (left, left + pixel))
        slope = (by - ay) / (bx - ax)
        start, end = (ay + (x - ax) * slope - foot for x in (first, last))
        level = np.abs(end - start) < 1e-9
        mean = (antiderivative(end, pixel) - antiderivative(start, pixel)) / np.where(level, 1, end - start)
        mean = np.where(level, np.clip((start + end) / 2, 0, pixel), mean)
        total += mean * (last - first) * np.sign(bx - ax)
    return np.abs(total) / pixel**2


def antiderivative(t, top):
    clipped = np.clip(t, 0, top)
    return clipped * (t - clipped / 2)


def turn(points, angle=0.0, shift=(0.0, 0.0)):
    cos, sin = np.cos(angle), np.sin(angle)
    return np.asarray(points) @ np.array([[cos, sin], [-sin, cos]]) + np.asarray(shift)


def circular(center, radius, start=0.0, sweep=2 * np.pi, corners=3000):
    """Return points slightly outside of a circle, so that a full turn of them has the area of the disc."""
    angles = start + sweep * np.arange(corners + 1) / corners
    radius = radius * np.sqrt((2 * np.pi / corners) / np.sin(2 * np.pi / corners))
    return np.asarray(center) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
