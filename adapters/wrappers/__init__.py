"""Stateful wrappers: base classes, and wrappers that use windows, files or clocks."""

from funcenv.adapters.wrappers.human_rendering import HumanRendering
from funcenv.adapters.wrappers.order_enforcing import OrderEnforcing
from funcenv.adapters.wrappers.passive_env_checker import PassiveEnvChecker
from funcenv.adapters.wrappers.record_episode_statistics import RecordEpisodeStatistics
from funcenv.adapters.wrappers.record_video import RecordVideo
from funcenv.adapters.wrappers.render_collection import RenderCollection
from funcenv.adapters.wrappers.time_limit import TimeLimit
from funcenv.adapters.wrappers.wrapper import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper

__all__ = [
    "ActionWrapper",
    "HumanRendering",
    "ObservationWrapper",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "RewardWrapper",
    "TimeLimit",
    "Wrapper",
]
