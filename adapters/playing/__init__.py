"""Interactive play with the keyboard: `play`, `play_in_terminal`, `PlayPlot`."""

from funcenv.adapters.playing.play import play, play_in_terminal
from funcenv.adapters.playing.plot import PlayPlot

__all__ = ["PlayPlot", "play", "play_in_terminal"]
