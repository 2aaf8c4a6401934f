"""Measurements of an environment: speed, compile time, memory, and the cost of each part of a step."""

from funcenv.bench.breakdown import PARTS, Breakdown, break_down
from funcenv.bench.measure import Footprint, Measurement, Timing, describe_engine, footprint, measure, time_in_turns

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
