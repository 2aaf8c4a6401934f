"""Reinforcement-learning environments as pure JAX functions.

>>> import funcenv, jax
>>> env = funcenv.make("CartPole-v1")
>>> venv = funcenv.FuncVectorEnv(env, num_envs=4)
>>> vstate, trajectory, statistics = funcenv.rollout(venv, funcenv.random_policy(env), funcenv.key(0), num_steps=100)
>>> trajectory.timestep.observation.shape
(100, 4, 4)
"""

from funcenv import _command  # noqa: F401  # before all others, which it says why

# isort: split
import importlib
from typing import TYPE_CHECKING, Any

import funcenv.hints as _hints
from funcenv import spaces, wrappers
from funcenv.func_env import FuncEnv, Timestep
from funcenv.random import key
from funcenv.registry import EnvSpec, make, pprint_registry, register, registry, spec
from funcenv.rollout import Evaluation, RolloutStatistics, Trajectory, evaluate, random_policy, rollout
from funcenv.struct import PyTreeNode, field
from funcenv.union import Union
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep
from funcenv.wrappers import Wrapper

if TYPE_CHECKING:
    from funcenv import adapters as adapters
    from funcenv import checker as checker
    from funcenv import envs as envs
    from funcenv import goals as goals
    from funcenv import multi_agent as multi_agent
    from funcenv import replay as replay
    from funcenv import scene as scene
    from funcenv import search as search
    from funcenv import train as train
    from funcenv.adapters.gymnasium import from_gymnasium as from_gymnasium
    from funcenv.adapters.gymnasium import from_gymnasium_functional as from_gymnasium_functional
    from funcenv.checker import check_func_env
    from funcenv.checker.checkify import checked

    # isort: off
    from funcenv.interop import (
        from_brax as from_brax,
        from_craftax as from_craftax,
        from_envelope as from_envelope,
        from_gymnax as from_gymnax,
        from_jaxmarl as from_jaxmarl,
        from_jumanji as from_jumanji,
        from_navix as from_navix,
        from_pgx as from_pgx,
        from_playground as from_playground,
        from_xminigrid as from_xminigrid,
        to_brax as to_brax,
        to_envelope as to_envelope,
        to_gymnax as to_gymnax,
    )

    # isort: on
    from funcenv.interop.dm_env import to_dm_env as to_dm_env
    from funcenv.interop.pettingzoo import to_pettingzoo as to_pettingzoo
    from funcenv.interop.torchrl import to_torchrl as to_torchrl
    from funcenv.programs import explain
    from funcenv.replay import Replay
    from funcenv.replay.record import record
    from funcenv.train.runs.policy import load_policy

__version__ = "0.1.0"

__all__ = [
    "AutoresetMode",
    "EnvSpec",
    "Evaluation",
    "FuncEnv",
    "FuncVectorEnv",
    "PyTreeNode",
    "Replay",
    "RolloutStatistics",
    "Timestep",
    "Trajectory",
    "Union",
    "VectorState",
    "VectorTimestep",
    "Wrapper",
    "check_func_env",
    "checked",
    "evaluate",
    "explain",
    "field",
    "key",
    "load_policy",
    "make",
    "pprint_registry",
    "random_policy",
    "record",
    "register",
    "registry",
    "rollout",
    "spaces",
    "spec",
    "wrappers",
]

_LAZY = {
    "check_func_env": "checker",
    "checked": "checker.checkify",
    "explain": "programs",
    "from_gymnasium": "adapters.gymnasium",
    "from_gymnasium_functional": "adapters.gymnasium",
    "load_policy": "train.runs.policy",
    "Replay": "replay",
    "record": "replay",
    **dict.fromkeys(("from_brax", "from_craftax", "from_envelope", "from_gymnax", "from_jaxmarl"), "interop"),
    **dict.fromkeys(("from_jumanji", "from_navix", "from_pgx", "from_playground", "from_xminigrid"), "interop"),
    **dict.fromkeys(("to_brax", "to_envelope", "to_gymnax"), "interop"),
    "to_dm_env": "interop.dm_env",
    "to_pettingzoo": "interop.pettingzoo",
    "to_torchrl": "interop.torchrl",
}
"""The modules of names that are imported when they are first used."""

_PACKAGES = "adapters", "checker", "envs", "goals", "levels", "multi_agent", "replay", "scene", "search", "train"


if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> Any:
        """Import what is not needed for stepping when it is first used, which keeps `import funcenv` fast."""
        if name in _PACKAGES:
            return importlib.import_module(f"{__name__}.{name}")
        if name in _LAZY:
            return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
        raise AttributeError(_missing(name))


def _missing(name: str) -> str:
    """Return the message on a name that the package does not have; a class may be in one of its packages."""
    if name[:1].isupper():
        for package in ("envs", "wrappers", "spaces", "adapters"):
            if name in importlib.import_module(f"{__name__}.{package}").__all__:
                return f"module {__name__!r} has no attribute {name!r}; it is {__name__}.{package}.{name}"
    return _hints.missing_name(f"module {__name__!r}", name, _hints.OF_PACKAGE, [*__all__, *_PACKAGES])


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *_LAZY, "__version__"})
