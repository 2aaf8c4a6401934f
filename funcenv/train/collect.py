"""Collects experience: some steps of all environments with the current policy, in the order of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from funcenv._compile.rollout import rollout_step
from funcenv.func_env import AnyEnv
from funcenv.train.processes import gather, is_deterministic, keep_whole
from funcenv.vector import FuncVectorEnv, VectorState, VectorTimestep


class Experience(NamedTuple):
    """Steps that were taken; leading axes `[num_steps, num_envs]`."""

    observation: Any  # before each step
    extras: Any  # what else the policy returned, such as raw actions
    timestep: VectorTimestep[Any]  # after each step, without info


def collect(
    env: AnyEnv,
    act: Callable[[Any, jax.Array], tuple[Any, Any]],
    vstate: VectorState[Any],
    observation: Any,
    num_steps: int,
) -> tuple[VectorState[Any], Any, Experience]:
    """Step all environments `num_steps` times.

    Args:
        env: One environment.
        act: Maps the observations of all environments, `[num_envs, ...]`, and the index of the step to the actions and
            to anything else that is to be kept.
        vstate: The state of the environments.
        observation: Their latest observations.
        num_steps: Number of steps of each environment.

    Returns:
        The next state, the latest observations, and the experience: whole on every device, if environments are spread
        over several.
    """
    venv = FuncVectorEnv(env, vstate.done.shape[0])

    def step(carry: Any, step_index: jax.Array) -> tuple[Any, Any]:
        def act_and_keep(observation: Any) -> tuple[Any, Any]:
            action, extras = _alike(act(_alike(observation), step_index))
            return action, (observation, extras)

        carry, (timestep, _, (observation, extras)) = rollout_step(venv, act_and_keep, carry, FuncVectorEnv.step)
        return carry, Experience(observation, extras, timestep.replace(info={}, final_info={}))

    (vstate, observation), experience = jax.lax.scan(step, (vstate, observation), jnp.arange(num_steps))
    return vstate, observation, gather(experience, num_axes=2)


def _alike(tree: Any) -> Any:
    """Let every device run the policy on all rows for deterministic reductions: a network rounds parts otherwise."""
    return keep_whole(tree) if is_deterministic() else tree
