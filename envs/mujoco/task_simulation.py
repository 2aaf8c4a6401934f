"""The simulations of `MujocoTask` in MuJoCo's C library: `advance` and `begin`, for a batch of environments each.

A physics row holds time, qpos, qvel, act, history and the warm start of the solver. Controls, forces and mocap bodies
are inputs of every step, and changed fields of the model are those of every call, so the row is all that remains.

Steps and resets are those of dm_control (`dm_control/mujoco/engine.py`; Tassa et al., "dm_control: Software and Tasks
for Continuous Control", 2020, section 3). It ends a step with `mj_step1`, so that positions, velocities and what
follows from them belong to the new state, while forces and accelerations belong to the last simulation step. A reset
computes the model's own pose first, then the start of the episode, both without actuation. A simulation that is not
synchronized has Gymnasium's steps and resets instead: data is as `mj_step` leaves it, and a reset computes the start of
the episode alone, with actuation.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.envs.mujoco.batch import NO_STAGE, POSITIONS_AND_VELOCITIES, Batch
from funcenv.envs.mujoco.model import CompiledModel, import_mujoco, load_model
from funcenv.envs.mujoco.simulation import default_threads
from funcenv.host import Pool
from funcenv.struct import NDArray

CONTACT_FIELDS = ("cacc", "cfrc_int", "cfrc_ext")  # computed by mj_rnePostConstraint
# Inputs of a step and the components of MuJoCo's state that hold them.
INPUTS = {
    "ctrl": "mjSTATE_CTRL",
    "qfrc_applied": "mjSTATE_QFRC_APPLIED",
    "xfrc_applied": "mjSTATE_XFRC_APPLIED",
    "mocap_pos": "mjSTATE_MOCAP_POS",
    "mocap_quat": "mjSTATE_MOCAP_QUAT",
}
# Fields of `mjData` that are parts of MuJoCo's state, and no outputs of a batch.
_IN_STATE = {"act": "mjSTATE_ACT", **INPUTS}
# Fields of the model from which `mj_setConst` computes others.
_SOURCES_OF_CONSTANTS = ("body_mass", "body_inertia", "body_ipos", "body_iquat", "dof_armature", "qpos0")


@dataclasses.dataclass(frozen=True)
class TaskSimulation:
    """A specification of a simulation; equal ones share their batches.

    Args:
        source: the model.
        frame_skip: the number of simulation steps in a step of the environment.
        outputs: fields of `mjData` that the rules read beside qpos and qvel.
        changed: fields of the model whose values are arguments.
        computed: functions that compute some of those fields from the arguments, by name.
        is_synchronized: whether positions and velocities in `outputs` are those of the new state, as dm_control's, or
            as the last simulation step left them, as Gymnasium's. Resets are dm_control's or Gymnasium's, too.
        is_contact_free: whether episodes begin without contacts.
        num_settling: the number of simulation steps that an episode begins with.
        num_threads: at most so many threads advance a batch; None for one on each CPU of this process.
        max_speed: velocities are clipped to this size before each step of the environment; None for no limit.
        held: entries of qpos that are 0 after each step of the environment; then all data belong to the new state.
    """

    source: CompiledModel
    frame_skip: int
    outputs: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    computed: tuple[tuple[str, Callable[[NDArray], NDArray]], ...] = ()
    is_synchronized: bool = True
    is_contact_free: bool = False
    num_settling: int = 0
    num_threads: int | None = None
    max_speed: float | None = None
    held: tuple[int, ...] = ()

    @property
    def num_numbers(self) -> int:
        """The length of a physics row."""
        size = self.source.mjmodel
        return int(1 + size.nq + 2 * size.nv + size.na + size.nhistory)


def advance(
    simulation: TaskSimulation,
    out: dict[str, Any],
    physics: NDArray,
    inputs: dict[str, NDArray],
    changes: dict[str, NDArray],
) -> None:
    """Perform one step of the environment in every row.

    Args:
        simulation: what is simulated.
        out: the results to write, by name: physics, the next words; qpos, qvel and the outputs, of any floats; and
            unstable, whether the physics diverged. An unstable row keeps its physics.
        physics: the words of the physics rows, uint32 `[num, 2 * num_numbers]`.
        inputs: by name in `INPUTS`, `[num, ...]`.
        changes: values of the changed fields of the model, `[num, ...]`.
    """
    before = physics.view(np.float64)
    with _batches.borrow(simulation, len(before)) as rows:
        rows.advance(out, before, inputs, changes)


def begin(
    simulation: TaskSimulation,
    out: dict[str, Any],
    qpos: NDArray,
    qvel: NDArray,
    act: NDArray,
    changes: dict[str, NDArray],
) -> None:
    """Begin an episode in every row.

    Args:
        simulation: what is simulated.
        out: the results to write: those of `advance`, and chosen, the number of the start that was taken.
        qpos: positions of the starts, `[num, starts, nq]`. The first start without contacts is taken if the simulation
            says so, or the last one if all have some.
        qvel: velocities of the starts, `[num, starts, nv]`.
        act: activations of the starts, `[num, starts, na]`.
        changes: values of the changed fields of the model, `[num, starts, ...]`, or `[num, 1, ...]` for all starts.
    """
    with _batches.borrow(simulation, len(qpos)) as rows:
        rows.begin(out, qpos, qvel, act, changes)


class _Simulations:
    """A batch, and the parts of its rows as views."""

    def __init__(self, simulation: TaskSimulation, mjmodel: Any, num: int, persistent: bool) -> None:
        bits, outputs = import_mujoco().mjtState, {"ncon", *simulation.outputs} - set(_IN_STATE)
        contact_forces = not persistent and bool(set(CONTACT_FIELDS) & outputs)
        num_threads = default_threads(simulation.num_threads, num)
        self.batch = Batch(mjmodel, num, num_threads, tuple(sorted(outputs)), contact_forces, persistent)
        state, columns = self.batch.state, self.batch.component
        in_state = {name: state[:, columns(getattr(bits, bit).value)] for name, bit in _IN_STATE.items()}
        self.qpos, self.qvel = (state[:, columns(bit.value)] for bit in (bits.mjSTATE_QPOS, bits.mjSTATE_QVEL))
        self.act, self.time, self.fields = in_state["act"], state[:, :1], {**self.batch.fields, **in_state}
        self.carried = state[:, : columns(bits.mjSTATE_WARMSTART.value).stop]
        self.inputs = {name: in_state[name] for name in INPUTS}
        self._models = _OwnModels(self.batch, mjmodel, simulation) if simulation.computed else None
        expanded = () if self._models else simulation.changed
        self.changed = {name: self.batch.expand(name) for name in expanded}
        self._own = {name: field[:1].copy() for name, field in self.changed.items()}
        self._has_constants = bool(set(_SOURCES_OF_CONSTANTS) & set(expanded))
        self.batch.reset()
        self.batch.silence()

    def change(self, changes: dict[str, NDArray], rows: Any = slice(None)) -> None:
        """Change fields of the models of some rows."""
        if self._models:
            self._models.change(changes, rows)
        same = True
        for name, field in self.changed.items():
            values = _widened(changes[name].reshape(-1, field.shape[1]), self._own[name])
            if self._has_constants:
                same = same and np.array_equal(field[rows], values)
            field[rows] = values
        if self._has_constants and not same:
            self.batch.set_const()


class _OwnModels:
    """A model for each row, for fields that are computed, which those of a batch cannot be."""

    def __init__(self, batch: Batch, mjmodel: Any, simulation: TaskSimulation) -> None:
        self._names, self._functions, self._own = simulation.changed, dict(simulation.computed), mjmodel
        self._models = [copy.copy(mjmodel) for _ in range(batch.num)]
        self._given: dict[str, NDArray] = {}  # arguments that the fields were computed from, by name
        self._data = import_mujoco().MjData(mjmodel)  # memory for constants
        batch.set_models(self._models)

    def change(self, changes: dict[str, NDArray], rows: Any) -> None:
        """Compute the fields of those rows whose arguments are new."""
        numbers, stale = np.arange(len(self._models))[rows], set()
        for name in self._names:
            values = changes[name].reshape(len(numbers), -1)
            given = self._given.setdefault(name, np.full((len(self._models), values.shape[1]), np.nan))
            for row in np.flatnonzero(np.any(given[numbers] != values, axis=1)):
                self._write(name, self._models[numbers[row]], changes[name][row])
                if name in _SOURCES_OF_CONSTANTS:
                    stale.add(numbers[row])
            given[numbers] = values
        for number in stale:
            import_mujoco().mj_setConst(self._models[number], self._data)

    def _write(self, name: str, mjmodel: Any, values: NDArray) -> None:
        field, compute = _field(mjmodel, name), self._functions.get(name)
        found = compute(values) if compute else _widened(values, _field(self._own, name).reshape(values.shape))
        if found.size != field.size:
            raise ValueError(f"{name} of the model has {field.size} numbers, got {found.size}; compute as many")
        field[:] = found.reshape(field.shape)


def _field(mjmodel: Any, name: str) -> NDArray:
    found: NDArray = functools.reduce(getattr, name.split("."), mjmodel)
    return found


def _widened(values: NDArray, own: NDArray) -> NDArray:
    """Return numbers of a field in 64 bits: the model's own ones where they differ by rounding alone.

    Without 64-bit floats a program rounds a whole field, of which it changes a few numbers.
    """
    wide = np.asarray(values, np.float64)
    return wide if values.dtype == np.float64 else np.where(values == own.astype(values.dtype), own, wide)


class _Rows:
    """The batches of one simulation: one that steps, and one that begins episodes."""

    def __init__(self, simulation: TaskSimulation, num: int) -> None:
        self._simulation, self.num = simulation, num
        self._shapes = output_shapes(simulation.source, simulation.outputs)

    @functools.cached_property
    def _steps(self) -> _Simulations:
        return _Simulations(self._simulation, self._simulation.source.mjmodel, self.num, persistent=False)

    @functools.cached_property
    def _begins(self) -> _Simulations:
        mjmodel = copy.copy(self._simulation.source.mjmodel)
        if self._simulation.is_synchronized:
            mjmodel.opt.disableflags |= int(import_mujoco().mjtDisableBit.mjDSBL_ACTUATION)
        return _Simulations(self._simulation, mjmodel, self.num, persistent=self._simulation.num_settling > 0)

    def advance(
        self, out: dict[str, Any], before: NDArray, inputs: dict[str, NDArray], changes: dict[str, NDArray]
    ) -> None:
        """Step from the physics rows."""
        rows = self._steps
        rows.change(changes)
        rows.carried[:] = before
        for name, values in inputs.items():
            rows.inputs[name][:] = values.reshape(self.num, -1)
        if self._simulation.max_speed is not None:
            np.clip(rows.qvel, -self._simulation.max_speed, self._simulation.max_speed, out=rows.qvel)
        stage = POSITIONS_AND_VELOCITIES if self._simulation.is_synchronized else NO_STAGE
        rows.batch.step(self._simulation.frame_skip, stage)
        if self._simulation.held:
            rows.qpos[:, self._simulation.held] = 0.0
            rows.batch.forward()
        unstable = rows.batch.diverged()
        if unstable is not None:
            rows.carried[unstable] = before[unstable]
        self._write(rows, out, unstable)

    def begin(
        self, out: dict[str, Any], qpos: NDArray, qvel: NDArray, act: NDArray, changes: dict[str, NDArray]
    ) -> None:
        """Reset all simulations, and move them to their starts."""
        rows, everyone = self._begins, np.arange(self.num)
        chosen = np.zeros(self.num, np.int32)
        rows.batch.reset()
        rows.batch.silence()

        def move(who: NDArray, start: int) -> None:
            rows.change({name: values[who, min(start, values.shape[1] - 1)] for name, values in changes.items()}, who)
            rows.qpos[who], rows.qvel[who], rows.act[who] = qpos[who, start], qvel[who, start], act[who, start]
            chosen[who] = start

        rows.change({name: values[:, 0] for name, values in changes.items()})
        if self._simulation.is_synchronized:
            rows.batch.forward()
        if self._simulation.is_contact_free:
            pending = everyone
            for start in range(qpos.shape[1]):
                move(pending, start)
                rows.batch.forward(pending)
                pending = pending[rows.batch.fields["ncon"][pending, 0] > 0]
                if not len(pending):
                    break
        else:
            move(everyone, 0)
        if self._simulation.num_settling:
            rows.batch.finish_step()
            if self._simulation.num_settling > 1:
                rows.batch.step(self._simulation.num_settling - 1)
            rows.time[:] = 0.0
        rows.batch.forward()
        unstable = rows.batch.diverged()
        if unstable is not None:  # MuJoCo has moved these to the model's default pose.
            who = np.flatnonzero(unstable)
            rows.qpos[who], rows.qvel[who] = qpos[who, chosen[who]], qvel[who, chosen[who]]
        out["chosen"][:] = chosen
        self._write(rows, out, unstable)

    def _write(self, rows: _Simulations, out: dict[str, Any], unstable: NDArray | None) -> None:
        out["unstable"][:] = unstable is not None and unstable
        out["physics"].view(np.float64)[:] = rows.carried
        with np.errstate(over="ignore"):  # beyond the range of float32
            out["qpos"][:], out["qvel"][:] = rows.qpos, rows.qvel
            for name, shape in self._shapes.items():
                out["outputs"][name][:] = rows.fields[name].reshape(self.num, *shape)


@functools.cache
def output_shapes(source: CompiledModel, outputs: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the outputs of one environment.

    Raises:
        ValueError: `mjData` has no such array of floats.
    """
    data = import_mujoco().MjData(load_model(source).mjmodel)
    shapes = {}
    for name in outputs:
        value = getattr(data, name, None)
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            raise ValueError(f"reads names {name!r}, and MuJoCo's mjData has no such array of floats; name another one")
        shapes[name] = value.shape
    Batch(source.mjmodel, 1, 1, tuple(set(outputs) - set(_IN_STATE)), contact_forces=False)  # refuses other fields
    return shapes


_batches: Pool[_Rows] = Pool(_Rows, max_idle=16)
