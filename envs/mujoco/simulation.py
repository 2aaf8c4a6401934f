"""MuJoCo's C library as two pure functions on the host: `advance` and `begin`, for a batch of environments each.

The physics of an environment is one row of 64-bit floats, carried as words: time, qpos, qvel, act, history and the warm
start of the solver, which is the part of MuJoCo's integration state that its environments change, and then the position
of the tracked point. Everything else in a simulation stays at the model's defaults.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any

import jax
import numpy as np

from funcenv.envs.mujoco.batch import Batch
from funcenv.envs.mujoco.model import import_mujoco, load_model
from funcenv.host import Pool
from funcenv.struct import NDArray

CONTACT_FORCES = "cfrc_ext"
# Fields of the model that a factor scales, for each factor of `Scales`.
SCALED_FIELDS = {
    "friction_scale": ("geom_friction",),
    "mass_scale": ("body_mass", "body_inertia"),
    "damping_scale": ("dof_damping",),
    "gear_scale": ("actuator_gear",),
    "gravity_scale": ("opt.gravity",),
    "size_scale": ("geom_size",),
}
_MIN_ENVS_PER_THREAD = 8
_MAX_SIMULATIONS = 128  # bound on a batch with contact forces; each one takes several MB of address space


@dataclasses.dataclass(frozen=True)
class Simulation:
    """A specification of a simulation and its outputs; equal ones share their batches.

    Args:
        xml_file: the model, as `load_model` finds it.
        frame_skip: the number of simulation steps in a step of the environment.
        outputs: fields of `mjData` that observations and rewards need beside qpos and qvel.
        tracked: the point whose way is measured: "" for the first two entries of qpos, "com" for the centre of mass, or
            the number of a body.
        num_threads: at most so many threads advance a batch; None for one on each CPU of this process.
    """

    xml_file: str
    frame_skip: int
    outputs: tuple[str, ...]
    tracked: str | int
    num_threads: int | None = None

    @property
    def num_numbers(self) -> int:
        """The length of a physics row."""
        size = load_model(self.xml_file).mjmodel
        num_carried = 1 + size.nq + 2 * size.nv + size.na + size.nhistory
        return num_carried if self.tracked == "" else num_carried + 2

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the outputs of one environment."""
        return _output_shapes(self.xml_file, self.outputs)


@functools.cache
def _output_shapes(xml_file: str, outputs: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    data = import_mujoco().MjData(load_model(xml_file).mjmodel)
    return {name: getattr(data, name).shape for name in outputs}


def advance(
    simulation: Simulation, out: dict[str, Any], physics: NDArray, action: NDArray, scales: NDArray | None = None
) -> None:
    """Perform one step of the environment in every row.

    Args:
        simulation: what is simulated.
        out: the results to write, by name: physics, the next words; qpos, qvel and the outputs, of any floats;
            displacement `[num, 2]`, the way of the tracked point; and unstable, whether the physics diverged. An
            unstable row keeps its physics.
        physics: the words of the physics rows, uint32 `[num, 2 * num_numbers]`.
        action: the controls, `[num, nu]`.
        scales: factors of the model's fields, in the order of `SCALED_FIELDS`, `[num, len(SCALED_FIELDS)]`; None for 1.
    """
    _in_batches(_Rows.advance, simulation, out, (physics.view(np.float64), action), scales)


def begin(
    simulation: Simulation, out: dict[str, Any], qpos: NDArray, qvel: NDArray, scales: NDArray | None = None
) -> None:
    """Write what `advance` writes for a simulation that was reset, and moved to these positions and velocities.

    An unstable row keeps these numbers, so that a step from it is unstable, too. Its outputs are those of the model's
    default pose.
    """
    _in_batches(_Rows.begin, simulation, out, (qpos, qvel), scales)


class _Rows:
    """A batch of simulations, and the parts of its rows as views."""

    def __init__(self, simulation: Simulation, num: int, is_scaled: bool) -> None:
        bits, self.model = import_mujoco().mjtState, load_model(simulation.xml_file).mjmodel
        self._tracked = simulation.tracked
        num_threads = default_threads(simulation.num_threads, num)
        read = set(simulation.outputs) | ({"": set(), "com": {"xipos"}}.get(str(self._tracked), {"xpos"}))
        self.batch = Batch(self.model, num, num_threads, tuple(sorted(read)), CONTACT_FORCES in read)
        state, columns = self.batch.state, self.batch.component
        qpos = columns(bits.mjSTATE_QPOS.value)
        self._qpos, self._qvel = state[:, qpos], state[:, columns(bits.mjSTATE_QVEL.value)]
        self._ctrl, self._frame_skip = state[:, columns(bits.mjSTATE_CTRL.value)], simulation.frame_skip
        self._num_carried = columns(bits.mjSTATE_WARMSTART.value).stop
        self._carried, self._place = state[:, : self._num_carried], self._qpos[:, :2]
        # The columns of a physics row that hold the tracked point.
        first = qpos.start if self._tracked == "" else self._num_carried
        self._places = slice(first, first + min(2, self._qpos.shape[1]))
        self._outputs = {
            name: self.batch.fields[name].reshape(num, *shape) for name, shape in simulation.shapes().items()
        }
        self._expanded = {}
        self._scales = np.ones((num, len(SCALED_FIELDS)))
        if is_scaled:
            names = (name for fields in SCALED_FIELDS.values() for name in fields)
            self._expanded = {name: (field, field.copy()) for name in names for field in [self.batch.expand(name)]}
        self._reset()

    def _reset(self) -> None:
        """Reset all simulations to the model's defaults, without computing anything; `Batch.forward` follows."""
        self.batch.reset()
        self.batch.silence()

    def scale(self, scales: NDArray) -> None:
        """Scale the fields of the models."""
        if np.array_equal(scales, self._scales):
            return
        for column, names in enumerate(SCALED_FIELDS.values()):
            for name in names:
                field, default = self._expanded[name]
                field[:] = default * scales[:, column, None]
        self.batch.set_const()
        self._scales = np.array(scales)

    def advance(self, out: dict[str, Any], before: NDArray, action: NDArray) -> None:
        """Step from the physics rows, and write what `advance` writes."""
        self._carried[:] = before if self._tracked == "" else before[:, : self._num_carried]
        self._ctrl[:] = action
        self.batch.step(self._frame_skip)
        point, displacement, unstable = self._point(), out["displacement"], self.batch.diverged()
        np.subtract(point, before[:, self._places], out=displacement[:, : point.shape[1]], casting="same_kind")
        if point.shape[1] < 2:
            displacement[:, 1] = 0
        if unstable is None:
            out["unstable"][:] = False
            self._write(out, point)
            return
        self._carried[unstable] = before[unstable, : self._num_carried]
        displacement[unstable], out["unstable"][:] = 0, unstable
        with np.errstate(over="ignore"):  # beyond the range of float32
            self._write(out, np.where(unstable[:, None], before[:, self._places], point))

    def begin(self, out: dict[str, Any], qpos: NDArray, qvel: NDArray) -> None:
        """Reset to these positions and velocities, and write what `begin` writes."""
        self._reset()
        self._qpos[:], self._qvel[:] = qpos, qvel
        self.batch.forward()
        unstable = self.batch.diverged()
        if unstable is not None:  # MuJoCo has moved these to the model's default pose.
            self._qpos[unstable], self._qvel[unstable] = qpos[unstable], qvel[unstable]
        out["displacement"][:], out["unstable"][:] = 0, unstable is not None and unstable
        self._write(out, self._point())

    def _write(self, out: dict[str, Any], point: NDArray) -> None:
        physics = out["physics"].view(np.float64)
        if self._tracked == "":
            physics[:] = self._carried
        else:
            physics[:, : self._num_carried], physics[:, self._num_carried :] = self._carried, point
        out["qpos"][:], out["qvel"][:] = self._qpos, self._qvel
        for name, values in self._outputs.items():
            out["outputs"][name][:] = values

    def _point(self) -> NDArray:
        """Return the position of the tracked point, `[num, 2]`, or less if the model has fewer joints."""
        num, fields = self.batch.num, self.batch.fields
        if self._tracked == "":
            return self._place
        if self._tracked != "com":
            return fields["xpos"].reshape(num, -1, 3)[:, int(self._tracked), :2]
        mass = self.model.body_mass
        weighted = np.einsum("b,nbj->nj", mass, fields["xipos"].reshape(num, -1, 3))
        return (weighted / mass.sum())[:, :2]


def _in_batches(
    method: Any, simulation: Simulation, out: dict[str, Any], rows: tuple[NDArray, NDArray], scales: NDArray | None
) -> None:
    """Call a method of `_Rows` for batches of suitable sizes."""
    num = len(rows[0])
    if num > _MAX_SIMULATIONS and CONTACT_FORCES in simulation.outputs:
        for start in range(0, num, _MAX_SIMULATIONS):
            part = slice(start, start + _MAX_SIMULATIONS)
            parts: Any = jax.tree.map(lambda leaf, part=part: leaf[part], (out, rows, scales))
            _in_batches(method, simulation, *parts)
        return
    with _batches.borrow(simulation, num, scales is not None) as batch:
        if scales is not None:
            batch.scale(scales)
        method(batch, out, *rows)


def default_threads(num_threads: int | None, num_envs: int) -> int:
    """Return how many threads advance a batch: at most `num_threads`, or one on each CPU, if each has enough to do."""
    return max(1, min(num_threads or _num_cpus(), num_envs // _MIN_ENVS_PER_THREAD))


def _num_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_batches: Pool[_Rows] = Pool(_Rows, max_idle=16)
