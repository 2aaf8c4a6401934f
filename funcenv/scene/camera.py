"""The camera: which part of the world an image shows."""

from __future__ import annotations

from funcenv.scene._fields import Length, Point
from funcenv.struct import PyTreeNode


class Camera(PyTreeNode):
    """The part of the world that an image shows, in world units.

    An image of other proportions shows more of the world around it, never less, and never distorts lengths.

    >>> Camera((0.0, 0.0), 4.8, 3.2).width
    4.8
    """

    center: Point
    width: Length
    height: Length
