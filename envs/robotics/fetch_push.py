"""Push a block to a goal on a table, with an arm of seven joints.

Plappert et al., "Multi-Goal Reinforcement Learning: Challenging Robotics Environments and Request for Research", 2018.
The model and the rules are those of Gymnasium-Robotics 1.4.2's `FetchPush` (v4).
"""

from __future__ import annotations

from typing import ClassVar

from funcenv.envs.robotics.fetch_task import FetchTask


class FetchPush(FetchTask):
    """Fetch Push.

    Observation: a dictionary of `achieved_goal`, float32 `[3]`, the place of the block [m]; `desired_goal`, float32
        `[3]`, that of the goal [m]; and `observation`, float32 `[25]`: places of the gripper `[3]` and the block `[3]`
        [m], the way from one to the other `[3]` [m], ways of the right and the left finger `[2]` [m], angles of the
        block about x, y and z `[3]` [rad], and how far things moved in a step of 40 ms at their present velocities: the
        block, relative to the gripper `[3]` [m], its angles `[3]` [rad], the gripper `[3]` [m], and the fingers `[2]`
        [m]. With `jax_enable_x64` they are float64, and equal Gymnasium-Robotics' to 1e-15.

    Action: float32 `[4]`: moves of the gripper along x, y and z in `[-1, 1]`, in units of 5 cm, and of the fingers,
        which are held closed. Values beyond are clipped.

    Reward: 0 if the block is within `distance_threshold` of the goal after the step, and -1 otherwise. With
        `reward_type="dense"` it is minus the distance [m].

    Termination: never, unless the simulation diverges. The ids are truncated after 50 steps.

    Initial state: the gripper is over the table. The block is uniform within 15 cm of it along x and y, but at least 10
        cm away, and the goal is uniform within 15 cm of it, on the table.

    Raises:
        ImportError: MuJoCo or Gymnasium-Robotics is not installed.
        ValueError: a threshold that is not above 0, or another `reward_type`.

    >>> FetchPush().observation_space["observation"].shape
    (25,)
    """

    xml_file: ClassVar = "push.xml"
    object_pose: ClassVar = (1.25, 0.53, 0.4, 1.0, 0.0, 0.0, 0.0)
