"""Registries that a test changes, and that are as before afterwards."""

import contextlib
import importlib

import gymnasium

from funcenv import entry_points


@contextlib.contextmanager
def restored():
    """Restore our registry and Gymnasium's, and look for installed packages anew, at both ends."""
    registry = importlib.import_module("funcenv.registry")  # the attribute funcenv.registry is a view of what it keeps
    entry_points.load_entry_points()
    kept = registry._specs, entry_points._loaded, gymnasium.registry
    before = [kind.copy() for kind in kept]
    entry_points._entry_points.cache_clear()
    try:
        yield
    finally:
        entry_points._entry_points.cache_clear()
        for present, earlier in zip(kept, before, strict=True):
            present.clear()
            present.update(earlier)
