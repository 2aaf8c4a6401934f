"""Make a robot with four legs escape from a bowl with bumps, which differ in every episode.

The model and the rules are those of dm_control 1.0.50's domain `quadruped`, task `escape`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.dm_control.quadruped import SuiteQuadruped, sensors, upright_factor
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.mujoco_scene import View, in_view
from funcenv.envs.mujoco.mujoco_task import Start, TaskState
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.scene import Line, Repeat, Scene, palette
from funcenv.struct import NDArray, field

RESOLUTION = 201  # heights of the terrain along each side
NUM_BUMPS = 30  # bumps along each side, 2 m apart
MIN_BUMP = 0.15  # lowest bump; the highest is 1
UPRIGHT_ANGLE = 20.0  # angle up to which the torso is upright [degrees]
_NUM_DRAWN = 19  # heights along each side of the part of the terrain that is drawn


def terrain(bumps: NDArray) -> NDArray:
    """Return the heights of a terrain from 0 to about 1, `[201, 201]`: a bowl times smooth bumps.

    Args:
        bumps: heights of the bumps, `[30, 30]`.
    """
    return bowl() * _zoomed(np.asarray(bumps, np.float64), axes=(True, True))


@functools.cache
def bowl() -> NDArray:
    """Return a sine of the distance from the middle, `[201, 201]`: 0 there and at the rim, and 1 halfway."""
    along = np.linspace(-1.0, 1.0, RESOLUTION)
    radius = np.clip(np.sqrt(along[None, :] ** 2 + along[:, None] ** 2), 0.04, 1)
    heights: NDArray = 0.5 - np.cos(2 * np.pi * radius) / 2
    return heights


class SuiteQuadrupedEscape(SuiteQuadruped):
    """Quadruped of dm_control's suite, which escapes from a bowl.

    Observation: a dict of `egocentric_state`, float32 `[44]`: angles `[16]` [rad] and velocities `[16]` [rad/s] of the
        joints, and activations of the actuators `[12]`; `torso_velocity`, float32 `[3]`: in its own frame [m/s];
        `torso_upright`, float32 `[]`: the cosine of its angle from upright; `imu`, float32 `[6]`: acceleration [m/s^2]
        and rotation [rad/s] of the torso; `force_torque`, float32 `[24]`: arcsinh of forces [N] and torques [N m] at
        the toes; `origin`, float32 `[3]`: the middle of the bowl in the frame of the torso [m]; and `rangefinder`,
        float32 `[20]`: the hyperbolic tangents of the distances that the rangefinders measure [m], or 1 where they meet
        nothing. With `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit
        for bit dm_control's but for the last bits of forces, `origin` and hyperbolic tangents.

    Action: float32 `[12]`: where the actuators pull yaw, lift and extension of each leg, in `[-1, 1]`. MuJoCo clips
        what lies outside.

    Reward: a factor from 0 to 1 for a torso within 20 degrees of upright, times the distance from the middle in units
        of the bowl's size of 30 m, 1 at most.

    Termination: never, unless the simulation diverges. The id is truncated after 1,000 steps.

    Initial state: the bowl is 5 m deep; its heights are multiplied by smooth bumps, which are uniform from 0.15 to 1 on
        a grid of 2 m. The robot is turned at random in the middle, at the lowest height where nothing touches, in steps
        of 1 cm from 0.

    >>> SuiteQuadrupedEscape().observation_space["rangefinder"].shape
    (20,)
    """

    task: str = field(pytree_node=False, default="escape")

    tasks: ClassVar = ("escape",)
    shares_variables: ClassVar = True
    computed_fields: ClassVar = (("hfield_data", terrain),)
    mjx_fault: ClassVar = "the host computes its terrain"
    view: ClassVar = View(4.0, 3.0, (0.0, 0.0, 0.0), azimuth=60.0, elevation=-20.0, follow=(0, 1, 2))

    def starts(self, key: jax.Array) -> Start:
        """Return the same start at growing heights, with the bumps of a terrain."""
        terrain_key, pose_key = jax.random.split(key)
        bumps = between(terrain_key, MIN_BUMP, 1.0, (NUM_BUMPS, NUM_BUMPS))
        return super().starts(pose_key).replace(variables=jnp.tile(bumps, (self.num_starts, 1, 1)))

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return the bumps, from which the host computes the terrain."""
        return {"hfield_data": variables}

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the robot feels of itself, the middle of the bowl, and the distances of the terrain."""
        torso, ranges = data.body("torso"), data.sensordata[sensors(self.source, "RANGEFINDER")]
        return {
            **super().entries(data),
            "origin": -torso.xpos @ torso.xmat.reshape(3, 3),
            "rangefinder": jnp.where(ranges == -1.0, 1.0, jnp.tanh(ranges)),
        }

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the reward of an upright torso, times that of the distance from the middle."""
        del action
        size, distance = float(self.model.mjmodel.hfield_size[0, 0]), jnp.linalg.norm(data.site("workspace").xpos)
        away = tolerance(distance, (size, math.inf), size, "linear", value_at_margin=0.0)
        return upright_factor(data, UPRIGHT_ANGLE) * away

    def scene(self, state: TaskState) -> Scene:
        """Draw the robot, and the terrain around it as a net."""
        drawn, points = super().scene(state), self._net(state)
        net = in_view(points.reshape(-1, 3), self.view, state.qpos).reshape(_NUM_DRAWN, _NUM_DRAWN, 2)
        starts = jnp.concatenate([net[:-1].reshape(-1, 2), net[:, :-1].reshape(-1, 2)])
        ends = jnp.concatenate([net[1:].reshape(-1, 2), net[:, 1:].reshape(-1, 2)])
        colors = np.tile(np.asarray(palette.CLOUD, np.float32), (len(starts), 1))
        lines = Line(starts, ends, np.full(len(starts), 0.004 * self.view.width, np.float32), colors)
        return drawn.replace(shapes=(Repeat(lines), *drawn.shapes))

    def _net(self, state: TaskState) -> Float[Array, "side side 3"]:
        """Return points of the terrain around the robot [m], rows along y."""
        size, elevation = (float(self.model.mjmodel.hfield_size[0, column]) for column in (0, 2))
        step, last = 2 * size / (RESOLUTION - 1), RESOLUTION - _NUM_DRAWN
        numbers = jnp.round((jnp.asarray(state.qpos[:2], jnp.float32) + size) / step).astype(jnp.int32)
        column, row = jnp.clip(numbers - _NUM_DRAWN // 2, 0, last)
        smooth = jnp.asarray(_smoothing(), jnp.float32)
        across, along = (jax.lax.dynamic_slice_in_dim(smooth, first, _NUM_DRAWN) for first in (row, column))
        shape = jax.lax.dynamic_slice(jnp.asarray(bowl(), jnp.float32), (row, column), (_NUM_DRAWN, _NUM_DRAWN))
        heights = elevation * shape * (across @ state.variables.astype(jnp.float32) @ along.T)
        numbers = jnp.arange(_NUM_DRAWN, dtype=jnp.int32)[None] + jnp.stack([row, column])[:, None]
        places = numbers.astype(jnp.float32) * step - size
        y, x = jnp.meshgrid(*places, indexing="ij")
        return jnp.stack([x, y, heights + float(self.model_row("geom_pos", "terrain", "geom")[2])], axis=-1)


@functools.cache
def _smoothing() -> NDArray:
    """Return the weights of the bumps along a side, `[201, 30]`, which interpolate them by cubic splines."""
    return _zoomed(np.eye(NUM_BUMPS), axes=(True, False))


def _zoomed(numbers: NDArray, axes: tuple[bool, bool]) -> NDArray:
    """Return numbers for bumps as numbers for heights, by cubic splines, along one axis or both."""
    from scipy import ndimage  # imported here, because only this task needs it

    factor = RESOLUTION / float(NUM_BUMPS)
    zoomed: NDArray = ndimage.zoom(numbers, tuple(factor if is_zoomed else 1.0 for is_zoomed in axes))
    return zoomed
