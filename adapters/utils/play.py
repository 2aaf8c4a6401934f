"""The name `gymnasium.utils.play` for `funcenv.adapters.play` and `PlayPlot`."""

from funcenv.adapters.playing import PlayPlot, play

__all__ = ["PlayPlot", "play"]
