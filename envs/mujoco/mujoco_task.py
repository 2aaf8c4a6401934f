"""Anybody's MuJoCo model as a pure environment: the base of tasks whose rules read named data.

A task is a model, and rules over a `TaskState`: where episodes start, what is observed, what is rewarded, and what ends
an episode. The rules do not know which backend computes the physics, as those of `MujocoEnv`.
"""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, UInt

from funcenv._jax import Shape, uses_64_bits
from funcenv.checks import require_size
from funcenv.envs.mujoco import task_mjx, task_simulation
from funcenv.envs.mujoco.mjcf import compile_mjcf
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_scene import draw_model
from funcenv.envs.mujoco.named_data import NamedData, element_id, joint_columns
from funcenv.envs.mujoco.simulated_env import SimulatedEnv
from funcenv.envs.mujoco.task_simulation import INPUTS, TaskSimulation, output_shapes
from funcenv.host import host_call
from funcenv.scene import Scene
from funcenv.spaces import Box, Dict
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray, PyTreeNode, field


class Start(PyTreeNode):
    """The start of an episode. What is None is the model's own: its pose at rest, without activation."""

    qpos: Any = None  # positions of the joints, `[nq]`
    qvel: Any = None  # velocities of the joints, `[nv]`
    act: Any = None  # activations of the actuators, `[na]`
    variables: Any = None  # numbers of the task that hold for the episode, such as the place of a target


class TaskState(PyTreeNode):
    """The physics of a model, and what the rules of a task read from it."""

    physics: UInt[Array, "words"] | Float[Array, "numbers"]  # the whole state: bits of 64-bit floats ("c"), or floats
    qpos: Float[Array, "nq"]  # positions of the joints [m, rad], quaternions of ball and free joints
    qvel: Float[Array, "nv"]  # velocities of the joints [m/s, rad/s]
    unstable: Bool[Array, ""]  # the simulation diverged in the last step, which therefore left the physics as it was
    outputs: dict[str, Array]  # fields of `mjData` that the task reads, by name
    variables: Any  # numbers of the task that hold for the episode


class MujocoTask(SimulatedEnv[TaskState, Any]):
    """A task for a MuJoCo model of your own.

    A subclass gives the model, as XML text, the path of a file, a `mujoco.MjSpec` or a `mujoco.MjModel`; it names in
    `reads` the fields of `mujoco.MjData` that its rules need beside `qpos` and `qvel`; and it defines `observation` and
    `reward`. It may define `start`, `terminal`, `control` and `model_changes`. `data(state)` has the numbers by the
    names of the model's elements.

    Steps are those of dm_control: what `data` tells of positions and velocities belongs to the state after the step,
    and what it tells of forces and accelerations, to its last simulation step. With `is_synchronized = False` all of it
    is as MuJoCo's `mj_step` leaves it, which is what Gymnasium's environments observe, and resets are Gymnasium's, too.

    Observation: what `observation` returns, an array or a dict of arrays. The space follows from it: numbers without
        bounds.

    Action: float32 `[nu]`: the controls of the actuators, within their ranges; those without limits are unbounded.

    Termination: the simulation diverges. A subclass that defines `terminal` keeps `state.unstable |` in it.

    Initial state: the model's own pose at rest, unless `start` says otherwise.

    Raises:
        ImportError: MuJoCo is not installed, or in another version than 3.17.
        FileNotFoundError: there is no such file.
        ValueError: MuJoCo cannot compile the model, whose message is passed on; `mjData` has no field that `reads`
            names; or MJX cannot simulate the model.

    >>> import funcenv, jax.numpy as jnp
    >>> from funcenv.envs import MujocoTask
    >>> class Swing(MujocoTask):
    ...     mjcf = '''<mujoco>
    ...       <worldbody><body pos="0 0 1">
    ...         <joint name="hinge" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 0 0 -.5"/>
    ...         <site name="tip" pos="0 0 -.5"/>
    ...       </body></worldbody>
    ...       <actuator><motor name="motor" joint="hinge" ctrlrange="-1 1" ctrllimited="true"/></actuator>
    ...     </mujoco>'''
    ...     reads = ("site_xpos",)
    ...     def observation(self, state, key):
    ...         return jnp.concatenate([state.qpos, state.qvel])
    ...     def reward(self, state, action, next_state):
    ...         return self.data(next_state).site("tip").xpos[2]
    >>> env = Swing(frame_skip=5)
    >>> env.observation_space.shape, env.action_space.shape
    ((2,), (1,))
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, jnp.array([1.0]), funcenv.key(1))
    >>> round(float(timestep.reward), 3)
    0.5
    >>> env.data(state).site("tap")
    Traceback (most recent call last):
        ...
    ValueError: the model of Swing has no site 'tap'; did you mean 'tip'? Its sites are 'tip'
    """

    frame_skip: int = field(pytree_node=False, default=1)  # simulation steps in a step of the environment
    model_source: Any = field(pytree_node=False, default=None, kw_only=True)  # a model in place of the task's own

    mjcf: ClassVar[Any] = None  # the model: XML text, a path, an MjSpec or an MjModel
    reads: ClassVar[tuple[str, ...]] = ()  # fields of `mjData` that the rules read beside qpos and qvel
    is_synchronized: ClassVar[bool] = True  # true for data of the new state, false for that of the last simulation step
    max_speed: ClassVar[float | None] = None  # size to which velocities are clipped before each step [m/s, rad/s]
    held_joints: ClassVar[tuple[str, ...]] = ()  # hinges and slides that each step puts back to 0
    is_contact_free: ClassVar[bool] = False  # true if starts with contacts are drawn again
    num_starts: ClassVar[int] = 16  # starts that are drawn then; the last one is taken if all have contacts
    shares_variables: ClassVar[bool] = False  # true if all starts that are drawn for an episode have equal variables
    num_settling: ClassVar[int] = 0  # simulation steps before an episode begins
    computed_fields: ClassVar[tuple[tuple[str, Any], ...]] = ()  # fields of the model, each with a host function
    drawn_sites: ClassVar[tuple[str, ...]] = ()  # sites that `scene` shows as discs

    def __post_init__(self) -> None:
        require_size("frame_skip", self.frame_skip)
        if self.model_source is not None:
            object.__setattr__(self, "model_source", compile_mjcf(self.model_source, _model_name(type(self))))
        output_shapes(self.source, self.reads)
        _ = self._held
        self.check_simulation()

    @property
    def source(self) -> CompiledModel:
        """The compiled model: `model_source`, or the task's own."""
        given: CompiledModel | None = self.model_source
        return given or self.own_model()

    def own_model(self) -> CompiledModel:
        """Return the model of the class; a class with several ones overrides this."""
        cls: Any = type(self)
        return _compiled(cls)

    @property
    def dt(self) -> float:
        """Simulated time of a step [s]."""
        return float(self.model.mjmodel.opt.timestep) * self.frame_skip

    @property
    def init_qpos(self) -> Float[Array, "nq"]:
        """The positions of the joints in the model's own pose."""
        return jnp.asarray(self.model.init_qpos, float)

    def data(self, state: TaskState) -> NamedData:
        """Return the numbers of a state by the names of the model's elements."""
        return NamedData(self.model, {"qpos": state.qpos, "qvel": state.qvel, **state.outputs})

    def positions(self, joints: dict[str, Any]) -> Float[Array, "nq"]:
        """Return the model's own positions with some joints moved: angles [rad], ways [m], quaternions.

        Raises:
            ValueError: the model has no such joint.
        """
        return self._with_joints(self.init_qpos, joints, "qpos")

    def velocities(self, joints: dict[str, Any]) -> Float[Array, "nv"]:
        """Return velocities: those of the named joints [rad/s, m/s], and zeros.

        Raises:
            ValueError: the model has no such joint.
        """
        return self._with_joints(jnp.zeros(self.model.mjmodel.nv, float), joints, "dof")

    def _with_joints(self, numbers: jax.Array, joints: dict[str, Any], kind: str) -> jax.Array:
        for name, values in joints.items():
            columns = joint_columns(self.model.mjmodel, element_id(self.model, "joint", name), kind)
            numbers = numbers.at[columns].set(values)
        return numbers

    def start(self, key: jax.Array) -> Start:
        """Return where an episode starts; by default in the model's own pose, at rest."""
        del key
        return Start()

    def control(self, state: TaskState, action: Float[Array, "nu"]) -> Any:
        """Return the controls of the actuators for a step; by default the action.

        A dict has inputs by the names of `mjData`: `ctrl` `[nu]`, `qfrc_applied` `[nv]`, `xfrc_applied` `[nbody, 6]`,
        `mocap_pos` `[nmocap, 3]` and `mocap_quat` `[nmocap, 4]`. What it leaves out is the model's own.
        """
        del state
        return action

    def changed_field(self, name: str, where: Any, values: Any) -> dict[str, Array]:
        """Return a field of the model with some numbers changed, for `model_changes`.

        Args:
            name: a field of `mujoco.MjModel`, such as "geom_pos".
            where: an index of its rows, such as `self.model.mjmodel.geom("target").id`, or a tuple of indices.
            values: the new numbers; they broadcast.

        >>> from funcenv.envs import SuiteReacher
        >>> SuiteReacher().changed_field("geom_pos", (0, slice(2)), 0.5)["geom_pos"][0].tolist()
        [0.5, 0.5, 0.0]
        """
        own = jnp.asarray(getattr(self.model.mjmodel, name), float)
        return {name: own.at[where].set(jnp.asarray(values, float))}

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return fields of `mujoco.MjModel` that this environment has otherwise, by name; none by default.

        They may depend on parameters of the environment, which then may be batched, and on the variables of an episode.
        A function that `computed_fields` pairs with a field computes it from what is returned here, in NumPy and only
        where that is new, so that a terrain of many heights need not be a part of the state. Set `mjx_fault` then.

        Args:
            variables: those of the episode.
        """
        del variables
        return {}

    def initial(self, key: jax.Array) -> TaskState:
        """Return the state at the start of an episode."""
        return (
            self._begin(jax.vmap(self._filled)(self.starts(key)))
            if self.is_contact_free
            else self.state_at(self.start(key))
        )

    def starts(self, key: jax.Array) -> Start:
        """Return `num_starts` starts, of which an episode takes the first one without contacts."""
        return jax.vmap(self.start)(jax.random.split(key, self.num_starts))

    def state_at(self, start: Start) -> TaskState:
        """Return the state of an episode that starts there."""
        return self._begin(jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], self._filled(start)))

    def transition(self, state: TaskState, action: Float[Array, "nu"], key: jax.Array) -> TaskState:
        """Simulate `frame_skip` steps with constant inputs."""
        del key
        inputs, changes = self._inputs(state, action), self.model_changes(state.variables)
        fields = self._call("advance", changes, state.physics, inputs)
        return TaskState(**fields, variables=state.variables)

    def terminal(self, state: TaskState) -> Bool[Array, ""]:
        """Return whether the simulation diverged."""
        return state.unstable

    def state_info(self, state: TaskState) -> dict[str, Any]:
        """Return whether the simulation diverged."""
        return {"unstable": state.unstable}

    @property
    def action_space(self) -> Box:
        """The ranges of the controls; unbounded for actuators without limits."""
        is_limited, (low, high) = self.model.mjmodel.actuator_ctrllimited.astype(bool), self.model.ctrlrange
        return Box(np.where(is_limited, low, -math.inf), np.where(is_limited, high, math.inf))

    @property
    def observation_space(self) -> AnySpace:
        """Unbounded numbers, in the shape of what `observation` returns."""
        kind = jax.tree.structure(self), uses_64_bits()
        if kind not in _spaces:
            _spaces[kind] = self._observed_space()
        return _spaces[kind]

    def _observed_space(self) -> AnySpace:
        order: list[str] = []

        def observe() -> Any:
            found = self.observation(self.initial(jax.random.key(0)), jax.random.key(0))
            order.extend(found if isinstance(found, dict) else ())
            return found

        with jax.enable_x64(True):  # where the dtypes of the observation are those that it asks for
            found = jax.eval_shape(observe)
        if isinstance(found, dict):
            return Dict(OrderedDict((name, self._box(name, found[name])) for name in order))
        return self._box("the observation", found)

    def _box(self, name: str, shape: Any) -> Box:
        if not hasattr(shape, "dtype") or not jnp.issubdtype(shape.dtype, jnp.floating):
            raise TypeError(
                f"{name} of {type(self).__name__} must be an array of floats, got {shape}; define observation_space"
            )
        return Box(-jnp.inf, jnp.inf, shape.shape, np.dtype(shape.dtype))

    def scene(self, state: TaskState) -> Scene:
        """Draw the geoms of the model, from a side or from above."""
        return draw_model(
            self.model.mjmodel, state.qpos, self.scene_view, changes=self.changes_of(state), sites=self.drawn_sites
        )

    def changes_of(self, state: TaskState) -> dict[str, Any]:
        """Return `model_changes` for a state, whose variables may have another precision than the present one."""
        return self.model_changes(jax.tree.map(_in_present_precision, state.variables))

    def drawn_changes(self, state: TaskState) -> dict[str, NDArray]:
        """Return the fields of the model that an image of this state has otherwise."""
        functions, changes = dict(self.computed_fields), self.changes_of(state)
        return {name: functions.get(name, np.asarray)(np.asarray(value)) for name, value in changes.items()}

    def _filled(self, start: Start) -> Start:
        """Return a start without None, in arrays of the right shape."""
        mjmodel = self.model.mjmodel
        own = {"qpos": self.model.init_qpos, "qvel": np.zeros(mjmodel.nv), "act": np.zeros(mjmodel.na)}
        filled = {}
        for name, default in own.items():
            value = getattr(start, name)
            filled[name] = jnp.asarray(default if value is None else value, float)
            if filled[name].shape != default.shape:
                shapes = f"{list(filled[name].shape)} instead of {list(default.shape)}"
                raise ValueError(f"start of {type(self).__name__} returned {name} of shape {shapes}; correct it")
        return Start(**filled, variables=start.variables)

    def _begin(self, starts: Start) -> TaskState:
        """Return the state of an episode with one of these starts, stacked along the first axis."""
        variables = starts.variables
        if self.shares_variables:
            variables = jax.tree.map(lambda leaf: leaf[:1], variables)
        num_changes = 1 if self.shares_variables else len(starts.qpos)
        changes = jax.vmap(self.model_changes, axis_size=num_changes)(variables)
        fields = self._call("begin", changes, starts.qpos, starts.qvel, starts.act)
        chosen = fields.pop("chosen")
        return TaskState(**fields, variables=jax.tree.map(lambda leaf: leaf[chosen], starts.variables))

    def _inputs(self, state: TaskState, action: jax.Array) -> dict[str, jax.Array]:
        """Return the inputs of a step, checked."""
        found = self.control(state, action)
        named = found if isinstance(found, dict) else {"ctrl": found}
        inputs = {name: jnp.asarray(value) for name, value in named.items()}
        shapes = _input_shapes(self.source)
        for name, value in inputs.items():
            if name not in shapes:
                known = ", ".join(shapes)
                raise ValueError(f"control of {type(self).__name__} returned {name!r}; it may return {known}")
            if value.shape != shapes[name]:
                wrong = f"{list(value.shape)} instead of {list(shapes[name])}"
                raise ValueError(f"control of {type(self).__name__} returned {name} of shape {wrong}; correct it")
        return inputs

    def _call(self, function: str, changes: dict[str, Any], *args: Any) -> dict[str, Any]:
        """Call `advance` or `begin` of the simulator, with changes of the model."""
        unknown = [name for name, _ in self.computed_fields if name not in changes]
        if unknown:
            raise ValueError(
                f"model_changes of {type(self).__name__} must return {unknown[0]!r}, which is computed; add it"
            )
        simulated = TaskSimulation(
            source=self.source,
            frame_skip=self.frame_skip,
            outputs=self.reads,
            changed=tuple(sorted(changes)),
            computed=self.computed_fields,
            is_synchronized=self.is_synchronized,
            is_contact_free=self.is_contact_free,
            num_settling=self.num_settling,
            num_threads=self.num_threads,
            max_speed=self.max_speed,
            held=self._held,
        )
        if self.simulator == "mjx":
            fields: dict[str, Any] = getattr(task_mjx, function)(simulated, *args, changes)
            return fields
        called = functools.partial(getattr(task_simulation, function), simulated)
        answer: dict[str, Any] = host_call(
            called, self._shapes(simulated, function == "begin"), *args, changes, fills=True
        )
        return answer

    @property
    def _held(self) -> tuple[int, ...]:
        """The entries of qpos that belong to `held_joints`."""
        columns = []
        for name in self.held_joints:
            where = joint_columns(self.model.mjmodel, element_id(self.model, "joint", name), "qpos")
            if where.stop - where.start != 1:
                raise ValueError(f"held_joints names {name!r}, which is no hinge or slide; leave it out")
            columns.append(where.start)
        return tuple(columns)

    def _shapes(self, simulated: TaskSimulation, is_start: bool) -> dict[str, Any]:
        """Return the shapes and dtypes that the C library computes."""
        mjmodel = self.model.mjmodel
        shape = functools.partial(Shape, dtype=jnp.zeros((), float).dtype)
        of_outputs = output_shapes(simulated.source, simulated.outputs)
        shapes = {
            "physics": Shape((2 * simulated.num_numbers,), np.uint32),
            "qpos": shape((mjmodel.nq,)),
            "qvel": shape((mjmodel.nv,)),
            "unstable": Shape((), np.bool_),
            "outputs": {name: shape(of_one) for name, of_one in of_outputs.items()},
        }
        return {**shapes, "chosen": Shape((), np.int32)} if is_start else shapes


_spaces: dict[Any, AnySpace] = {}  # observation spaces by the structure of the environment, and the precision


@functools.cache
def _compiled(cls: Any) -> CompiledModel:
    """Return the model of a class, compiled once."""
    if cls.mjcf is None:
        raise ValueError(f"{cls.__name__} has no model; set mjcf in the class, or pass model_source")
    return compile_mjcf(cls.mjcf, _model_name(cls))


def _in_present_precision(leaf: Any) -> jax.Array:
    return jnp.asarray(leaf, float if jnp.issubdtype(jnp.result_type(leaf), jnp.floating) else None)


def _model_name(cls: Any) -> str:
    return f"the model of {cls.__name__}"


@functools.cache
def _input_shapes(source: CompiledModel) -> dict[str, tuple[int, ...]]:
    size = source.mjmodel
    shapes = (size.nu,), (size.nv,), (size.nbody, 6), (size.nmocap, 3), (size.nmocap, 4)
    return {name: tuple(map(int, shape)) for name, shape in zip(INPUTS, shapes, strict=True)}
