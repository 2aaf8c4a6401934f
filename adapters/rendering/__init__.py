"""Rendering of stateful environments: windows, text for terminals, frames."""

from funcenv.adapters.rendering.window import Window

__all__ = ["Window"]
