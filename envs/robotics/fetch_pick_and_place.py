"""Grasp a block and bring it to a goal, with an arm of seven joints.

Plappert et al., "Multi-Goal Reinforcement Learning: Challenging Robotics Environments and Request for Research", 2018.
The model and the rules are those of Gymnasium-Robotics 1.4.2's `FetchPickAndPlace` (v4).
"""

from __future__ import annotations

from typing import ClassVar

from funcenv.envs.robotics.fetch_task import FetchTask


class FetchPickAndPlace(FetchTask):
    """Fetch Pick and Place.

    Observation: that of Fetch Push: a dictionary of `achieved_goal` and `desired_goal`, float32 `[3]` each [m], and
        `observation`, float32 `[25]`.

    Action: float32 `[4]`: moves of the gripper along x, y and z in `[-1, 1]`, in units of 5 cm, and of each finger, in
        units of 1 m; positive ones open the gripper. Values beyond are clipped.

    Reward: 0 if the block is within `distance_threshold` of the goal after the step, and -1 otherwise. With
        `reward_type="dense"` it is minus the distance [m].

    Termination: never, unless the simulation diverges. The ids are truncated after 50 steps.

    Initial state: the gripper is above the table. The block is uniform within 15 cm of it along x and y, but at least
        10 cm away. The goal is uniform within 15 cm of the gripper along x and y; half of the goals are on the table,
        and the others up to 45 cm above it.

    Raises:
        ImportError: MuJoCo or Gymnasium-Robotics is not installed.
        ValueError: a threshold that is not above 0, or another `reward_type`.

    >>> FetchPickAndPlace().action_names
    ('forward', 'left', 'up', 'open')
    """

    xml_file: ClassVar = "pick_and_place.xml"
    object_pose: ClassVar = (1.25, 0.53, 0.4, 1.0, 0.0, 0.0, 0.0)
    extra_height: ClassVar = 0.2
    has_high_targets: ClassVar = True
    held_joints: ClassVar = ()
