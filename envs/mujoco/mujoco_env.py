"""The base of the MuJoCo environments: their state, their backends, and what they have in common.

An environment is a file of rules over a `MujocoState`: where episodes start, what is observed, and what is rewarded.
The rules are written once, and do not know which backend computes the physics:

- "c" calls MuJoCo's own C library on the host, for a whole batch at once. States are exact: they equal, bit for bit,
  those of a plain loop over `mj_step`, with and without `jax_enable_x64`.
- "mjx" computes the same equations in JAX, for accelerators. States are equal to rounding.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, UInt

from funcenv._jax import Shape
from funcenv.checks import require_at_least, require_finite, require_positive, require_size
from funcenv.envs.mujoco import mjx, simulation
from funcenv.envs.mujoco.model import PACKAGED, find_file, load_model, require_unchanged
from funcenv.envs.mujoco.mujoco_scene import draw_model
from funcenv.envs.mujoco.simulated_env import SimulatedEnv, hashable
from funcenv.envs.mujoco.simulation import SCALED_FIELDS, Simulation
from funcenv.host import host_call, to_words
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode, field


class MujocoState(PyTreeNode):
    """The physics of a model, and what observations and rewards read from it."""

    physics: UInt[Array, "words"] | Float[Array, "numbers"]  # the whole state: bits of 64-bit floats ("c"), or floats
    qpos: Float[Array, "nq"]  # positions of the joints [m, rad], quaternions of free joints
    qvel: Float[Array, "nv"]  # velocities of the joints [m/s, rad/s]
    displacement: Float[Array, "2"]  # motion of the tracked point during the last step, along x and y [m]
    unstable: Bool[Array, ""]  # the simulation diverged in the last step, which therefore left the physics as it was
    outputs: dict[str, Array]  # fields of `mjData` by name, as the last simulation step computed them


class MujocoEnv(SimulatedEnv[MujocoState, Float[Array, "size"]]):
    """The base class of MuJoCo environments.

    A subclass defines `start`, `observation`, `reward_terms` and `num_observed`, and names what it reads.
    """

    xml_file: str = field(pytree_node=False, default="")  # a packaged model, or the path of your own
    frame_skip: int = field(pytree_node=False, default=1)  # simulation steps in a step of the environment
    default_camera_config: Any = field(pytree_node=False, default=None)  # attributes of the free camera, by name
    friction_scale: float = field(default=1.0, kw_only=True)  # factor of the friction of all geoms
    mass_scale: float = field(default=1.0, kw_only=True)  # factor of the masses and inertias of all bodies
    damping_scale: float = field(default=1.0, kw_only=True)  # factor of the damping of all joints
    gear_scale: float = field(default=1.0, kw_only=True)  # factor of what all actuators do
    gravity_scale: float = field(default=1.0, kw_only=True)  # factor of the gravity
    size_scale: float = field(default=1.0, kw_only=True)  # factor of the sizes of all geoms; masses and joints stay

    outputs: ClassVar[tuple[str, ...]] = ()  # fields of `mjData` that the rules read from `MujocoState.outputs`
    velocities: ClassVar[tuple[str, ...]] = ()  # names in `info` of the velocities along x and y

    def __post_init__(self) -> None:
        require_size("frame_skip", self.frame_skip)
        require_positive(mass_scale=self.mass_scale, size_scale=self.size_scale)
        require_finite(gear_scale=self.gear_scale, gravity_scale=self.gravity_scale)
        for name in ("friction_scale", "damping_scale"):
            require_at_least(0.0, name, getattr(self, name), "pass 1.0 for the model's own values")
        if self.xml_file not in PACKAGED:
            object.__setattr__(self, "xml_file", str(find_file(self.xml_file)))
        require_unchanged(load_model(self.xml_file))
        if not (isinstance(self.size_scale, float | int) and self.size_scale == 1):
            self.model.require_scalable_geoms()
        object.__setattr__(self, "default_camera_config", hashable(self.default_camera_config))
        self.check_simulation()

    @property
    def camera_config(self) -> tuple[tuple[str, Any], ...]:
        """Attributes of the free camera and their values."""
        return self.default_camera_config or ()

    @property
    def source(self) -> str:
        """The XML file of the model."""
        return self.xml_file

    @property
    def dt(self) -> float:
        """Simulated time of a step [s]."""
        return float(self.model.mjmodel.opt.timestep) * self.frame_skip

    @property
    def tracked(self) -> str | int:
        """The point whose displacement rewards need, as `Simulation` takes it."""
        return ""

    @property
    def simulation(self) -> Simulation:
        """The simulation that runs on the host."""
        return Simulation(self.xml_file, self.frame_skip, self.outputs, self.tracked, self.num_threads)

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        raise NotImplementedError(f"{type(self).__name__} must define the property num_observed")

    @property
    def observation_space(self) -> Box:
        """Unbounded numbers."""
        return Box(-jnp.inf, jnp.inf, (self.num_observed,), np.float64)

    def start(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return positions and velocities of the joints at the start of an episode."""
        raise NotImplementedError(f"{type(self).__name__} must define start(key)")

    def initial(self, key: jax.Array) -> MujocoState:
        """Return the state after a reset to `start(key)`."""
        return self.state_at(*self.start(key))

    def state_at(self, qpos: Float[Array, "nq"], qvel: Float[Array, "nv"]) -> MujocoState:
        """Return the state after a reset to these positions and velocities, as Gymnasium's `set_state` makes it."""
        if self.outputs or self.tracked != "":
            return self._simulate("begin", jnp.asarray(qpos), jnp.asarray(qvel))
        # Nothing is computed, so the host need not be called.
        qpos, qvel, mjmodel = jnp.asarray(qpos, float), jnp.asarray(qvel, float), self.model.mjmodel
        time, rest = jnp.zeros(1, float), jnp.zeros(mjmodel.na + mjmodel.nhistory + mjmodel.nv, float)
        physics = jnp.concatenate([time, qpos, qvel, rest])
        return MujocoState(
            physics=physics if self.simulator == "mjx" else to_words(physics),
            qpos=qpos,
            qvel=qvel,
            displacement=jnp.zeros(2, float),
            unstable=jnp.zeros((), bool),
            outputs={},
        )

    def transition(self, state: MujocoState, action: Float[Array, "nu"], key: jax.Array) -> MujocoState:
        """Simulate `frame_skip` steps with constant controls."""
        del key
        return self._simulate("advance", state.physics, jnp.asarray(action))

    def reward(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> Float[Array, ""]:
        """Return the sum of the terms of the reward."""
        terms = self.reward_terms(state, action, next_state).values()
        return functools.reduce(jnp.add, terms)

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the terms of the reward by their names in `info`; costs are negative."""
        raise NotImplementedError(f"{type(self).__name__} must define reward_terms(state, action, next_state)")

    def terminal(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the simulation diverged; nothing else ends an episode, unless a subclass says so."""
        return state.unstable

    def transition_info(
        self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState
    ) -> dict[str, Any]:
        """Return velocities and the terms of the reward."""
        velocities = zip(self.velocities, self.velocity(next_state), strict=False)
        return {**dict(velocities), **self.reward_terms(state, action, next_state)}

    def state_info(self, state: MujocoState) -> dict[str, Any]:
        """Return what the environment tells of a state, and whether the simulation diverged."""
        return {**self.describe(state), "unstable": state.unstable}

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the entries of Gymnasium's `info` that also a reset has; none by default."""
        del state
        return {}

    def velocity(self, state: MujocoState) -> Float[Array, "2"]:
        """Return the mean velocity of the tracked point during the last step, along x and y [m/s]."""
        return state.displacement / self.dt

    def noisy_start(self, key: jax.Array, normal_velocities: bool = False) -> tuple[Any, Any]:
        """Return positions and velocities around the model's own ones.

        Positions are uniform within `reset_noise_scale`. So are velocities, unless they are normal with this standard
        deviation.
        """
        qpos_key, qvel_key = jax.random.split(key)
        draw = jax.random.normal if normal_velocities else uniform
        noises = uniform(qpos_key, self.init_qpos.shape), draw(qvel_key, (self.model.mjmodel.nv,), float)
        scale = self.reset_noise_scale  # type: ignore[attr-defined]  # a field of the environments that use this
        qpos_noise, qvel_noise = (exact(scale * exact(noise)) for noise in noises)
        return self.init_qpos + qpos_noise, qvel_noise

    @property
    def init_qpos(self) -> Float[Array, "nq"]:
        """The positions of the joints in the model's own pose."""
        return jnp.asarray(self.model.init_qpos, float)

    def scene(self, state: MujocoState) -> Scene:
        """Draw the geoms of the model, from a side or from above."""
        return draw_model(self.model.mjmodel, state.qpos, self.scene_view, self.size_scale)

    def _simulate(self, function: str, *args: jax.Array) -> MujocoState:
        """Call `advance` or `begin` of the simulator."""
        scales: Any = [getattr(self, name) for name in SCALED_FIELDS]
        if all(isinstance(scale, int | float) and scale == 1 for scale in scales):
            scales = None
        if self.simulator == "mjx":
            return MujocoState(**getattr(mjx, function)(self.simulation, *args, scales))
        if scales is not None:
            args += (jnp.stack([jnp.asarray(scale, float) for scale in scales]),)
        called = functools.partial(getattr(simulation, function), self.simulation)
        return MujocoState(**host_call(called, self._shapes(), *args, fills=True))

    def _shapes(self) -> dict[str, Any]:
        """Return the shapes and dtypes of a state that the C library computes."""
        simulated, mjmodel = self.simulation, self.model.mjmodel
        shape = functools.partial(Shape, dtype=jnp.zeros((), float).dtype)
        return {
            "physics": Shape((2 * simulated.num_numbers,), np.uint32),
            "qpos": shape((mjmodel.nq,)),
            "qvel": shape((mjmodel.nv,)),
            "displacement": shape((2,)),
            "unstable": Shape((), np.bool_),
            "outputs": {name: shape(of_one) for name, of_one in simulated.shapes().items()},
        }


def uniform(key: jax.Array, shape: tuple[int, ...], dtype: Any = float) -> jax.Array:
    """Draw numbers from -1 to 1."""
    return jax.random.uniform(key, shape, dtype, -1.0, 1.0)


def exact(numbers: jax.Array) -> jax.Array:
    """Return the numbers, rounded wherever they are computed, so that every program gets the same bits.

    XLA may compute `a * b + c` with one rounding or with two, which differs from program to program. Physics is
    chaotic, so an episode that is to be the same in every batch must begin with the same bits. XLA does not see through
    a choice.
    """
    return jnp.where(jnp.abs(numbers) < 1e9, numbers, 0.0)


def squared_sum(array: Any) -> Float[Array, ""]:
    """Return the sum of the squares of all elements."""
    return jnp.sum(jnp.square(jnp.asarray(array, float)))


def is_within(value: Any, bounds: tuple[Any, Any]) -> Bool[Array, "..."]:
    """Return whether numbers lie strictly between two bounds."""
    return (bounds[0] < value) & (value < bounds[1])


def describe_place(state: MujocoState) -> dict[str, Any]:
    """Return the position and its distance from the origin, from the first two entries of qpos."""
    place = state.qpos[:2]
    return {"x_position": place[0], "y_position": place[1], "distance_from_origin": jnp.linalg.norm(place)}
