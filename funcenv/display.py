"""Detection of a screen, without opening a window."""

from __future__ import annotations

import os
import sys


def has_display() -> bool:
    """Check whether a window can appear on a screen: always outside Linux, and on Linux if X11 or Wayland runs."""
    return not sys.platform.startswith("linux") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
