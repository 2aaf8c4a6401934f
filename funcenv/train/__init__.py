"""Training algorithms, one file each, and the runs that are started, resumed and evaluated with them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funcenv.train.algorithms import dqn, ppo, pqn, q_learning, recurrent_ppo, reinforce, sac, td3
    from funcenv.train.runs import run
    from funcenv.train.runs.policy import load_policy, stateful_policy
    from funcenv.train.sweeps import grid, sweep

_ALGORITHMS = ["dqn", "ppo", "pqn", "q_learning", "recurrent_ppo", "reinforce", "sac", "td3"]
_FUNCTIONS = {"grid": "sweeps", "load_policy": "runs.policy", "stateful_policy": "runs.policy", "sweep": "sweeps"}

__all__ = [
    "dqn",
    "grid",
    "load_policy",
    "ppo",
    "pqn",
    "q_learning",
    "recurrent_ppo",
    "reinforce",
    "run",
    "sac",
    "stateful_policy",
    "sweep",
    "td3",
]


def __getattr__(name: str) -> Any:
    """Import what needs flax, optax or orbax when it is first used."""
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    if name in _ALGORITHMS:
        return importlib.import_module(f"{__name__}.algorithms.{name}")
    if name == "run":
        return importlib.import_module(f"{__name__}.runs.run")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
