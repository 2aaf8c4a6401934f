"""Bring balls on springs to rest: a linear system with quadratic costs, whose best policy is known in closed form.

The model and the rules are those of dm_control 1.0.50's domain `lqr`.
"""

from __future__ import annotations

import functools
import math
import xml.etree.ElementTree as ElementTree
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.checks import require_size
from funcenv.envs.dm_control.assets import compile_model, read_model
from funcenv.envs.dm_control.draws import direction
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.mujoco.kinematics import site_places
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_env import exact
from funcenv.envs.mujoco.mujoco_scene import View, in_view
from funcenv.envs.mujoco.mujoco_task import Start, TaskState
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.scene import Line, Repeat, Scene, palette
from funcenv.struct import field

CONTROL_COST = 0.1  # weight of the controls in the costs
MAX_REST = 1e-6  # norm of positions and velocities below which an episode ends
STIFFNESS_RANGE, DAMPING_RANGE = (15.0, 25.0), (0.0, 0.0)  # ranges of the springs and dampers [N/m, N s/m]
_GREY = np.asarray(palette.STONE, np.float32)
MAX_SEED = 2**32 - 1  # bound on the seeds of NumPy's RandomState


class SuiteLQR(SuiteTask):
    """Linear-quadratic regulator of dm_control's suite.

    Balls side by side move along y. The first one is tied to its place by a spring, and each other one to the ball
    before it. The task `lqr_6_2` has six balls, of which the first two are pushed. The stiffness of the springs is
    drawn from 15 to 25 N/m when the model is made. `model_seed` gives the springs of `suite.load(...,
    task_kwargs={"random": model_seed})`.

    Observation: a dict of `position`, float32 `[2]` or float32 `[6]`: the way of each ball from the one before it [m];
        and `velocity`, of the same shape [m/s]. With `flat_observation=True` it is one array in this order. With
        `jax_enable_x64` it is float64, bit for bit dm_control's.

    Action: float32 `[1]` or float32 `[2]`: the forces on the first balls [N], without bounds; dm_control's
        specification says 1e10.

    Reward: 1 minus half of the squared norm of the positions, and minus 0.05 times that of the forces. It has no lower
        bound.

    Termination: the norm of all positions and velocities is less than 1e-6, or the simulation diverges. The ids have
        no time limit, as in dm_control.

    Initial state: positions in any direction with norm sqrt(2), at rest.

    >>> env = SuiteLQR(task="lqr_6_2")
    >>> env.action_space.shape, env.observation_space["velocity"].shape
    ((2,), (6,))
    >>> SuiteLQR(model_seed=1).model.mjmodel.jnt_stiffness.round(2).tolist()
    [19.17, 15.0]
    """

    frame_skip: int = field(pytree_node=False, default=1)
    task: str = field(pytree_node=False, default="lqr_2_1")
    model_seed: int = field(pytree_node=False, default=0, kw_only=True)  # seed of the springs

    tasks: ClassVar = ("lqr_2_1", "lqr_6_2")

    def __post_init__(self) -> None:
        require_size("model_seed", self.model_seed, 0, MAX_SEED)
        super().__post_init__()

    def own_model(self) -> CompiledModel:
        """Return the model with springs of the seed."""
        _, num_balls, num_forces = self.task.split("_")
        return _model(int(num_balls), int(num_forces), self.model_seed)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Rewards are at most 1."""
        return -math.inf, 1.0

    @property
    def scene_view(self) -> View:
        """A camera above the balls."""
        num_balls = self.model.mjmodel.nv
        height = 2 * math.sqrt(2 * num_balls) + 0.4  # twice the greatest way of the last ball in the beginning
        return View(4 / 3 * height, height, (0.125 * (num_balls + 1), 0.0, 0.0), elevation=-90.0)

    def scene(self, state: TaskState) -> Scene:
        """Draw the balls from above, the springs between them, and the line of their places."""
        drawn, view = super().scene(state), self.scene_view
        ends = in_view(site_places(self.model.mjmodel, state.qpos), view, state.qpos)
        edge, width = np.asarray([view.width / 2, 0.0], np.float32), np.float32(0.01 * view.height)
        springs = Line(ends[:-1], ends[1:], np.full(len(ends) - 1, width), np.tile(_GREY, (len(ends) - 1, 1)))
        return drawn.replace(shapes=(Line(-edge, edge, width / 2, palette.CLOUD), Repeat(springs), *drawn.shapes))

    def start(self, key: jax.Array) -> Start:
        """Return any direction."""
        return Start(qpos=exact(math.sqrt(2) * direction(key, self.model.mjmodel.nq)))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return positions and velocities."""
        return {"position": data.qpos, "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return 1 minus the costs."""
        return 1 - (0.5 * jnp.dot(data.qpos, data.qpos) + CONTROL_COST * (0.5 * jnp.dot(action, action)))

    def terminal(self, state: TaskState) -> Bool[Array, ""]:
        """Return whether the balls are at rest in their places, or the simulation diverged."""
        return state.unstable | (jnp.linalg.norm(jnp.concatenate([state.qpos, state.qvel])) < MAX_REST)


@functools.cache
def _model(num_balls: int, num_forces: int, seed: int) -> CompiledModel:
    tree, random = read_model("lqr.xml"), np.random.RandomState(seed)
    (parent,) = tree.findall("./worldbody")
    actuators, tendons = ElementTree.SubElement(tree, "actuator"), ElementTree.SubElement(tree, "tendon")
    for number in range(num_balls):
        height = 0 if number else 0.1
        parent = ElementTree.SubElement(parent, "body", name=f"body_{number}", pos=f".25 0 {height}")
        spring, damper = (float(random.uniform(*bounds)) for bounds in (STIFFNESS_RANGE, DAMPING_RANGE))
        ElementTree.SubElement(parent, "joint", name=f"joint_{number}", stiffness=str(spring), damping=str(damper))
        ElementTree.SubElement(parent, "geom", name=f"geom_{number}")
        ElementTree.SubElement(parent, "site", name=f"site_{number}")
        if number < num_forces:
            ElementTree.SubElement(actuators, "motor", name=f"motor_{number}", joint=f"joint_{number}")
        if number:
            tendon = ElementTree.SubElement(tendons, "spatial", name=f"tendon_{number - 1}")
            for end in (number - 1, number):
                ElementTree.SubElement(tendon, "site", site=f"site_{end}")
    return compile_model(tree, f"dm_control's lqr with {num_balls} balls")
