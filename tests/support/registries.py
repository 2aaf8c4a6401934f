"""Registries that a test changes, and that are as before afterwards."""

import contextlib
import importlib

import gymnasium

from funcenv import entry_points


@contextlib.contextmanager
def restored():
    """Restore our registry and Gymnasium's, and look for installed packages anew, at both ends."""
    with ours_restored(), _as_before(entry_points._loaded, gymnasium.registry):
        entry_points._entry_points.cache_clear()
        try:
            yield
        finally:
            entry_points._entry_points.cache_clear()


@contextlib.contextmanager
def ours_restored():
    """Restore our registry. Gymnasium's keeps what `funcenv.adapters.gymnasium` registers when it is first imported."""
    entry_points.load_entry_points()
    registry = importlib.import_module("funcenv.registry")  # the attribute funcenv.registry is a view of what it keeps
    with _as_before(registry._specs):
        yield


@contextlib.contextmanager
def _as_before(*kept):
    before = [kind.copy() for kind in kept]
    try:
        yield
    finally:
        for present, earlier in zip(kept, before, strict=True):
            present.clear()
            present.update(earlier)
