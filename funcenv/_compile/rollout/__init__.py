"""Rollouts as single-kernel programs on a CPU: chunks of environments, each played to its end within one kernel."""

from funcenv._compile.rollout.dispatch import run
from funcenv._compile.rollout.program import plain_steps, rollout_args
from funcenv._compile.rollout.step import Accumulator, as_policy, policy_actions, policy_step, rollout_step
from funcenv._compile.rollout.traced import run_traced

__all__ = [
    "Accumulator",
    "as_policy",
    "plain_steps",
    "policy_actions",
    "policy_step",
    "rollout_args",
    "rollout_step",
    "run",
    "run_traced",
]
