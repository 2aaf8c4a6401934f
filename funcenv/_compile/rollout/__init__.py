"""Rollouts as single-kernel programs on a CPU: chunks of environments, each played to its end within one kernel."""

from funcenv._compile.rollout.dispatch import run
from funcenv._compile.rollout.step import Accumulator, as_policy, policy_actions, policy_step, rollout_step

__all__ = ["Accumulator", "as_policy", "policy_actions", "policy_step", "rollout_step", "run"]
