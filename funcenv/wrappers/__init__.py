"""Environments around environments, all of them pure."""

from funcenv.wrappers.episode_statistics import EpisodeStatistics, EpisodeStatisticsState
from funcenv.wrappers.time_limit import TimeLimit, TimeLimitState
from funcenv.wrappers.wrapper import Wrapper

__all__ = ["EpisodeStatistics", "EpisodeStatisticsState", "TimeLimit", "TimeLimitState", "Wrapper"]
