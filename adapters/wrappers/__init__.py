"""Stateful wrappers: base classes, wrappers that use windows, files or clocks, and common transformations."""

from typing import TYPE_CHECKING, NoReturn

import funcenv.hints as _hints
from funcenv import wrappers as _pure
from funcenv.adapters.wrappers.atari_preprocessing import AtariPreprocessing
from funcenv.adapters.wrappers.autoreset import Autoreset
from funcenv.adapters.wrappers.compatibility import EnvCompatibility, StepAPICompatibility, StepCompatibility
from funcenv.adapters.wrappers.delay_observation import DelayObservation
from funcenv.adapters.wrappers.frame_stack_observation import FrameStackObservation
from funcenv.adapters.wrappers.human_rendering import HumanRendering
from funcenv.adapters.wrappers.jax_to_numpy import JaxToNumpy
from funcenv.adapters.wrappers.normalize import NormalizeObservation, NormalizeReward
from funcenv.adapters.wrappers.observations import (
    DiscretizeObservation,
    DtypeObservation,
    FilterObservation,
    FlattenObservation,
    GrayscaleObservation,
    RescaleObservation,
    ReshapeObservation,
    ResizeObservation,
    TimeAwareObservation,
)
from funcenv.adapters.wrappers.order_enforcing import OrderEnforcing
from funcenv.adapters.wrappers.passive_env_checker import PassiveEnvChecker
from funcenv.adapters.wrappers.record_dataset import RecordDataset
from funcenv.adapters.wrappers.record_episode_statistics import RecordEpisodeStatistics
from funcenv.adapters.wrappers.record_video import RecordVideo
from funcenv.adapters.wrappers.render_collection import RenderCollection
from funcenv.adapters.wrappers.rendered import AddRenderObservation, AddWhiteNoise, ObstructView
from funcenv.adapters.wrappers.repeat_action import MaxAndSkipObservation, RepeatAction, StickyAction
from funcenv.adapters.wrappers.time_limit import TimeLimit
from funcenv.adapters.wrappers.transformations import (
    ClipAction,
    ClipReward,
    DiscretizeAction,
    RescaleAction,
    TransformAction,
    TransformObservation,
    TransformReward,
)
from funcenv.adapters.wrappers.wrapper import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper

from funcenv.adapters.wrappers import vector  # isort: skip  # its modules take names from above

__all__ = [
    "ActionWrapper",
    "AddRenderObservation",
    "AddWhiteNoise",
    "AtariPreprocessing",
    "Autoreset",
    "ClipAction",
    "ClipReward",
    "DelayObservation",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "EnvCompatibility",
    "FilterObservation",
    "FlattenObservation",
    "FrameStackObservation",
    "GrayscaleObservation",
    "HumanRendering",
    "JaxToNumpy",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "NormalizeReward",
    "ObservationWrapper",
    "ObstructView",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordDataset",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "RepeatAction",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "RewardWrapper",
    "StepAPICompatibility",
    "StepCompatibility",
    "StickyAction",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "Wrapper",
    "vector",
]


if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> NoReturn:
        """Say where a functional wrapper is, which Gymnasium has beside the stateful ones."""
        functional = {one: _hints.functional_wrapper(one) for one in _pure.__all__}
        message = _hints.missing_name(f"module {__name__!r}", name, functional | _hints.OF_ADAPTERS_WRAPPERS, __all__)
        raise AttributeError(
            message if ";" in message else f"{message}; the stateful wrappers are: {', '.join(__all__)}"
        )


def __dir__() -> list[str]:
    return __all__
