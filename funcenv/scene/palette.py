"""The colours that the built-in scenes share: a light paper, a dark ink, and a few muted hues.

Backgrounds are light; what moves or matters is dark or saturated, so that images stay clear in grey.

>>> from funcenv.scene import Circle, palette
>>> Circle((0.0, 0.0), 1.0, palette.INK).color.shape
(4,)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from funcenv.hints import missing_name
from funcenv.scene.color import rgba

PAPER = rgba("#f8f6f1")  # behind everything
WHITE = rgba("#ffffff")
MIST = rgba("#e6e5e1")  # ground, slightly darker than the paper
CLOUD = rgba("#cfd2d3")  # faint lines
STONE = rgba("#8d979f")  # lines and marks
INK = rgba("#2b3541")  # solid objects

SKY = rgba("#d3e5f2")  # ice
BLUE = rgba("#3d76b3")
NAVY = rgba("#234a73")  # water

LEAF = rgba("#b9d8a8")  # grass
GREEN = rgba("#4a9c6d")  # goals
FELT = rgba("#2f6f57")

YELLOW = rgba("#f3c14b")
ORANGE = rgba("#e8823a")
RED = rgba("#d14a58")
EARTH = rgba("#93715a")
SKIN = rgba("#f3cfae")

if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> NoReturn:
        """Name the colours that there are."""
        colours = [one for one in globals() if one.isupper() and one != "TYPE_CHECKING"]
        message = missing_name(f"module {__name__!r}", name, {"GRASS": "write LEAF", "BLACK": "write INK"}, colours)
        others = f"; the colours are: {', '.join(colours)}, and those of funcenv.scene.rgba('#b9d8a8')"
        raise AttributeError(message if ";" in message else message + others)
