"""Environments with goals: what has been achieved, what is desired, and a reward that compares the two.

The conventions are those of Gymnasium-Robotics. A reward is a function of the two goals, so an algorithm can ask what a
transition would have paid for another goal. `ReplayBuffer` does so, and any program can, by `compute_reward`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.func_env import FuncEnv, State
from funcenv.spaces import Dict
from funcenv.spaces.space import AnySpace
from funcenv.stateful import StatefulAttribute, constant
from funcenv.struct import NDArray

OBSERVATION, ACHIEVED_GOAL, DESIRED_GOAL = "observation", "achieved_goal", "desired_goal"
"""The entries of an observation."""


class GoalEnv(FuncEnv[State, Any, dict[str, Any]]):
    """An environment whose observations hold a goal that is desired and the one that is achieved.

    A subclass defines `goal_space`, `view_space`, `view`, `achieved_goal`, `desired_goal` and `is_success`, beside what
    any environment defines: `action_space`, `initial` and `transition`. By default a step pays 0 if the goal is
    achieved after it and -1 otherwise, and nothing ends an episode; override `compute_reward`, `compute_terminated` and
    `compute_truncated` for another task.
    These three and `is_success` depend on their arguments alone, and take goals with leading axes.

    An observation is a dictionary of `observation`, the view, `achieved_goal` and `desired_goal`, and
    `info["is_success"]` tells whether the two goals agree. The reward and the flags of a step are those of its
    observation and `info`, by the three functions. Hindsight relabelling passes an empty `info`.

    >>> import funcenv
    >>> env = funcenv.make("BitFlip-v0", num_bits=4)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 2, funcenv.key(1))
    >>> sorted(timestep.observation), float(timestep.reward), bool(timestep.info["is_success"])
    (['achieved_goal', 'desired_goal', 'observation'], -1.0, False)
    >>> achieved = timestep.observation["achieved_goal"]
    >>> float(env.compute_reward(achieved, desired_goal=achieved, info={}))
    0.0
    """

    @property
    def goal_space(self) -> AnySpace:
        """The space of goals, which are arrays."""
        raise NotImplementedError(f"{type(self).__name__} must define the property goal_space")

    @property
    def view_space(self) -> AnySpace:
        """The space of what the agent observes beside the goals."""
        raise NotImplementedError(f"{type(self).__name__} must define the property view_space")

    def view(self, state: State, key: jax.Array) -> Any:
        """Return what the agent observes beside the goals, a member of `view_space`."""
        raise NotImplementedError(f"{type(self).__name__} must define view(state, key)")

    def achieved_goal(self, state: State) -> jax.Array:
        """Return the goal that is achieved in a state, a member of `goal_space`."""
        raise NotImplementedError(f"{type(self).__name__} must define achieved_goal(state)")

    def desired_goal(self, state: State) -> jax.Array:
        """Return the goal of the episode, a member of `goal_space`."""
        raise NotImplementedError(f"{type(self).__name__} must define desired_goal(state)")

    def is_success(self, achieved_goal: jax.Array, desired_goal: jax.Array) -> Bool[Array, "*batch"]:
        """Return whether an achieved goal counts as the desired one."""
        raise NotImplementedError(f"{type(self).__name__} must define is_success(achieved_goal, desired_goal)")

    def compute_reward(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Float[Array, "*batch"]:
        """Return the reward of a step that achieved one goal where another, or the same, was desired.

        Args:
            achieved_goal: the goal that is achieved after the step, `[*batch, ...]`.
            desired_goal: the goal that was desired, `[*batch, ...]`.
            info: the `info` of the step.
        """
        del info
        return self.is_success(achieved_goal, desired_goal).astype(float) - 1

    def compute_terminated(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Bool[Array, "*batch"]:
        """Return whether the MDP ended where one goal is achieved and another desired; never by default."""
        del info
        return jnp.zeros_like(self.is_success(achieved_goal, desired_goal))

    def compute_truncated(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Bool[Array, "*batch"]:
        """Return whether the episode is stopped from outside the MDP there; never by default."""
        del info
        return jnp.zeros_like(self.is_success(achieved_goal, desired_goal))

    @property
    def observation_space(self) -> Dict:
        """The view, and the goals that are achieved and desired."""
        goal = self.goal_space
        return Dict({OBSERVATION: self.view_space, ACHIEVED_GOAL: goal, DESIRED_GOAL: goal})

    def observation(self, state: State, key: jax.Array) -> dict[str, Any]:
        """Return the view, and the goals that are achieved and desired."""
        achieved, desired = self._goals(state)
        return {OBSERVATION: self.view(state, key), ACHIEVED_GOAL: achieved, DESIRED_GOAL: desired}

    def reward(self, state: State, action: Any, next_state: State) -> Float[Array, ""]:
        """Return the reward of the goals after the step."""
        info = {**self.transition_info(state, action, next_state), **self.state_info(next_state)}
        return self.compute_reward(*self._goals(next_state), info)

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Return whether the MDP ended with these goals."""
        return self.compute_terminated(*self._goals(state), self.state_info(state))

    def truncated(self, state: State) -> Bool[Array, ""]:
        """Return whether the episode is stopped with these goals."""
        return self.compute_truncated(*self._goals(state), self.state_info(state))

    def state_info(self, state: State) -> dict[str, Any]:
        """Return whether the goal is achieved; a subclass with more to say extends the dictionary."""
        return {"is_success": self.is_success(*self._goals(state))}

    @property
    def reward_range(self) -> tuple[float, float]:
        """-1 and 0; unbounded for a subclass that overrides `compute_reward` but not this."""
        is_default = type(self).compute_reward is GoalEnv.compute_reward
        return (-1.0, 0.0) if is_default else (-math.inf, math.inf)

    @property
    def stateful_attributes(self) -> dict[str, StatefulAttribute]:
        """The three functions of goals on NumPy arrays, as `env.unwrapped.compute_reward`; they check the goals."""
        names = "compute_reward", "compute_terminated", "compute_truncated"
        return {name: constant(functools.partial(_OnHost, self, name)) for name in names}

    def _goals(self, state: State) -> tuple[jax.Array, jax.Array]:
        return self.achieved_goal(state), self.desired_goal(state)


class _OnHost:
    """A function of goals for NumPy arrays, which may have leading axes; it refuses goals outside of their space."""

    def __init__(self, env: GoalEnv[Any], name: str) -> None:
        self._env, self._name = env, name

    def __call__(self, achieved_goal: Any, desired_goal: Any, info: Any = None) -> NDArray:
        space = self._env.goal_space
        achieved, desired = require_goals(space, achieved_goal=achieved_goal, desired_goal=desired_goal)
        return np.asarray(getattr(self._env, self._name)(achieved, desired, info))


def require_goals(space: AnySpace, **goals: Any) -> list[NDArray]:
    """Return goals as arrays of a space's dtype; the arguments may have leading axes.

    Raises:
        TypeError: The goals are not numbers, or the space holds integers and they are floats.
        ValueError: The goals have another shape than the space, or lie outside of it.

    >>> from funcenv.spaces import Box
    >>> require_goals(Box(-1, 1, (2,)), achieved_goal=[[0.5, 0.5], [0.0, 1.0]])[0].shape
    (2, 2)
    >>> require_goals(Box(-1, 1, (2,)), desired_goal=[0.5, 1.5])
    Traceback (most recent call last):
        ...
    ValueError: desired_goal must lie in Box(-1.0, 1.0, (2,), float32), got [0.5, 1.5]
    """
    return [_require_goal(space, name, goal) for name, goal in goals.items()]


def _require_goal(space: AnySpace, name: str, goal: Any) -> NDArray:
    given, shape, dtype = np.asarray(goal), space.shape or (), np.dtype(space.dtype)
    is_kind = given.dtype.kind in ("biuf" if dtype.kind == "f" else "biu")
    if not is_kind:
        raise TypeError(f"{name} must be an array of {dtype}, got one of {given.dtype}; convert it")
    if given.shape[max(given.ndim - len(shape), 0) :] != shape:
        raise ValueError(f"{name} must have the shape {shape}, after any leading axes, got {given.shape}")
    goals = given.astype(dtype)
    rows = goals.reshape(-1, *shape)
    outside = np.flatnonzero(~np.asarray(jax.vmap(space.contains)(rows)))
    if outside.size:
        raise ValueError(f"{name} must lie in {space}, got {rows[outside[0]].tolist()}")
    return goals
