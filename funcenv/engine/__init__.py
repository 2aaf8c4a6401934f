"""How whole rollouts run on a CPU: chunks of environments, each played to its end by one compiled function."""

from funcenv.engine.launch import run
from funcenv.engine.play import Play, Policy, advance
from funcenv.engine.statistics import EPISODES, RolloutStatistics

__all__ = ["EPISODES", "Play", "Policy", "RolloutStatistics", "advance", "run"]
