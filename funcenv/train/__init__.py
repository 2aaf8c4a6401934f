"""Training algorithms, one file each, and the runs that are started, resumed and evaluated with them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funcenv.train.policy import load_policy, stateful_policy
    from funcenv.train.sweeps import grid, sweep

__all__ = ["grid", "load_policy", "stateful_policy", "sweep"]

_MODULES = {"grid": "sweeps", "load_policy": "policy", "stateful_policy": "policy", "sweep": "sweeps"}


def __getattr__(name: str) -> Any:
    """Import what needs flax, optax or orbax when it is first used."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
