"""Push a ball through a maze to a goal.

Fu, Kumar, Nachum, Tucker and Levine, "D4RL: Datasets for Deep Data-Driven Reinforcement Learning", 2020. The model and
the rules are those of Gymnasium-Robotics 1.4.2's `PointMaze` (v3).
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.mujoco.mujoco_task import TaskState
from funcenv.envs.robotics.assets import assets_folder
from funcenv.envs.robotics.maze_task import MazeTask


class PointMaze(MazeTask):
    """Point Maze.

    Observation: a dictionary of `achieved_goal`, float32 `[2]`, the place of the ball [m]; `desired_goal`, float32
        `[2]`, that of the goal [m]; and `observation`, float32 `[4]`: place [m] and velocity [m/s] of the ball. With
        `jax_enable_x64` they are float64, bit for bit Gymnasium-Robotics'.

    Action: float32 `[2]`: the force along x and y in `[-1, 1]`, in units of 100 N. MuJoCo clips what lies outside.
        Each step first clips the velocity of the ball to 5 m/s along each axis.

    Reward: 1 if the ball is within 45 cm of the goal after the step, else 0. With `reward_type="dense"` it is
        `exp(-distance)`.

    Termination: never, unless the simulation diverges. With `continuing_task=False` at success. The ids are truncated
        after 300 steps (UMaze, Open), 600 (Medium) or 800 (Large).

    Initial state: the goal is in any cell for goals, and the ball at rest in another one for starts; both are uniform
        within 25 cm of the middle of the cell along each axis. `goal_cell` and `reset_cell` name the cells instead.
        With `reset_target=True`, the step after a success begins with a new goal, which is not a success.

    Raises:
        ImportError: MuJoCo or Gymnasium-Robotics is not installed.
        ValueError: a map without places, a cell that is a wall, or another `reward_type`.

    >>> env = PointMaze(maze_map=["#####", "#r.g#", "#####"], reward_type="dense")
    >>> import funcenv
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> bool(timestep.observation["achieved_goal"][0] < 0 < timestep.observation["desired_goal"][0])
    True
    """

    max_speed: ClassVar = 5.0
    wall_height: ClassVar = 0.4
    action_names: ClassVar = ("right", "up")
    drawn_sites: ClassVar = ("particle_site",)  # the ball; its geom is transparent

    def robot(self) -> str:
        """Return the XML of the ball."""
        return (assets_folder() / "point" / "point.xml").read_text()

    def seen(self, state: TaskState) -> Float[Array, "4"]:
        """Return place and velocity of the ball."""
        return jnp.concatenate([state.qpos, state.qvel])

    @property
    def camera_config(self) -> tuple[tuple[str, Any], ...]:
        """The package's camera, which is further away from a large maze."""
        return (("distance", 12.5 if len(self.maze_map) > 8 else 8.8),)

    @property
    def num_seen(self) -> int:
        """Two numbers for the place, and two for the velocity."""
        return 4
