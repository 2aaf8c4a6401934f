"""Tasks with goals."""

from funcenv.envs.goals.bit_flip import BitFlip, BitFlipState
from funcenv.envs.goals.goal_reacher import GoalReacher, GoalReacherState

__all__ = ["BitFlip", "BitFlipState", "GoalReacher", "GoalReacherState"]
