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
from funcenv.envs.mujoco.joint_names import in_words
from funcenv.envs.mujoco.model import PACKAGED, Model, find_file, load_model, require_unchanged
from funcenv.envs.mujoco.mujoco_image import Shot, camera_number, draw_image, uses_opengl, warn_of_scene
from funcenv.envs.mujoco.mujoco_scene import View, draw_model
from funcenv.envs.mujoco.simulation import SCALED_FIELDS, Simulation
from funcenv.func_env import FuncEnv
from funcenv.host import host_call, to_words
from funcenv.keyboard import motor_keys
from funcenv.scene import Scene
from funcenv.sharding import target_platform
from funcenv.spaces import Box
from funcenv.struct import NDArray, PyTreeNode, field

DEFAULT_SIZE = 480  # side of an image [pixels]


class MujocoState(PyTreeNode):
    """The physics of a model, and what observations and rewards read from it."""

    physics: UInt[Array, "words"] | Float[Array, "numbers"]  # the whole state: bits of 64-bit floats ("c"), or floats
    qpos: Float[Array, "nq"]  # positions of the joints [m, rad], quaternions of free joints
    qvel: Float[Array, "nv"]  # velocities of the joints [m/s, rad/s]
    displacement: Float[Array, "2"]  # motion of the tracked point during the last step, along x and y [m]
    unstable: Bool[Array, ""]  # the simulation diverged in the last step, which therefore left the physics as it was
    outputs: dict[str, Array]  # fields of `mjData` by name, as the last simulation step computed them


class MujocoEnv(FuncEnv[MujocoState, Float[Array, "nu"], Float[Array, "size"]]):
    """The base class of MuJoCo environments.

    A subclass defines `start`, `observation`, `reward_terms` and `num_observed`, and names what it reads.
    """

    xml_file: str = field(pytree_node=False, default="")  # a packaged model, or the path of your own
    frame_skip: int = field(pytree_node=False, default=1)  # simulation steps in a step of the environment
    default_camera_config: Any = field(pytree_node=False, default=None)  # attributes of the free camera, by name
    width: int = field(pytree_node=False, default=DEFAULT_SIZE, kw_only=True)  # width of MuJoCo's images [pixels]
    height: int = field(pytree_node=False, default=DEFAULT_SIZE, kw_only=True)  # height of MuJoCo's images [pixels]
    camera_id: int | None = field(pytree_node=False, default=None, kw_only=True)  # a camera of the model
    camera_name: str | None = field(pytree_node=False, default=None, kw_only=True)  # the same by name
    max_geom: int = field(pytree_node=False, default=1000, kw_only=True)  # geoms in an image of MuJoCo's
    visual_options: Any = field(pytree_node=False, default=None, kw_only=True)  # flags of `MjvOption`, by number
    backend: str = field(pytree_node=False, default="auto", kw_only=True)  # "auto", "c" or "mjx"; see `simulator`
    num_threads: int | None = field(pytree_node=False, default=None, kw_only=True)  # None for one on each CPU
    friction_scale: float = field(default=1.0, kw_only=True)  # factor of the friction of all geoms
    mass_scale: float = field(default=1.0, kw_only=True)  # factor of the masses and inertias of all bodies
    damping_scale: float = field(default=1.0, kw_only=True)  # factor of the damping of all joints
    gear_scale: float = field(default=1.0, kw_only=True)  # factor of what all actuators do
    gravity_scale: float = field(default=1.0, kw_only=True)  # factor of the gravity
    size_scale: float = field(default=1.0, kw_only=True)  # factor of the sizes of all geoms; masses and joints stay

    outputs: ClassVar[tuple[str, ...]] = ()  # fields of `mjData` that the rules read from `MujocoState.outputs`
    velocities: ClassVar[tuple[str, ...]] = ()  # names in `info` of the velocities along x and y
    view: ClassVar[View] = View(4.0, 3.0, azimuth=60.0, elevation=-20.0)  # camera of `scene`
    mjx_fault: ClassVar[str] = ""  # why MJX cannot simulate the environment, if it cannot

    def __post_init__(self) -> None:
        require_size("frame_skip", self.frame_skip)
        require_size("width", self.width)
        require_size("height", self.height)
        if self.num_threads is not None:
            require_size("num_threads", self.num_threads)
        if self.backend not in ("auto", "c", "mjx"):
            raise ValueError(f'backend must be "auto", "c" or "mjx", got {self.backend!r}; leave it out for "auto"')
        if self.backend == "mjx" and self.mjx_fault:
            raise ValueError(
                f'{type(self).__name__} does not run with backend="mjx": {self.mjx_fault}; use backend="c"'
            )
        require_positive(mass_scale=self.mass_scale, size_scale=self.size_scale)
        require_finite(gear_scale=self.gear_scale, gravity_scale=self.gravity_scale)
        for name in ("friction_scale", "damping_scale"):
            require_at_least(0.0, name, getattr(self, name), "pass 1.0 for the model's own values")
        for name in ("default_camera_config", "visual_options"):
            object.__setattr__(self, name, _hashable(getattr(self, name)))
        if self.xml_file not in PACKAGED:
            object.__setattr__(self, "xml_file", str(find_file(self.xml_file)))
        require_unchanged(load_model(self.xml_file))
        if not (isinstance(self.size_scale, float | int) and self.size_scale == 1):
            self.model.require_scalable_geoms()
        camera_number(self.model, self.camera_id, self.camera_name)
        if self.backend == "mjx":
            mjx.require_simulable(self.xml_file)

    @property
    def simulator(self) -> str:
        """The simulator: "c", MuJoCo's C library on the CPU, or "mjx", MuJoCo in JAX on JAX's own device.

        `backend="auto"` chooses "c" in programs for CPUs, and for models that MJX cannot simulate, else "mjx".
        """
        if self.backend != "auto":
            return self.backend
        return "c" if self.mjx_fault or target_platform() == "cpu" else "mjx"

    @property
    def calls_host(self) -> bool:
        """True for the library."""
        return self.simulator == "c"

    @property
    def differentiable(self) -> bool | None:
        """False for the library; None for MJX, whose derivatives may be infinite where contacts begin."""
        return False if self.simulator == "c" else None

    @property
    def model(self) -> Model:
        """The compiled model."""
        return load_model(self.xml_file)

    @property
    def dt(self) -> float:
        """Simulated time of a step [s]."""
        return float(self.model.mjmodel.opt.timestep) * self.frame_skip

    @property
    def render_fps(self) -> float:
        """Steps in a second of simulated time, rounded as Gymnasium does."""
        return int(np.round(1.0 / self.dt))

    @property
    def action_names(self) -> tuple[str, ...]:
        """The joints that the actuators move, in words."""
        mjmodel = self.model.mjmodel
        moved = [mjmodel.actuator(index) for index in range(mjmodel.nu)]
        joints = [mjmodel.joint(int(one.trnid[0])).name if one.trntype[0] == 0 else "" for one in moved]
        pairs = zip(joints, moved, strict=True)
        return tuple(in_words(joint or one.name) or f"actuator {i}" for i, (joint, one) in enumerate(pairs))

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return keys for full control of one motor each."""
        return motor_keys(*self.model.ctrlrange)

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

    @property
    def action_space(self) -> Box:
        """The range of the controls."""
        return Box(*self.model.ctrlrange)

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
        return draw_model(self.model.mjmodel, state.qpos, self.view, self.size_scale)

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width, where MuJoCo draws or where they are not the defaults."""
        size = self.height, self.width
        return size if uses_opengl() or size != (DEFAULT_SIZE, DEFAULT_SIZE) else None

    def host_image(self, state: MujocoState, size: tuple[int, int]) -> NDArray | None:
        """Return MuJoCo's own image if the environment variable `MUJOCO_GL` says how to draw it, else None."""
        names = ("camera_id", "camera_name", "visual_options")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) is not None]
        if not uses_opengl():
            if given:
                warn_of_scene(given)
            return None
        camera = camera_number(self.model, self.camera_id, self.camera_name)
        config, options = self.default_camera_config or (), self.visual_options or ()
        shot = Shot(camera, config, self.view.follow, self.max_geom, options)
        return draw_image(self.xml_file, np.asarray(state.qpos, np.float64), shot, size)

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


def _hashable(config: Any) -> Any:
    """Return a dict of numbers and arrays as a tuple of pairs, so that compiled programs can be found by it."""
    if not isinstance(config, dict):
        return config
    return tuple(
        (name, tuple(np.asarray(value).tolist()) if np.ndim(value) else value) for name, value in config.items()
    )
