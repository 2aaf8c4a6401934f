"""The environments of a run: they are stepped together, and keep the statistics of their latest episodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from funcenv._compile.rollout import rollout_step
from funcenv.checks import require_size
from funcenv.func_env import AnyEnv
from funcenv.statistics import IS_SUCCESS, success_of
from funcenv.struct import PyTreeNode, field
from funcenv.train.algorithm import TASK_EPISODES, TASK_RETURN
from funcenv.train.config import TrainConfig
from funcenv.train.devices import PER_ENV, all_gather, is_deterministic, replicate_if_deterministic
from funcenv.train.updates.learner_view import LEARNED_REWARD, LIFE_LOST, as_learned
from funcenv.train.updates.recent_episodes import RecentEpisodes
from funcenv.union import union_in
from funcenv.vector import FuncVectorEnv, VectorState, VectorTimestep


@dataclasses.dataclass(frozen=True)
class CollectorConfig(TrainConfig):
    """The settings of every algorithm that steps environments in parallel."""

    num_envs: int = 16
    """environments that are stepped in parallel"""
    num_steps: int = 64
    """steps of each environment between updates"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("num_envs", "num_steps"):
            require_size(name, getattr(self, name))

    @property
    def batch_size(self) -> int:
        """Environment steps of each agent in one update."""
        return self.num_envs * self.num_steps


class Experience(NamedTuple):
    """Steps that were taken; leading axes `[num_steps, num_envs]`."""

    observation: Any  # before each step
    extras: Any  # what else the policy returned, such as raw actions
    timestep: VectorTimestep[Any]  # after each step; its infos hold `is_success`, lost lives and the task of a `Union`


class Collector(PyTreeNode):
    """Environments with their latest observations and episodes; a part of the state of every algorithm."""

    vstate: VectorState[Any] = field(metadata=PER_ENV)
    observation: Any = field(metadata=PER_ENV)  # the latest of each environment
    episodes: RecentEpisodes
    task_episodes: tuple[RecentEpisodes, ...] = ()  # those of each task, if the environment is a `Union`

    @classmethod
    def start(cls, env: AnyEnv, num_envs: int, key: jax.Array) -> tuple[Collector, VectorTimestep[Any]]:
        """Reset `num_envs` environments with a key, or one for each; return them with their first time step."""
        vstate, timestep = FuncVectorEnv(env, num_envs).reset(key)
        episodes = RecentEpisodes.empty(has_success=success_of(timestep) is not None)
        union = union_in(env)
        task_episodes = () if union is None else (RecentEpisodes.empty(),) * union.num_tasks
        return cls(vstate, timestep.observation, episodes, task_episodes), timestep

    def restart(self, env: AnyEnv, key: jax.Array) -> Collector:
        """Return the environments at the beginning of new episodes, with the statistics so far.

        Args:
            env: One environment.
            key: A key, or one for each environment.
        """
        new, _ = Collector.start(env, self.vstate.done.shape[0], key)
        return self.replace(vstate=new.vstate, observation=new.observation)

    def run(
        self, env: AnyEnv, act: Callable[[Any, jax.Array], tuple[Any, Any]], num_steps: int
    ) -> tuple[Collector, Experience]:
        """Step all environments `num_steps` times.

        Args:
            env: One environment.
            act: Maps the observations of all environments, `[num_envs, ...]`, and the index of the step to the actions
                and to anything else that is to be kept.
            num_steps: Number of steps of each environment.

        Returns:
            The environments after these steps, and the experience in the order of time. If environments are spread over
            several devices, each holds the experience of its own; for deterministic reductions, every device holds all.
        """
        venv = FuncVectorEnv(env, self.vstate.done.shape[0])

        def step(carry: Any, step_index: jax.Array) -> tuple[Any, Any]:
            def act_and_keep(observation: Any) -> tuple[Any, Any]:
                action, extras = replicate_if_deterministic(act(replicate_if_deterministic(observation), step_index))
                return action, (observation, extras)

            carry, (timestep, _, (observation, extras)) = rollout_step(venv, act_and_keep, carry, FuncVectorEnv.step)
            success = success_of(timestep)
            final_info = {} if success is None else {IS_SUCCESS: success}
            seen = timestep.final_info
            final_info |= {name: seen[name] for name in (LIFE_LOST, LEARNED_REWARD) if name in seen}
            info = {"task": timestep.info["task"]} if self.task_episodes else {}
            return carry, Experience(observation, extras, timestep.replace(info=info, final_info=final_info))

        carry = self.vstate, self.observation
        (vstate, observation), experience = jax.lax.scan(step, carry, jnp.arange(num_steps))
        if is_deterministic():
            experience = all_gather(experience, num_axes=2)
        episodes = self.episodes.add_steps(experience.timestep)
        collector = Collector(vstate, observation, episodes, self._add_to_tasks(experience.timestep))
        return collector, experience._replace(timestep=as_learned(experience.timestep))

    def _add_to_tasks(self, timestep: VectorTimestep[Any]) -> tuple[RecentEpisodes, ...]:
        """Return the episodes of each task after the time steps of an update."""
        ends = timestep.episode_return, timestep.episode_length
        return tuple(
            episodes.add_batch(timestep.done & (timestep.info["task"] == task), *ends)
            for task, episodes in enumerate(self.task_episodes)
        )

    def metrics(self, config: CollectorConfig, update: Int[Array, ""]) -> dict[str, jax.Array]:
        """Return the `REQUIRED_METRICS` of an algorithm after update number `update`, counted from 0.

        Those of each task come with them if the environment is a `Union`.
        """
        tasks: dict[str, jax.Array] = {}
        for task, episodes in enumerate(self.task_episodes):
            figures = episodes.metrics()
            tasks |= {f"{TASK_EPISODES}{task}": figures["episodes"], f"{TASK_RETURN}{task}": figures["mean_return"]}
        return {"env_steps": (update + 1) * config.batch_size, **self.episodes.metrics(), **tasks}
