"""pygame, imported when it is needed, and whether there is a display to open a window on."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import warnings
from typing import Any

# Read by pygame and SDL when they start; what the user has set stays.
_SETTINGS = {
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",  # importing a library prints nothing
    "SDL_NO_SIGNAL_HANDLERS": "1",  # otherwise SDL turns SIGTERM into a closed window, and the program goes on
    "SDL_RENDER_SCALE_QUALITY": "linear",
}


@functools.cache
def load_pygame() -> Any:
    """The package pygame.

    Parts of it import `pkg_resources`, which warns that it is deprecated; that warning, which no user of pygame can
    act on, is dropped here. Nothing else is.

    Raises:
        ModuleNotFoundError: it is not installed.

    >>> load_pygame().__name__
    'pygame'
    """
    require_pygame()
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pkg_resources")
        pygame = importlib.import_module("pygame")
        importlib.import_module("pygame.pkgdata")  # which fonts import later
    return pygame


def require_pygame() -> None:
    """Raise `ModuleNotFoundError` unless pygame is installed; it is not imported."""
    if importlib.util.find_spec("pygame") is None:
        raise ModuleNotFoundError('a window needs pygame: pip install "funcenv[render]"', name="pygame")


def require_display() -> None:
    """Raise unless a window can be opened; nothing is imported and none is opened.

    Raises:
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: there is no screen, as on a server, and no driver that does without one was chosen.
    """
    require_pygame()
    if not has_display():
        raise RuntimeError(
            "there is no display to open a window on: neither DISPLAY nor WAYLAND_DISPLAY is set; choose "
            'render_mode="rgb_array" or "ansi", or set SDL_VIDEODRIVER=dummy for a window that nobody sees'
        )


def has_display() -> bool:
    """Whether there is a screen, or a driver was chosen that does without one."""
    chosen = os.environ.get("SDL_VIDEODRIVER")
    if chosen not in (None, "", "x11", "wayland"):
        return True  # say dummy, offscreen or kmsdrm
    return not sys.platform.startswith("linux") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
