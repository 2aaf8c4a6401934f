"""Figures of Matplotlib as images, for libraries that draw with it."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcenv.struct import NDArray


def figure_image(figure: Any) -> NDArray:
    """Draw a figure, close it, and return its pixels, uint8 `[height, width, 4]`."""
    canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    canvas.draw()
    image = np.array(canvas.buffer_rgba())
    importlib.import_module("matplotlib.pyplot").close(figure)
    return image


@contextlib.contextmanager
def shown_nowhere() -> Iterator[None]:
    """Keep figures from windows, whatever the backend of Matplotlib is."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    before = pyplot.get_backend()
    pyplot.switch_backend("agg")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
            yield
    finally:
        pyplot.switch_backend(before)
