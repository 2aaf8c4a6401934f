"""Drawings of states: shapes in world coordinates, drawn once and shown anywhere.

`env.scene(state)` returns a `Scene`. `rasterize` turns it into pixels inside compiled code. Windows, terminals, image
observations and replays are all made from the same scene.
"""

from funcenv.scene import palette
from funcenv.scene._validate import require_same_structure
from funcenv.scene.color import rgba
from funcenv.scene.font import digits, letters
from funcenv.scene.grid import mosaic
from funcenv.scene.scene import Camera, Scene, rasterize
from funcenv.scene.shapes import Arc, Circle, Line, Polygon, Rectangle, Repeat, Shape, Terrain, transform
from funcenv.scene.sprites import Sprite, Text

__all__ = [
    "Arc",
    "Camera",
    "Circle",
    "Line",
    "Polygon",
    "Rectangle",
    "Repeat",
    "Scene",
    "Shape",
    "Sprite",
    "Terrain",
    "Text",
    "digits",
    "letters",
    "mosaic",
    "palette",
    "rasterize",
    "require_same_structure",
    "rgba",
    "transform",
]
