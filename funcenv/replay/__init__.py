"""Episodes as values, to look at again: in a page that plays them, as a film, in a notebook."""

from funcenv.replay.record import record
from funcenv.replay.replay import Episode, Replay
from funcenv.replay.scene_stack import can_draw

__all__ = ["Episode", "Replay", "can_draw", "record"]
