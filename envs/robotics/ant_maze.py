"""Make a robot with four legs walk through a maze to a goal.

Fu, Kumar, Nachum, Tucker and Levine, "D4RL: Datasets for Deep Data-Driven Reinforcement Learning", 2020. The model and
the rules are those of Gymnasium-Robotics 1.4.2's `AntMaze` (v5), whose robot is that of `Ant-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.mujoco.model import ASSETS
from funcenv.envs.mujoco.mujoco_env import squared_sum
from funcenv.envs.mujoco.mujoco_task import TaskState
from funcenv.envs.robotics.maze_task import MazeTask
from funcenv.struct import field

CONTROL_COST, CONTACT_COST = 0.5, 5e-4  # weights of squared controls and contact forces in the terms of `info`
HEALTHY_HEIGHTS = (0.2, 1.0)  # heights of a torso in good health [m]


class AntMaze(MazeTask):
    """Ant Maze.

    Observation: a dictionary of `achieved_goal`, float32 `[2]`, the place of the torso [m]; `desired_goal`, float32
        `[2]`, that of the goal [m]; and `observation`, float32 `[105]`, that of `Ant-v5`: height of the torso [m], its
        orientation as a quaternion `[4]`, angles of the joints `[8]` [rad], velocity of the torso `[3]` [m/s], its
        rotation `[3]` [rad/s], velocities of the joints `[8]` [rad/s], torques and forces of contacts on each body but
        the world `[78]` [N m or N], clipped to 1. With `jax_enable_x64` they are float64, bit for bit
        Gymnasium-Robotics'.

    Action: float32 `[8]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside.

    Reward: 1 if the torso is within 45 cm of the goal after the step, else 0. With `reward_type="dense"` it is
        `exp(-distance)`. `info` has the terms of `Ant-v5`'s reward, which do not count.

    Termination: never, unless the simulation diverges. With `continuing_task=False` at success. The ids are truncated
        after 700 steps (UMaze, Open) or 1,000 (Medium, Large).

    Initial state: the goal is in any cell for goals, and the ant at rest in another one for starts; both are uniform
        within 1 m of the middle of the cell along each axis. `goal_cell` and `reset_cell` name the cells instead. With
        `reset_target=True`, the step after a success begins with a new goal, which is not a success.

    Raises:
        ImportError: MuJoCo is not installed.
        ValueError: a map without places, a cell that is a wall, or another `reward_type`.

    >>> env = AntMaze(maze_map="Medium_Diverse_G")
    >>> env.observation_space["observation"].shape, env.action_space.shape
    ((105,), (8,))
    """

    frame_skip: int = field(pytree_node=False, default=5)

    reads: ClassVar = ("xpos", "cfrc_ext")
    cell_side: ClassVar = 4.0

    def robot(self) -> str:
        """Return the XML of the ant."""
        return (ASSETS / "ant.xml").read_text()

    def seen(self, state: TaskState) -> Float[Array, "105"]:
        """Return pose, velocities and contact forces."""
        return jnp.concatenate([state.qpos[2:], state.qvel, _contact_forces(state)[1:].reshape(-1)])

    @property
    def camera_config(self) -> tuple[tuple[str, Any], ...]:
        """The camera of `Ant-v5`, at the height of the torso."""
        return (("distance", 4.0), ("lookat", (0.0, 0.0, 0.75)))

    @property
    def followed(self) -> tuple[int, ...]:
        """The place of the torso."""
        return 0, 1

    @property
    def num_seen(self) -> int:
        """The length of `Ant-v5`'s observation."""
        mjmodel = self.model.mjmodel
        return int(mjmodel.nq - 2 + mjmodel.nv + 6 * (mjmodel.nbody - 1))

    def state_info(self, state: TaskState) -> dict[str, Any]:
        """Return whether the goal is achieved, and the place of the torso."""
        x, y = state.qpos[:2]
        place = {"x_position": x, "y_position": y, "distance_from_origin": jnp.sqrt(jnp.square(state.qpos[:2]).sum())}
        return {**super().state_info(state), **place}

    def transition_info(self, state: TaskState, action: Float[Array, "nu"], next_state: TaskState) -> dict[str, Any]:
        """Return the velocity of the torso, and the terms of `Ant-v5`'s reward."""
        places = (self.data(each).body("torso").xpos[:2] for each in (state, next_state))
        before, after = places
        velocity = (after - before) / self.dt
        low, high = HEALTHY_HEIGHTS
        is_finite = jnp.isfinite(next_state.qpos).all() & jnp.isfinite(next_state.qvel).all()
        is_healthy = is_finite & (low <= next_state.qpos[2]) & (next_state.qpos[2] <= high)
        return {
            "x_velocity": velocity[0],
            "y_velocity": velocity[1],
            "reward_forward": velocity[0],
            "reward_ctrl": -CONTROL_COST * squared_sum(action),
            "reward_contact": -CONTACT_COST * squared_sum(_contact_forces(next_state)),
            "reward_survive": is_healthy.astype(float),
        }


def _contact_forces(state: TaskState) -> Float[Array, "nbody 6"]:
    """Return the torques and forces of contacts on each body, clipped to 1."""
    return jnp.clip(state.outputs["cfrc_ext"], -1.0, 1.0)
