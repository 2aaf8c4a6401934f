"""Hit a puck so that it slides to a goal out of reach, with an arm of seven joints.

Plappert et al., "Multi-Goal Reinforcement Learning: Challenging Robotics Environments and Request for Research", 2018.
The model and the rules are those of Gymnasium-Robotics 1.4.2's `FetchSlide` (v4).
"""

from __future__ import annotations

from typing import ClassVar

from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.robotics.fetch_task import FetchTask


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
