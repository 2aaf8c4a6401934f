"""Tiny environments, each broken on purpose in one way."""

from . import kinds, parameters, play, precision, purity, runs
from .line import BROKEN_ENVS, Line

__all__ = ["BROKEN_ENVS", "Line", "kinds", "parameters", "play", "precision", "purity", "runs"]
