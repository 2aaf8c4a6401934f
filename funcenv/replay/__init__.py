"""Replays: recorded episodes as HTML pages that play them, as videos, and in notebooks."""

from funcenv.replay.episode import Episode
from funcenv.replay.record import record
from funcenv.replay.replay import Replay
from funcenv.replay.scene_stack import can_draw

__all__ = ["Episode", "Replay", "can_draw", "record"]
