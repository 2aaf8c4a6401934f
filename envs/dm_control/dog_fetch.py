"""Make a dog fetch a ball.

The model and the rules are those of dm_control 1.0.50's domain `dog`, task `fetch`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.dm_control.dog import SuiteDog
from funcenv.envs.dm_control.draws import between, normal, on_circle
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.mujoco_env import exact
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field


class SuiteDogFetch(SuiteDog):
    """Dog of dm_control's suite, which fetches a ball.

    Observation: a dict of `joint_angles`, float32 `[73]` [rad]; `joint_velocites`, which is dm_control's spelling,
        float32 `[73]` [rad/s]; `torso_pelvis_height`, float32 `[2]` [m]; `z_projection`, float32 `[9]`: the vertical in
        the frames of skull, torso and pelvis; `torso_com_velocity`, float32 `[3]`: the velocity of the centre of mass
        in the frame of the torso [m/s]; `inertial_sensors`, float32 `[9]`: acceleration [m/s^2], velocity [m/s] and
        rotation [rad/s] of the torso; `foot_forces`, float32 `[12]`: forces at left and right foot, and left and right
        hand [N]; `touch_sensors`, float32 `[4]`: pressures at left and right palm and sole [N]; `actuator_state`,
        float32 `[38]`; `ball_state`, float32 `[6]`: place [m] and velocity [m/s] of the ball in the frame of the head;
        and `target_position`, float32 `[3]`: the target in this frame [m]. With `flat_observation=True` it is one array
        in this order. With `jax_enable_x64` it is float64, bit for bit dm_control's but for the last bits of
        `torso_com_velocity`, ball and target.

    Action: float32 `[38]`: controls of the actuators in `[-1, 1]`, which follow them with a time constant of 0.05 s.
        MuJoCo clips what lies outside.

    Reward: the product of the factors for standing, of a factor from 1/7 to 1 for a ball near the mouth, and of one
        from 1/2 to 1 for a ball near the target, in the middle of the floor. The first of these two is 1 where the ball
        is within two radii of the target.

    Termination: never, unless the simulation diverges. The id is truncated after 1,000 steps.

    Initial state: that of `SuiteDog`. The ball starts 7.5 m from the middle, and flies towards it with a speed up to
        5 m/s, and upwards, so that it rises by up to 3 m.

    >>> SuiteDogFetch().observation_space["ball_state"].shape
    (6,)
    """

    task: str = field(pytree_node=False, default="fetch")

    tasks: ClassVar = ("fetch",)
    reads: ClassVar = (*SuiteDog.reads, "cvel", "geom_xpos", "site_xmat", "site_xpos", "subtree_com")

    def start(self, key: jax.Array) -> Start:
        """Return a start of the dog, with a ball that was thrown."""
        dog_key, turn_key, height_key, speed_key, aim_key = jax.random.split(key, 5)
        start = super().start(dog_key)
        radius = 0.75 * float(self.model_row("geom_size", "floor", "geom")[0])
        inward = -jnp.stack(on_circle(between(turn_key, 0.0, 2 * math.pi), 1.0))
        place = jnp.append(exact(-radius * inward), 0.05)
        gravity = -float(self.model.mjmodel.opt.gravity[2])
        upwards = exact(jnp.sqrt(exact(2 * gravity * between(height_key, 0.0, 3.0))))
        horizontal = exact(between(speed_key, 0.0, 5.0) * exact(inward + normal(aim_key, 0.05, (2,))))
        joint = self.model.mjmodel.joint("ball_root")
        first, first_velocity = int(joint.qposadr[0]), int(joint.dofadr[0])
        return start.replace(
            qpos=start.qpos.at[first : first + 3].set(place),
            qvel=start.qvel.at[first_velocity : first_velocity + 3].set(jnp.append(horizontal, upwards)),
        )

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the dog feels of itself, and ball and target."""
        head, ball, target = data.site("head").xpos, data.geom("ball").xpos, data.geom("target").xpos
        frame = data.site("head").xmat.reshape(3, 3)
        velocity = self._velocity(data, ball, "ball", "ball") - self._velocity(data, head, "skull", "torso")
        seen = {"ball_state": jnp.concatenate([(ball - head) @ frame, velocity @ frame])}
        return {**super().entries(data), **seen, "target_position": (target - head) @ frame}

    def _velocity(self, data: NamedData, point: jax.Array, body: str, root: str) -> Float[Array, "3"]:
        """Return the velocity of a point that moves with a body of the tree that begins with a root [m/s]."""
        rotation, velocity = jnp.split(data.body(body).cvel, 2)
        return velocity - jnp.cross(point - data.body(root).subtree_com, rotation)

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the product of the factors."""
        del action
        ball, target = data.geom("ball").xpos, data.geom("target").xpos
        ways = [jnp.linalg.norm(ball - data.site(f"{part}_bite").xpos) for part in ("upper", "lower")]
        bite = float(self.model_row("site_size", "upper_bite", "site")[0])
        radius = float(self.model_row("geom_size", "target", "geom")[0])
        floor = float(self.model_row("geom_size", "floor", "geom")[0])
        reach = (6 * tolerance(0.5 * (ways[0] + ways[1]), (0.0, bite), 2.0, "reciprocal") + 1) / 7
        distance = jnp.linalg.norm(ball - target)
        bring = (tolerance(distance, (0.0, radius), floor, "reciprocal") + 1) / 2
        return self.standing(data) * jnp.where(distance < 2 * radius, 1.0, reach) * bring
