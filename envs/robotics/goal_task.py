"""The base of Gymnasium-Robotics' environments: tasks with goals for MuJoCo models."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.checks import require_one_of, require_positive
from funcenv.envs.mujoco.mujoco_scene import View, draw_model
from funcenv.envs.mujoco.mujoco_task import MujocoTask, TaskState
from funcenv.goals import GoalEnv
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import NDArray, field


class GoalTask(GoalEnv[TaskState], MujocoTask):
    """The base class of tasks with goals, which are places.

    A subclass defines `start`, `seen`, `num_seen`, `achieved_goal`, `desired_goal` and `scene_view`. The reward and the
    end of an episode follow from the goals; an episode also ends where the simulation diverges, which
    `info["unstable"]` tells.
    """

    reward_type: str = field(pytree_node=False, default="sparse", kw_only=True)  # "sparse" or "dense"

    is_synchronized: ClassVar[bool] = False
    goal_size: ClassVar[int] = 3  # coordinates of a goal
    targets: ClassVar[tuple[str, ...]] = ("target",)  # the sites of the model that show the goal

    def __post_init__(self) -> None:
        require_one_of("reward_type", self.reward_type, ("sparse", "dense"))
        super().__post_init__()

    def seen(self, state: TaskState) -> Float[Array, "num_seen"]:
        """Return what the agent observes beside the goals."""
        raise NotImplementedError(f"{type(self).__name__} must define seen(state)")

    @property
    def num_seen(self) -> int:
        """The length of what the agent observes beside the goals."""
        raise NotImplementedError(f"{type(self).__name__} must define the property num_seen")

    @property
    def scene_view(self) -> View:
        """The camera of the scene."""
        raise NotImplementedError(f"{type(self).__name__} must define the property scene_view")

    def view(  # type: ignore[override]  # the camera is scene_view
        self, state: TaskState, key: jax.Array
    ) -> Float[Array, "num_seen"]:
        """Return what the agent observes beside the goals."""
        del key
        return self.seen(state)

    @property
    def goal_space(self) -> Box:
        """Unbounded places."""
        return Box(-jnp.inf, jnp.inf, (self.goal_size,), np.float64)

    @property
    def view_space(self) -> Box:
        """Unbounded numbers."""
        return Box(-jnp.inf, jnp.inf, (self.num_seen,), np.float64)

    def compute_terminated(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Bool[Array, "*batch"]:
        """Return whether the task is done, or the simulation diverged."""
        is_done = self.is_done(achieved_goal, desired_goal)
        return is_done | info["unstable"] if isinstance(info, dict) and "unstable" in info else is_done

    def is_done(self, achieved_goal: jax.Array, desired_goal: jax.Array) -> Bool[Array, "*batch"]:
        """Return whether an episode ends with these goals; never by default."""
        return jnp.zeros_like(self.is_success(achieved_goal, desired_goal))

    def terminal(self, state: TaskState) -> Bool[Array, ""]:
        """Return whether the task is done, or the simulation diverged."""
        return self.compute_terminated(self.achieved_goal(state), self.desired_goal(state), self.state_info(state))

    def state_info(self, state: TaskState) -> dict[str, Any]:
        """Return whether the goal is achieved, and whether the simulation diverged."""
        return {**super().state_info(state), "unstable": state.unstable}

    def scene(self, state: TaskState) -> Scene:
        """Draw the geoms of the model, the goal and `drawn_sites`."""
        sites, changes = (*self.targets, *self.drawn_sites), {"site_pos": self._site_places(state)}
        return draw_model(self.model.mjmodel, state.qpos, self.scene_view, changes=changes, sites=sites)

    def drawn_changes(self, state: TaskState) -> dict[str, NDArray]:
        """Return the places of the sites, with the goal's, for an image of MuJoCo's."""
        return {"site_pos": np.asarray(self._site_places(state))}

    def target_places(self, goal: Float[Array, "goal_size"]) -> Float[Array, "num_targets 3"]:
        """Return the places in the world that show a goal."""
        return goal.reshape(len(self.targets), 3)

    def _site_places(self, state: TaskState) -> Float[Array, "nsite 3"]:
        """Return the places of the sites in their bodies, with the goal's."""
        mjmodel = self.model.mjmodel
        numbers = np.array([mjmodel.site(name).id for name in self.targets])
        origins = mjmodel.body_pos[
            mjmodel.site_bodyid[numbers]
        ]  # places of the sites' bodies, which are fixed to the world
        places = self.target_places(jnp.asarray(self.desired_goal(state), float)) - jnp.asarray(origins, float)
        return jnp.asarray(mjmodel.site_pos, float).at[numbers].set(places)


class PlaceTask(GoalTask):
    """The base class of tasks whose goal is to be close to places.

    A subclass defines what a subclass of `GoalTask` does, but for `desired_goal`: the places are the variables of its
    states.
    """

    distance_threshold: float = field(default=0.05, kw_only=True)  # distance from the goal that counts as success [m]

    def __post_init__(self) -> None:
        require_positive(distance_threshold=self.distance_threshold)
        super().__post_init__()

    def desired_goal(self, state: TaskState) -> Float[Array, "goal_size"]:
        """Return the places of the goal."""
        goal: jax.Array = state.variables
        return goal

    def is_success(self, achieved_goal: jax.Array, desired_goal: jax.Array) -> Bool[Array, "*batch"]:
        """Return whether the goal is closer than `distance_threshold`."""
        return distance(achieved_goal, desired_goal) < self.distance_threshold

    def compute_reward(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Float[Array, "*batch"]:
        """Return -1 beyond the threshold and 0 otherwise, or minus the distance."""
        del info
        ways = distance(achieved_goal, desired_goal)
        if self.reward_type == "dense":
            return -ways.astype(float)
        return -(ways > self.distance_threshold).astype(float)

    @property
    def reward_range(self) -> tuple[float, float]:
        """-1 and 0, or unbounded below."""
        return (-1.0 if self.reward_type == "sparse" else -math.inf), 0.0


def distance(achieved_goal: Any, desired_goal: Any) -> Float[Array, "*batch"]:
    """Return the distance of places `[*batch, size]`."""
    return jnp.sqrt(jnp.square(jnp.asarray(achieved_goal) - desired_goal).sum(-1))
