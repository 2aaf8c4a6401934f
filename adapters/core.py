"""The name `gymnasium.core`: the interface, base classes of wrappers, and type variables for annotations."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import (
    ActionWrapper,
    ObservationWrapper,
    RewardWrapper,
    Wrapper,
    WrapperActType,
    WrapperObsType,
)

RenderFrame = Any

__all__ = [
    "ActType",
    "ActionWrapper",
    "Env",
    "ObsType",
    "ObservationWrapper",
    "RenderFrame",
    "RewardWrapper",
    "Wrapper",
    "WrapperActType",
    "WrapperObsType",
]
