"""Reach, push, slide, and pick up and place with an arm of seven joints.

Plappert et al., "Multi-Goal Reinforcement Learning: Challenging Robotics Environments and Request for Research", 2018.
The models and the rules are those of Gymnasium-Robotics 1.4.2's Fetch tasks (v4).
"""

from __future__ import annotations

from typing import ClassVar

from funcenv.envs.mujoco.mujoco_scene import View
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


class FetchSlide(FetchTask):
    """Fetch Slide.

    Observation: that of Fetch Push, with a puck in place of the block: a dictionary of `achieved_goal` and
        `desired_goal`, float32 `[3]` each [m], and `observation`, float32 `[25]`.

    Action: float32 `[4]`: moves of the gripper along x, y and z in `[-1, 1]`, in units of 5 cm, and of the fingers,
        which are held closed. Values beyond are clipped.

    Reward: 0 if the puck is within `distance_threshold` of the goal after the step, and -1 otherwise. With
        `reward_type="dense"` it is minus the distance [m].

    Termination: never, unless the simulation diverges. The ids are truncated after 50 steps.

    Initial state: the gripper is over the near end of a long table with little friction. The puck is uniform within 10
        cm of it along x and y, but at least 10 cm away. The goal is uniform within 30 cm of a point 40 cm ahead of the
        gripper, mostly out of its reach.

    Raises:
        ImportError: MuJoCo or Gymnasium-Robotics is not installed.
        ValueError: a threshold that is not above 0, or another `reward_type`.

    >>> FetchSlide(reward_type="dense").reward_range
    (-inf, 0.0)
    """

    xml_file: ClassVar = "slide.xml"
    base: ClassVar = (0.05, 0.48, 0.0)
    object_pose: ClassVar = (1.7, 1.1, 0.41, 1.0, 0.0, 0.0, 0.0)
    extra_height: ClassVar = -0.02
    object_range: ClassVar = 0.1
    target_range: ClassVar = 0.3
    target_offset: ClassVar = (0.4, 0.0, 0.0)

    @property
    def scene_view(self) -> View:
        """A view of the long table."""
        return super().scene_view._replace(width=2.2, height=1.65)


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
