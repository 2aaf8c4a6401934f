"""Stateful wrappers: bases for code of one's own, and what lives outside of an environment."""

from funcenv.adapters.wrappers.order_enforcing import OrderEnforcing
from funcenv.adapters.wrappers.passive_env_checker import PassiveEnvChecker
from funcenv.adapters.wrappers.record_episode_statistics import RecordEpisodeStatistics
from funcenv.adapters.wrappers.wrapper import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper

__all__ = [
    "ActionWrapper",
    "ObservationWrapper",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RewardWrapper",
    "Wrapper",
]
