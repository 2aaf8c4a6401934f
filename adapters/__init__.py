"""Stateful (Gymnasium-style) interfaces to functional environments."""

if __name__ != "funcenv.adapters":
    raise ImportError("import funcenv.adapters")

from typing import TYPE_CHECKING, NoReturn

import funcenv.hints as _hints
from funcenv.adapters import envs, error, logger, spaces, utils, vector, wrappers
from funcenv.adapters.checking.env_checker import check_env
from funcenv.adapters.compat.listing import pprint_registry
from funcenv.adapters.compat.results import step_api_compatibility
from funcenv.adapters.engine.seeding import seed_to_key
from funcenv.adapters.engine.snapshot import Snapshot
from funcenv.adapters.env import Env
from funcenv.adapters.error import ClosedEnvironment, ConcurrentUse, ForkedProcess, ResetNeeded
from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.adapters.playing import PlayPlot, play, play_in_terminal
from funcenv.adapters.registration import (
    EnvSpec,
    VectorizeMode,
    make,
    make_vec,
    register,
    register_envs,
    registry,
    spec,
)
from funcenv.adapters.spaces.space import Space
from funcenv.adapters.sync_vector_env import SyncVectorEnv
from funcenv.adapters.unwrapped_env import UnwrappedEnv
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrapper_spec import WrapperSpec
from funcenv.adapters.wrappers import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper
from funcenv.adapters.wrappers.compatibility import EnvCompatibility, StepCompatibility
from funcenv.checker.findings import EnvCheckError

__all__ = [
    "ActionWrapper",
    "ClosedEnvironment",
    "ConcurrentUse",
    "Env",
    "EnvCheckError",
    "EnvCompatibility",
    "EnvSpec",
    "ForkedProcess",
    "FunctionalEnv",
    "FunctionalVectorEnv",
    "ObservationWrapper",
    "PlayPlot",
    "ResetNeeded",
    "RewardWrapper",
    "Snapshot",
    "Space",
    "StepCompatibility",
    "SyncVectorEnv",
    "UnwrappedEnv",
    "VectorEnv",
    "VectorizeMode",
    "Wrapper",
    "WrapperSpec",
    "check_env",
    "envs",
    "error",
    "logger",
    "make",
    "make_vec",
    "play",
    "play_in_terminal",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "seed_to_key",
    "spaces",
    "spec",
    "step_api_compatibility",
    "utils",
    "vector",
    "wrappers",
]


if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> NoReturn:
        """Say what takes the place of a name that is missing."""
        raise AttributeError(_hints.missing_name(f"module {__name__!r}", name, _hints.OF_ADAPTERS, __all__))


def __dir__() -> list[str]:
    return __all__
