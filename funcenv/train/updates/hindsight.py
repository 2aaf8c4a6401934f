"""Hindsight: what transitions would have paid for goals that their episodes reached later.

Andrychowicz et al., "Hindsight experience replay", 2017, with the strategy "future". A goal is chosen when a transition
is drawn. It comes from the rest of the same episode, up to the newest step if the episode has not ended yet. Rewards
and ends follow from the functions of `GoalEnv`, with an empty `info`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.func_env import AnyEnv
from funcenv.goals import ACHIEVED_GOAL, DESIRED_GOAL, GoalEnv
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import Wrapper, layers


class Hindsight(PyTreeNode):
    """How transitions get goals that their episodes reached later.

    >>> import funcenv
    >>> Hindsight.of(funcenv.make("GoalReacher-v0"), num_goals=4).share
    0.8
    >>> Hindsight.of(funcenv.make("CartPole-v1"), num_goals=4)
    Traceback (most recent call last):
        ...
    TypeError: hindsight_goals needs an environment with goals (funcenv.goals.GoalEnv), got CartPole; set it to 0
    """

    env: GoalEnv[Any]
    share: float = field(pytree_node=False)  # part of the transitions that get another goal
    horizon: int = field(pytree_node=False)  # bound on the length of an episode

    @classmethod
    def of(cls, env: AnyEnv, num_goals: int) -> Hindsight:
        """Return the hindsight for an environment with a time limit.

        Args:
            env: The environment, whose wrappers change neither observations nor rewards.
            num_goals: The number of transitions with other goals for each one with its own.

        Raises:
            TypeError: The environment has no goals.
            ValueError: A wrapper changes what the goals mean, or there is no time limit.
        """
        inside = env.unwrapped
        if not isinstance(inside, GoalEnv):
            raise TypeError(
                "hindsight_goals needs an environment with goals (funcenv.goals.GoalEnv), got "
                f"{type(inside).__name__}; set it to 0"
            )
        for layer in layers(env):
            if isinstance(layer, Wrapper) and (changed := _changes(layer)):
                raise ValueError(
                    f"hindsight_goals needs the {changed} of {type(inside).__name__} itself, which "
                    f"{type(layer).__name__} changes; leave that wrapper out, or set hindsight_goals to 0"
                )
        limit = getattr(env, "max_episode_steps", None)
        if limit is None:
            raise ValueError("hindsight_goals needs a time limit; set max_episode_steps")
        return cls(inside, num_goals / (num_goals + 1), int(limit))

    def choose(
        self,
        steps: Any,
        start: Int[Array, "batch"],
        env: Int[Array, "batch"],
        num_left: Int[Array, "batch"],
        chance: Float[Array, "batch 2"],
    ) -> jax.Array:
        """Return a goal for each transition: its own, or one that is achieved from this step on in its episode.

        Args:
            steps: The ring buffer's `Steps`, `[capacity, num_envs, ...]`.
            start: Rows of the transitions in the ring buffer.
            env: Environments of the transitions.
            num_left: The number of steps in the ring buffer from each transition, itself included, to the newest.
            chance: Two numbers from 0 to 1 for each transition, which decide.
        """
        capacity = len(steps.done)
        ahead = jnp.arange(min(self.horizon, capacity), dtype=start.dtype)[:, None]
        done = steps.done[(start[None] + ahead) % capacity, env[None]]
        length = jnp.where(done.any(0), done.argmax(0).astype(start.dtype) + 1, len(ahead))
        length = jnp.minimum(length, num_left)
        later = jnp.minimum((chance[:, 1] * length.astype(chance.dtype)).astype(start.dtype), length - 1)
        achieved = steps.next_observation[ACHIEVED_GOAL][(start + later) % capacity, env]
        own = steps.observation[DESIRED_GOAL][start, env]
        is_replaced = (chance[:, 0] < self.share).reshape(-1, *(1,) * (own.ndim - 1))
        return jnp.where(is_replaced, achieved, own)

    def outcome(
        self, achieved_goal: jax.Array, goal: jax.Array, done: Bool[Array, "num_steps batch"]
    ) -> tuple[Float[Array, "num_steps batch"], Bool[Array, "num_steps batch"], Bool[Array, "num_steps batch"]]:
        """Return rewards, terminations and ends of steps for other goals; `done` are the ends that there were.

        Where an episode ended for its own goal alone, it counts as truncated: the steps that would have followed are
        missing.
        """
        goal = jnp.broadcast_to(goal, achieved_goal.shape)
        reward = self.env.compute_reward(achieved_goal, goal, {})
        terminated = self.env.compute_terminated(achieved_goal, goal, {})
        truncated = self.env.compute_truncated(achieved_goal, goal, {})
        return reward, terminated, done | terminated | truncated


def with_goal(observation: Any, goal: jax.Array) -> Any:
    """Return observations with other desired goals.

    >>> with_goal({"achieved_goal": 1, "desired_goal": 2, "observation": 3}, 4)["desired_goal"]
    4
    """
    return {**observation, DESIRED_GOAL: goal}


def _changes(layer: Wrapper[Any, Any, Any]) -> str | None:
    """Return the first thing of which a wrapper has its own version, among those that goals rely on."""
    if type(layer).inner_env is not Wrapper.inner_env:
        return "parameters"
    return next((name for name in ("observation", "reward", "terminal") if _overrides(layer, name)), None)


def _overrides(layer: Wrapper[Any, Any, Any], name: str) -> bool:
    return getattr(type(layer), name) is not getattr(Wrapper, name)
