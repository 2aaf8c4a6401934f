"""Training algorithms, one file each, and the runs that are started, resumed and evaluated with them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funcenv.train.policy import load_policy, stateful_policy

__all__ = ["load_policy", "stateful_policy"]


def __getattr__(name: str) -> Any:
    """Import what needs flax, optax or orbax when it is first used."""
    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}.policy"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
