"""The base of the Fetch tasks: an arm that a mocap body moves, a gripper, and an object on a table.

Plappert et al., "Multi-Goal Reinforcement Learning: Challenging Robotics Environments and Request for Research", 2018.
The models and the rules are those of Gymnasium-Robotics 1.4.2's Fetch tasks (v4).
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.mujoco.mjcf import compile_mjcf, identified
from funcenv.envs.mujoco.model import CompiledModel, import_mujoco, without_warnings
from funcenv.envs.mujoco.mujoco_env import exact
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start, TaskState
from funcenv.envs.robotics.assets import assets_folder
from funcenv.envs.robotics.fetch_scene import draw_fetch
from funcenv.envs.robotics.goal_task import PlaceTask
from funcenv.keyboard import motor_keys
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import NDArray, field

GRIPPER, GRIP, MOCAP = "robot0:gripper_link", "robot0:grip", "robot0:mocap"
FINGERS = ("robot0:r_gripper_finger_joint", "robot0:l_gripper_finger_joint")
OBJECT, OBJECT_JOINT = "object0", "object0:joint"
POINTING_DOWN = (1.0, 0.0, 1.0, 0.0)  # orientation that is added to the gripper's
MAX_MOVE = 0.05  # way of the gripper in a step at full action [m]
GRIPPER_OFFSET = (-0.498, 0.005, -0.431)  # way of the gripper from the model's own pose to the first one [m]
NUM_SETTLING = 200  # simulation steps that bring the gripper to its first pose
MIN_OBJECT_DISTANCE = 0.1  # distance of an object from the gripper at the start [m]
MAX_HEIGHT = 0.45  # height of goals in the air above the object's [m]


class FirstPose(NamedTuple):
    """The model of a task, and the pose in which its episodes begin."""

    model: CompiledModel
    qpos: NDArray  # float64 `[nq]`
    qvel: NDArray  # float64 `[nv]`
    grip: NDArray  # place between the fingers, float64 `[3]` [m]
    object_height: float  # [m]; 0 without an object


class FetchTask(PlaceTask):
    """The base class of the Fetch tasks. A subclass is a table of numbers."""

    frame_skip: int = field(pytree_node=False, default=20)

    xml_file: ClassVar[str] = ""  # in the package's folder of models
    base: ClassVar[tuple[float, float, float]] = (0.405, 0.48, 0.0)  # place of the robot [m]
    object_pose: ClassVar[tuple[float, ...] | None] = None  # place and orientation of the object before an episode
    extra_height: ClassVar[float] = 0.0  # height of the gripper at the start, above the table [m]
    object_range: ClassVar[float] = 0.15  # largest distance of the object from the gripper, along each axis [m]
    target_range: ClassVar[float] = 0.15  # the same of the goal [m]
    target_offset: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.0)  # middle of the goals from the gripper [m]
    has_high_targets: ClassVar[bool] = False  # true if half of the goals of an object are in the air

    mjx_fault: ClassVar = "MJX has no margins for contacts of planes and meshes"
    targets: ClassVar = ("target0",)
    action_names: ClassVar = ("forward", "left", "up", "open")
    held_joints: ClassVar[tuple[str, ...]] = FINGERS
    reads: ClassVar = ("xpos", "xquat", "site_xpos", "site_xmat", "cdof", "subtree_com")

    @property
    def first_pose(self) -> FirstPose:
        """The model, and the pose in which episodes begin."""
        cls: Any = type(self)
        return _first_pose(cls)

    def own_model(self) -> CompiledModel:
        """Return the model of the task."""
        return self.first_pose.model

    @property
    def has_object(self) -> bool:
        """True for the tasks that move an object."""
        return self.object_pose is not None

    def start(self, key: jax.Array) -> Start:
        """Return the first pose, with the object somewhere near the gripper, and a goal."""
        object_key, goal_key = jax.random.split(key)
        qpos = jnp.asarray(self.first_pose.qpos, float)
        if self.has_object:
            place = exact(jnp.asarray(self.first_pose.grip[:2], float) + self._object_offset(object_key))
            first = int(self.model.mjmodel.joint(OBJECT_JOINT).qposadr[0])
            qpos = qpos.at[first : first + 2].set(place)
        return Start(qpos=qpos, qvel=jnp.asarray(self.first_pose.qvel, float), variables=self._goal(goal_key))

    def _object_offset(self, key: jax.Array) -> Float[Array, "2"]:
        """Draw a place within `object_range`, until it is not too close to the gripper."""

        def is_close(carry: tuple[jax.Array, jax.Array]) -> jax.Array:
            return jnp.sqrt(jnp.square(carry[1]).sum()) < MIN_OBJECT_DISTANCE

        def draw(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            next_key, own_key = jax.random.split(carry[0])
            return next_key, between(own_key, -self.object_range, self.object_range, (2,))

        offset: jax.Array = jax.lax.while_loop(is_close, draw, (key, jnp.zeros(2, float)))[1]
        return offset

    def _goal(self, key: jax.Array) -> Float[Array, "3"]:
        place_key, choice_key, height_key = jax.random.split(key, 3)
        offset = between(place_key, -self.target_range, self.target_range, (3,))
        goal = exact(jnp.asarray(self.first_pose.grip + np.array(self.target_offset), float) + offset)
        if not self.has_object:
            return goal
        height = jnp.asarray(self.first_pose.object_height, float)
        if self.has_high_targets:
            is_high = jax.random.bernoulli(choice_key)
            height = jnp.where(is_high, exact(height + between(height_key, 0.0, MAX_HEIGHT)), height)
        return goal.at[2].set(height)

    def control(self, state: TaskState, action: Float[Array, "4"]) -> dict[str, Any]:
        """Return where the mocap body is, which pulls the gripper, and where the fingers go."""
        limits = self.action_space
        action = jnp.clip(jnp.asarray(action, jnp.float32), limits.low, limits.high)
        gripper, fingers = self.data(state).body(GRIPPER), action[3].astype(float)
        move = exact(jnp.float32(MAX_MOVE) * action[:3]).astype(float)
        place = {
            "mocap_pos": (gripper.xpos + move)[None],
            "mocap_quat": (gripper.xquat + jnp.asarray(POINTING_DOWN, float))[None],
        }
        mjmodel = self.model.mjmodel
        if mjmodel.nu == 0:
            return place
        moved = mjmodel.jnt_qposadr[mjmodel.actuator_trnid[:, 0]]
        return {**place, "ctrl": state.qpos[moved] + fingers}

    def seen(self, state: TaskState) -> Float[Array, "num_seen"]:
        """Return places, orientations and velocities of gripper, fingers and object."""
        data, dt = self.data(state), self.dt
        grip, grip_velocity = data.site(GRIP).xpos, self._site_velocity(state, GRIP)[0] * dt
        fingers = [getattr(data.joint(name), part) for part in ("qpos", "qvel") for name in FINGERS]
        seen = [grip]
        if self.has_object:
            place, (velocity, rotation) = data.site(OBJECT).xpos, self._site_velocity(state, OBJECT)
            seen += [place, place - grip, *fingers[:2], _euler_angles(data.site(OBJECT).xmat.reshape(3, 3))]
            seen += [velocity * dt - grip_velocity, rotation * dt]
        else:
            seen += fingers[:2]
        return jnp.concatenate([*seen, grip_velocity, *(speed * dt for speed in fingers[2:])])

    @property
    def num_seen(self) -> int:
        """The length of what is observed."""
        return 25 if self.has_object else 10

    def _site_velocity(self, state: TaskState, name: str) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
        """Return the velocity [m/s] and the rotation [rad/s] of a site, by its Jacobian, as `mj_jacSite` has it."""
        mjmodel, data = self.model.mjmodel, self.data(state)
        body = int(mjmodel.site(name).bodyid[0])
        moved = _moving_dofs(mjmodel, body)
        center = data.subtree_com[int(mjmodel.body_rootid[body])]
        axes, speeds = data.cdof[moved], state.qvel[moved][:, None]
        arm = jnp.broadcast_to((data.site(name).xpos - center)[None], axes[:, :3].shape)
        moves = axes[:, 3:] + jnp.cross(axes[:, :3], arm)
        return (moves * speeds).sum(0), (axes[:, :3] * speeds).sum(0)

    def achieved_goal(self, state: TaskState) -> Float[Array, "3"]:
        """Return the place of the object, or of the gripper if there is none."""
        return self.data(state).site(OBJECT if self.has_object else GRIP).xpos

    @property
    def action_space(self) -> Box:
        """Moves of the gripper and of its fingers, in units of the largest."""
        return Box(-1.0, 1.0, (4,))

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return keys for a full move along one axis each."""
        return motor_keys(self.action_space.low, self.action_space.high)

    @property
    def scene_view(self) -> View:
        """A view of robot and table."""
        return View(1.72, 1.29, (1.1, 0.75, 0.5), azimuth=132.0, elevation=-25.0)

    @property
    def camera_config(self) -> tuple[tuple[str, Any], ...]:
        """The package's camera."""
        return (("distance", 2.5), ("azimuth", 132.0), ("elevation", -14.0), ("lookat", (1.3, 0.75, 0.55)))

    def scene(self, state: TaskState) -> Scene:
        """Draw the arm, the table, the object and the goal."""
        view, goal = self.scene_view, self.desired_goal(state)
        return draw_fetch(self.model.mjmodel, self.data(state), goal, view, self.has_object)


@functools.cache
def _first_pose(cls: Any) -> FirstPose:
    """Return the pose to which the mocap body pulls the gripper, as the package's `_env_setup` finds it."""
    mujoco, file = import_mujoco(), f"fetch/{cls.xml_file}"
    with without_warnings():
        mjmodel = compile_mjcf(assets_folder() / file).mjmodel.__copy__()
    welds = mjmodel.eq_type == int(mujoco.mjtEq.mjEQ_WELD)
    mjmodel.eq_data[welds, :7] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    data = mujoco.MjData(mjmodel)
    for number, place in enumerate(cls.base):
        data.joint(f"robot0:slide{number}").qpos[:] = place
    if cls.object_pose is not None:
        data.joint(OBJECT_JOINT).qpos[:] = cls.object_pose
    mujoco.mj_forward(mjmodel, data)
    x, y, z = GRIPPER_OFFSET
    data.mocap_pos[0] = np.array([x, y, z + cls.extra_height]) + data.site(GRIP).xpos
    data.mocap_quat[0] = POINTING_DOWN
    mujoco.mj_step(mjmodel, data, nstep=NUM_SETTLING)
    height = 0.0 if cls.object_pose is None else float(data.site(OBJECT).xpos[2])
    compiled = identified(mjmodel, f"Gymnasium-Robotics' {file}")
    return FirstPose(compiled, data.qpos.copy(), data.qvel.copy(), data.site(GRIP).xpos.copy(), height)


def _moving_dofs(mjmodel: Any, body: int) -> NDArray:
    """Return the degrees of freedom that move a body."""
    found: list[int] = []
    while body > 0:
        first = int(mjmodel.body_dofadr[body])
        found += range(first, first + int(mjmodel.body_dofnum[body]))
        body = int(mjmodel.body_parentid[body])
    return np.array(sorted(found))


def _euler_angles(matrix: Float[Array, "3 3"]) -> Float[Array, "3"]:
    """Return the angles of a rotation about x, y and z, as the package's `mat2euler` has them."""
    cosine = jnp.sqrt(matrix[2, 2] * matrix[2, 2] + matrix[1, 2] * matrix[1, 2])
    is_regular = cosine > 4 * float(np.finfo(cosine.dtype).eps)
    about_z = jnp.where(is_regular, -jnp.arctan2(matrix[0, 1], matrix[0, 0]), -jnp.arctan2(-matrix[1, 0], matrix[1, 1]))
    about_y = -jnp.arctan2(-matrix[0, 2], cosine)
    about_x = jnp.where(is_regular, -jnp.arctan2(matrix[1, 2], matrix[2, 2]), 0.0)
    return jnp.stack([about_x, about_y, about_z])
