"""How a stateful environment is shown: windows, text for terminals, videos."""

from funcenv.adapters.rendering.window import Window

__all__ = ["Window"]
