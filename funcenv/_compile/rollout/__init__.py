"""How whole rollouts run on a CPU: chunks of environments, each played to its end by one compiled function."""

from funcenv._compile.rollout.dispatch import run
from funcenv._compile.rollout.step import Play, Policy, advance
from funcenv.statistics import EPISODES, RolloutStatistics

__all__ = ["EPISODES", "Play", "Policy", "RolloutStatistics", "advance", "run"]
