"""Bring the gripper of an arm with seven joints to a goal.

Plappert et al., "Multi-Goal Reinforcement Learning: Challenging Robotics Environments and Request for Research", 2018.
The model and the rules are those of Gymnasium-Robotics 1.4.2's `FetchReach` (v4).
"""

from __future__ import annotations

from typing import ClassVar

from funcenv.envs.robotics.fetch_task import FetchTask


class FetchReach(FetchTask):
    """Fetch Reach.

    Observation: a dictionary of `achieved_goal`, float32 `[3]`, the place of the gripper [m]; `desired_goal`, float32
        `[3]`, that of the goal [m]; and `observation`, float32 `[10]`: place of the gripper `[3]` [m], ways of the
        right and the left finger `[2]` [m], and how far these moved in a step of 40 ms at their present velocities,
        `[3]` and `[2]` [m]. With `jax_enable_x64` they are float64, and equal Gymnasium-Robotics' to 1e-15.

    Action: float32 `[4]`: moves of the gripper along x, y and z in `[-1, 1]`, in units of 5 cm, and of the fingers,
        which are held closed. Values beyond are clipped.

    Reward: 0 if the gripper is within `distance_threshold` of the goal after the step, and -1 otherwise. With
        `reward_type="dense"` it is minus the distance [m].

    Termination: never, unless the simulation diverges. The ids are truncated after 50 steps.

    Initial state: the gripper is above the table, and the goal is uniform within 15 cm of it along each axis.

    Raises:
        ImportError: MuJoCo or Gymnasium-Robotics is not installed.
        ValueError: a threshold that is not above 0, or another `reward_type`.

    >>> env = FetchReach()
    >>> env.observation_space["observation"].shape, env.action_space.shape
    ((10,), (4,))
    """

    xml_file: ClassVar = "reach.xml"
    base: ClassVar = (0.4049, 0.48, 0.0)
    extra_height: ClassVar = 0.2
