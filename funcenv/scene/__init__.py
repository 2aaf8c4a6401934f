"""Pictures of environments: shapes in world coordinates, drawn once and shown anywhere.

An environment's `scene(state)` returns a `Scene`. `rasterize` turns it into pixels inside compiled code; windows,
terminals, pixel observations and replays are made from the same scene.
"""

from funcenv.scene import palette
from funcenv.scene._validate import require_same_structure
from funcenv.scene.color import rgba
from funcenv.scene.font import digits, letters
from funcenv.scene.grid import mosaic
from funcenv.scene.images import Sprite, Text
from funcenv.scene.rasterize import rasterize
from funcenv.scene.scene import Camera, Scene
from funcenv.scene.shapes import Arc, Circle, Line, Many, Polygon, Rectangle, Shape, Terrain, place

__all__ = [
    "Arc",
    "Camera",
    "Circle",
    "Line",
    "Many",
    "Polygon",
    "Rectangle",
    "Scene",
    "Shape",
    "Sprite",
    "Terrain",
    "Text",
    "digits",
    "letters",
    "mosaic",
    "palette",
    "place",
    "rasterize",
    "require_same_structure",
    "rgba",
]
