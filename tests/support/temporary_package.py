"""A package of environments that is installed while a test runs, in the way that a user's package is.

`temporary_package(folder)` writes a package `harbour` with one environment into a folder: its rules, its scene, and one
line that registers it. The metadata beside it declare the entry point `funcenv.envs`, so that the registry discovers
the package as it discovers any other. Everything that has to happen for a new environment must follow from these files.

    with temporary_package(tmp_path) as package:
        env = funcenv.make(package.env_id)
"""

import contextlib
import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.support import registries

RULES = '''\
"""Bring a drifting boat back to its dock.

The boat moves by one unit a step, in the direction of the action.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.func_env import FuncEnv
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode

from {name}.boat_scene import draw


class BoatState(PyTreeNode):
    """Position of the boat."""

    x: Float[Array, ""]  # distance from the dock [m]


class Boat(FuncEnv[BoatState, Int[Array, ""], Float[Array, "1"]]):
    """Boat.

    Observation: float32 `[1]`: x [m].

    Action: 0 moves towards the dock, 1 away from it.

    Reward: -1 for every step.

    Termination: the boat has reached the dock, `x <= 0`.

    Initial state: x uniform in `[start / 2, start)`.

    >>> import funcenv
    >>> from {name}.boat import Boat
    >>> state, timestep = Boat().reset(funcenv.key(0))
    >>> timestep.observation.shape
    (1,)
    """

    start: float = 4.0  # greatest initial distance [m]
    stride: float = 1.0  # distance covered in a step [m]

    def initial(self, key: jax.Array) -> BoatState:
        return BoatState(x=jax.random.uniform(key, (), float, self.start / 2, self.start))

    def transition(self, state: BoatState, action: Int[Array, ""], key: jax.Array) -> BoatState:
        del key
        return BoatState(x=state.x + jnp.where(action == 0, -self.stride, self.stride))

    def observation(self, state: BoatState, key: jax.Array) -> Float[Array, "1"]:
        del key
        return state.x[None].astype(jnp.float32)

    def reward(self, state: BoatState, action: Int[Array, ""], next_state: BoatState) -> Float[Array, ""]:
        del state, action, next_state
        return -jnp.ones((), float)

    def terminal(self, state: BoatState) -> Bool[Array, ""]:
        return state.x <= 0

    @property
    def observation_space(self) -> Box:
        return Box(-jnp.inf, jnp.inf, (1,))

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def scene(self, state: BoatState) -> Scene:
        return draw(self, state)
'''

SCENE = '''\
"""Drawing of the boat and its dock."""

import jax.numpy as jnp

from funcenv.scene import Camera, Circle, Rectangle, Scene, palette


def draw(env, state):
    width = jnp.float32(2 * env.start)
    boat = Circle((jnp.float32(state.x), 0.0), 0.2, palette.ORANGE)
    dock = Rectangle((0.0, 0.0), (0.1, 1.0), palette.INK)
    return Scene(Camera((width / 2, 0.0), width, 2.0), shapes=(boat,), backdrop=(dock,), background=palette.PAPER)
'''

REGISTRATION = '''\
"""Names of the environments of this package."""

from funcenv.registry import register


def register_envs():
    register("{name}/Boat-v0", "{name}.boat:Boat", max_episode_steps=50, reward_threshold=-3.0)
'''


class TemporaryPackage(NamedTuple):
    """Where a temporary package is, and what it offers."""

    folder: pathlib.Path  # on `sys.path`; put it on PYTHONPATH for a subprocess
    name: str  # of the package, for imports
    env_id: str  # of its only environment


@contextlib.contextmanager
def temporary_package(folder: pathlib.Path, name: str = "harbour") -> Iterator[TemporaryPackage]:
    """Install a package with one environment, and remove every trace of it afterwards."""
    files = {
        f"{name}/__init__.py": "",
        f"{name}/boat.py": RULES.replace("{name}", name),
        f"{name}/boat_scene.py": SCENE,
        f"{name}/registration.py": REGISTRATION.replace("{name}", name),
        f"{name}-0.1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n",
        f"{name}-0.1.dist-info/entry_points.txt": f"[funcenv.envs]\n{name} = {name}.registration:register_envs\n",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with registries.restored(), pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        try:
            yield TemporaryPackage(folder, name, f"{name}/Boat-v0")
        finally:
            for module in [module for module in sys.modules if module.partition(".")[0] == name]:
                del sys.modules[module]
