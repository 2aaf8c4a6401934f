"""How fast an environment is, what it costs to compile and to keep, and where its time goes: `funcenv bench`."""

from funcenv.bench.breakdown import PARTS, Breakdown, break_down
from funcenv.bench.measure import Measurement, describe_engine, measure
from funcenv.bench.memory import Footprint, footprint
from funcenv.bench.timing import Timing, time_in_turns

__all__ = [
    "PARTS",
    "Breakdown",
    "Footprint",
    "Measurement",
    "Timing",
    "break_down",
    "describe_engine",
    "footprint",
    "measure",
    "time_in_turns",
]
