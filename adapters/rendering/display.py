"""Import of pygame on first use, and a check whether it can open a window."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import warnings
from typing import Any

from funcenv.display import has_display

NO_DISPLAY = (
    "there is no display to open a window on: neither DISPLAY nor WAYLAND_DISPLAY is set; choose "
    'render_mode="rgb_array" or "ansi", or set SDL_VIDEODRIVER=dummy for an invisible window'
)

# Environment variables that pygame and SDL read when they start. A value that the user has set is kept.
_SETTINGS = {
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",  # print nothing on import
    "SDL_NO_SIGNAL_HANDLERS": "1",  # SDL would turn SIGTERM into a "window closed" event instead of ending the program
    "SDL_RENDER_SCALE_QUALITY": "linear",
}


@functools.cache
def load_pygame() -> Any:
    """Return the module pygame.

    Parts of pygame import `pkg_resources`, which emits a deprecation warning. That warning alone is suppressed.

    Raises:
        ModuleNotFoundError: pygame is not installed.

    >>> load_pygame().__name__
    'pygame'
    """
    require_pygame()
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pkg_resources")
        pygame = importlib.import_module("pygame")
        importlib.import_module("pygame.pkgdata")  # pygame's fonts import it later, outside this context
    return pygame


def require_pygame() -> None:
    """Raise `ModuleNotFoundError` if pygame is not installed, without importing it."""
    if importlib.util.find_spec("pygame") is None:
        raise ModuleNotFoundError('a window needs pygame: pip install "funcenv[render]"', name="pygame")


def require_display() -> None:
    """Raise an error if no window can be opened, without importing pygame.

    Raises:
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: There is no screen, and no video driver that works without one is selected.
    """
    require_pygame()
    if not can_open_window():
        raise RuntimeError(NO_DISPLAY)


def can_open_window() -> bool:
    """Check whether there is a screen, or an SDL video driver that works without one (dummy, offscreen, kmsdrm)."""
    return os.environ.get("SDL_VIDEODRIVER", "") not in ("", "x11", "wayland") or has_display()
