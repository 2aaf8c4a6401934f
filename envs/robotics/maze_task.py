"""The base of robots in mazes: goals and starts in the cells of a map, and goals that move on."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_env import exact
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start, TaskState
from funcenv.envs.robotics.goal_task import GoalTask, distance
from funcenv.envs.robotics.mazes import WALL, Places, maze_model, middle, places_of, read_map
from funcenv.struct import NDArray, PyTreeNode, field

NOISE = 0.25  # largest distance of a goal or a start from the middle of its cell, along each axis, in sides of a cell
SUCCESS_DISTANCE = 0.45  # distance from the goal that counts as success [m]


class MazeGoal(PyTreeNode):
    """The goal of a robot in a maze."""

    place: Float[Array, "2"]  # [m]
    is_passed: Bool[Array, ""]  # true if the next step begins with another goal


class MazeTask(GoalTask):
    """The base class of robots in mazes. A subclass defines `robot`, `seen` and `num_seen`."""

    maze_map: Any = field(pytree_node=False, default="UMaze", kw_only=True)  # name of a map, or rows of cells
    continuing_task: bool = field(pytree_node=False, default=True, kw_only=True)  # false to end episodes at the goal
    reset_target: bool = field(pytree_node=False, default=False, kw_only=True)  # true for another goal after success
    goal_cell: Any = field(pytree_node=False, default=None, kw_only=True)  # row and column of the first goal
    reset_cell: Any = field(pytree_node=False, default=None, kw_only=True)  # row and column of the start

    goal_size: ClassVar[int] = 2
    cell_side: ClassVar[float] = 1.0  # [m]
    wall_height: ClassVar[float] = 0.5  # in sides of a cell

    def __post_init__(self) -> None:
        object.__setattr__(self, "maze_map", read_map(self.maze_map))
        for name in ("goal_cell", "reset_cell"):
            object.__setattr__(self, name, _require_cell(name, getattr(self, name), self.maze_map))
        super().__post_init__()

    def robot(self) -> str:
        """Return the XML of the robot's model."""
        raise NotImplementedError(f"{type(self).__name__} must define robot()")

    def own_model(self) -> CompiledModel:
        """Return the model of the robot between the walls of the maze."""
        name = f"the model of {type(self).__name__}"
        return maze_model(self.robot(), self.maze_map, self.cell_side, self.wall_height, name)

    @property
    def places(self) -> Places:
        """The middles of the cells for goals and starts."""
        return places_of(self.maze_map, self.cell_side)

    def start(self, key: jax.Array) -> Start:
        """Return a goal, and a start in another cell."""
        goal_key, cell_key, noise_key = jax.random.split(key, 3)
        goal = self._near(goal_key, self._places_or_cell("goals", self.goal_cell))
        starts = self._places_or_cell("starts", self.reset_cell)
        is_far = distance(starts, goal[None]) > 0.5 * self.cell_side
        if self.reset_cell is not None:
            is_far = jnp.ones_like(is_far)
        number = jax.random.categorical(cell_key, jnp.where(is_far, 0.0, -jnp.inf))
        place = self._noisy(noise_key, starts[number])
        return Start(
            qpos=self.init_qpos.at[:2].set(place), variables=MazeGoal(place=goal, is_passed=jnp.zeros((), bool))
        )

    def transition(self, state: TaskState, action: Float[Array, "nu"], key: jax.Array) -> TaskState:
        """Move the goal if the last step reached it, and simulate."""
        if not (self.continuing_task and self.reset_target and len(self.places.goals) > 1):
            return super().transition(state, action, key)
        goal_key, physics_key = jax.random.split(key)
        goal = self._next_goal(goal_key, state)
        state = super().transition(state, action, physics_key)
        is_passed = self.is_success(self.achieved_goal(state), goal)
        return state.replace(variables=MazeGoal(place=goal, is_passed=is_passed))

    def achieved_goal(self, state: TaskState) -> Float[Array, "2"]:
        """Return the place of the robot."""
        return state.qpos[:2]

    def desired_goal(self, state: TaskState) -> Float[Array, "2"]:
        """Return the place of the goal."""
        place: jax.Array = state.variables.place
        return place

    def is_success(self, achieved_goal: jax.Array, desired_goal: jax.Array) -> Bool[Array, "*batch"]:
        """Return whether the robot is within 45 cm of the goal."""
        return distance(achieved_goal, desired_goal) <= SUCCESS_DISTANCE

    def is_done(self, achieved_goal: jax.Array, desired_goal: jax.Array) -> Bool[Array, "*batch"]:
        """Return whether the goal is reached in a task that ends there."""
        success = self.is_success(achieved_goal, desired_goal)
        return jnp.zeros_like(success) if self.continuing_task else success

    def compute_reward(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Float[Array, "*batch"]:
        """Return 1 for success and 0 otherwise, or `exp(-distance)`."""
        del info
        if self.reward_type == "dense":
            return jnp.exp(-distance(achieved_goal, desired_goal)).astype(float)
        return self.is_success(achieved_goal, desired_goal).astype(float)

    @property
    def reward_range(self) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    def state_info(self, state: TaskState) -> dict[str, Any]:
        """Return whether the goal is achieved, by both names, and whether the simulation diverged."""
        info = super().state_info(state)
        return {**info, "success": info["is_success"]}

    @property
    def scene_view(self) -> View:
        """A view of the whole maze from above."""
        width, height = len(self.maze_map[0]), len(self.maze_map)
        return View(self.cell_side * width, self.cell_side * height, elevation=-90.0)

    def target_places(self, goal: Float[Array, "2"]) -> Float[Array, "1 3"]:
        """Return the goal at half the height of the walls."""
        return jnp.append(goal, jnp.asarray(self.wall_height / 2 * self.cell_side, goal.dtype))[None]

    def _places_or_cell(self, kind: str, cell: tuple[int, int] | None) -> Float[Array, "num 2"]:
        places: NDArray = getattr(self.places, kind)
        if cell is not None:
            places = np.array([middle(self.maze_map, self.cell_side, *cell)])
        return jnp.asarray(places, float)

    def _next_goal(self, key: jax.Array, state: TaskState) -> Float[Array, "2"]:
        """Return the goal of the next step: another one if the last step reached it, and not where the robot is."""
        place, goals = self.achieved_goal(state), jnp.asarray(self.places.goals, float)

        def draw(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            next_key, goal_key = jax.random.split(carry[0])
            return next_key, self._near(goal_key, goals)

        def is_reached(carry: tuple[jax.Array, jax.Array]) -> jax.Array:
            return state.variables.is_passed & self.is_success(place, carry[1])

        goal: jax.Array = jax.lax.while_loop(is_reached, draw, (key, state.variables.place))[1]
        return goal

    def _near(self, key: jax.Array, places: Float[Array, "num 2"]) -> Float[Array, "2"]:
        """Draw a place in one of the cells with these middles."""
        cell_key, noise_key = jax.random.split(key)
        return self._noisy(noise_key, places[jax.random.randint(cell_key, (), 0, len(places))])

    def _noisy(self, key: jax.Array, place: Float[Array, "2"]) -> Float[Array, "2"]:
        return exact(place + exact(self.cell_side * between(key, -NOISE, NOISE, (2,))))


def _require_cell(name: str, cell: Any, rows: tuple[str, ...]) -> tuple[int, int] | None:
    """Return a cell as two integers.

    Raises:
        ValueError: it is outside of the map, or a wall.
    """
    if cell is None:
        return None
    numbers = np.asarray(cell)
    if numbers.shape != (2,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"{name} must be a row and a column, two integers, got {cell!r}")
    row, column = numbers.tolist()
    is_inside = 0 <= row < len(rows) and 0 <= column < len(rows[0])
    if not is_inside or rows[row][column] == WALL:
        raise ValueError(f"{name} must be a cell of the maze without a wall, got {cell!r}; its rows are {rows}")
    return row, column
