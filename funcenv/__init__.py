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

from funcenv import spaces, wrappers
from funcenv.func_env import FuncEnv, Timestep
from funcenv.random import key
from funcenv.registry import EnvSpec, make, pprint_registry, register, registry, spec
from funcenv.rollout import Evaluation, RolloutStatistics, Trajectory, evaluate, random_policy, rollout
from funcenv.struct import PyTreeNode, field
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep
from funcenv.wrappers import Wrapper

if TYPE_CHECKING:
    from funcenv.checker import check_func_env
    from funcenv.checker.checkify import checked
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

_PACKAGES = "adapters", "checker", "envs", "multi_agent", "replay", "scene", "search", "train"


def __getattr__(name: str) -> Any:
    """Import what is not needed for stepping when it is first used, which keeps `import funcenv` fast."""
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    modules = {
        "check_func_env": "checker",
        "checked": "checker.checkify",
        "explain": "programs",
        "from_gymnasium": "adapters.gymnasium",
        "from_gymnasium_functional": "adapters.gymnasium",
        "load_policy": "train.runs.policy",
        "Replay": "replay",
        "record": "replay",
        "to_dm_env": "interop.dm_env",
        "to_pettingzoo": "interop.pettingzoo",
        "to_torchrl": "interop.torchrl",
    }
    module = modules.get(name, "interop" if name.startswith(("from_", "to_")) else None)
    if module is None or not hasattr(found := importlib.import_module(f"{__name__}.{module}"), name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(found, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
