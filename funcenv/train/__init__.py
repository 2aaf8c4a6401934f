"""Training algorithms, one file each, and the runs that are started, resumed and evaluated with them."""

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any, NoReturn

import funcenv.hints as _hints

if TYPE_CHECKING:
    from funcenv.train.algorithms import (
        alphazero,
        ars,
        bc,
        dqn,
        iql,
        plr,
        ppo,
        pqn,
        q_learning,
        recurrent_ppo,
        reinforce,
        sac,
        simba,
        td3,
        tqc,
    )
    from funcenv.train.runs import run
    from funcenv.train.runs.policy import load_policy, stateful_policy
    from funcenv.train.sweeps import grid, sweep

_ALGORITHMS = [
    "alphazero",
    "ars",
    "bc",
    "dqn",
    "iql",
    "plr",
    "ppo",
    "pqn",
    "q_learning",
    "recurrent_ppo",
    "reinforce",
    "sac",
    "simba",
    "td3",
    "tqc",
]
_FUNCTIONS = {"grid": "sweeps", "load_policy": "runs.policy", "stateful_policy": "runs.policy", "sweep": "sweeps"}

__all__ = [
    "alphazero",
    "ars",
    "bc",
    "dqn",
    "grid",
    "iql",
    "load_policy",
    "plr",
    "ppo",
    "pqn",
    "q_learning",
    "recurrent_ppo",
    "reinforce",
    "run",
    "sac",
    "simba",
    "stateful_policy",
    "sweep",
    "td3",
    "tqc",
]


if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> Any:
        """Import what needs flax, optax or orbax when it is first used."""
        if name in _FUNCTIONS:
            return getattr(importlib.import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
        if name in _ALGORITHMS:
            return _hints.note_missing_names(importlib.import_module(f"{__name__}.algorithms.{name}"), _hints.OF_TRAIN)
        if name == "run":
            return importlib.import_module(f"{__name__}.runs.run")
        raise AttributeError(_hints.missing_name(f"module {__name__!r}", name, _hints.OF_TRAIN, __all__))


def __dir__() -> list[str]:
    return __all__


class _Package(types.ModuleType):
    """The type of this package, which is no function."""

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Say how training starts."""
        raise TypeError(f"funcenv.train is a package of algorithms and runs; {_hints.OF_TRAIN['train']}")


sys.modules[__name__].__class__ = _Package
