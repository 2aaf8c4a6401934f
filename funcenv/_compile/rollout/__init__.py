"""Rollouts on a CPU: chunks of environments, each played to its end within one kernel, or by one kernel a step."""

from funcenv._compile.rollout.play import play
from funcenv._compile.rollout.step import Accumulator, as_policy, policy_actions, policy_step, rollout_step

__all__ = ["Accumulator", "as_policy", "play", "policy_actions", "policy_step", "rollout_step"]
