"""A zoo of tiny environments, each broken on purpose in one way."""

from . import kinds, parameters, purity, running, settings
from .line import EXHIBITS, Line

__all__ = ["EXHIBITS", "Line", "kinds", "parameters", "purity", "running", "settings"]
