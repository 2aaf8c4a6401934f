"""The installed packages that register environments, through the entry-point group `funcenv.envs`."""

from __future__ import annotations

import functools
import importlib.metadata
import sys
import threading
import warnings
from collections.abc import Callable

ENTRY_POINT_GROUP = "funcenv.envs"

_loaded: set[str] = set()  # the entry points whose functions were called
_loading: set[str] = set()  # the entry points whose functions are being called, by the thread that holds the lock
_loading_lock = threading.RLock()


def load_entry_points() -> None:
    """Call the function of every entry point in the group `funcenv.envs`, each of them once.

    One that fails gives a warning with its name, and the others are still loaded. Other threads wait. A function may
    look up environments itself, of all the other entry points.
    """
    for entry in _entry_points():
        if entry.value not in _loaded:
            _load_entry_point(entry)


def _load_entry_point(entry: importlib.metadata.EntryPoint) -> None:
    try:
        function: Callable[[], None] = entry.load()  # before taking the lock, which this module may need to be imported
        error = None
    except Exception as failure:
        if _is_being_imported(entry.module):
            return  # It asks for environments before it defines the function; the next call finds that.
        error = failure
    with _loading_lock:
        if entry.value in _loaded or entry.value in _loading:
            return
        _loading.add(entry.value)
        try:
            if error is None:
                function()
        except Exception as failure:
            error = failure
        finally:
            _loading.remove(entry.value)
            _loaded.add(entry.value)
    if error is not None:
        message = f"the environments of {entry.value} could not be loaded: {type(error).__name__}: {error}"
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def _is_being_imported(name: str) -> bool:
    """Return whether a module has begun to run, and not ended."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))  # as Python's own message about circular imports asks


@functools.cache
def _entry_points() -> importlib.metadata.EntryPoints:
    return importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
