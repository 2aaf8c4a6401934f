"""MuJoCo's C library as two pure functions on the host: `advance` and `begin`, for a batch of environments each.

The physics of an environment is one row of 64-bit floats, carried as words: time, qpos, qvel, act, history and the warm
start of the solver, which is the part of MuJoCo's integration state that its environments change, and then the position
of the tracked point. Everything else in a simulation stays at the model's defaults.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from typing import Any

import jax
import numpy as np

from funcenv.envs.mujoco.batch import Batch
from funcenv.envs.mujoco.model import import_mujoco, load_model
from funcenv.host import Pool, from_words
from funcenv.struct import NDArray

CONTACT_FORCES = "cfrc_ext"
# Fields of the model that a factor scales, for each factor of `Scales`.
SCALED_FIELDS = {
    "friction_scale": ("geom_friction",),
    "mass_scale": ("body_mass", "body_inertia"),
    "damping_scale": ("dof_damping",),
    "gear_scale": ("actuator_gear",),
    "gravity_scale": ("opt.gravity",),
}
_MIN_ENVS_PER_THREAD = 8
_MAX_SIMULATIONS = 128  # of a batch with contact forces, in which every simulation has several MB of address space
_UNSTABLE = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC")


@dataclasses.dataclass(frozen=True)
class Simulation:
    """What is simulated and what is read from it; equal ones share their batches.

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
    simulation: Simulation, dtype: np.dtype[Any], physics: NDArray, action: NDArray, scales: NDArray
) -> dict[str, Any]:
    """Perform one step of the environment in every row.

    Args:
        simulation: what is simulated.
        dtype: of the floats in the result.
        physics: the words of the physics rows, uint32 `[num, 2 * num_numbers]`.
        action: the controls, `[num, nu]`.
        scales: factors of the model's fields, in the order of `SCALED_FIELDS`, `[num, 5]`.

    Returns:
        By name: physics, the next words; qpos, qvel and the outputs, in `dtype`; displacement `[num, 2]`, the way of
        the tracked point; and unstable, whether the physics diverged. An unstable row keeps its physics.
    """
    rows = from_words(physics)

    def run(batch: _Rows, part: slice) -> None:
        batch.load(rows[part], scales[part])
        batch.batch.state[:, batch.ctrl] = action[part]
        batch.batch.step(simulation.frame_skip)

    return _run(simulation, dtype, run, rows, scales)


def begin(
    simulation: Simulation, dtype: np.dtype[Any], qpos: NDArray, qvel: NDArray, scales: NDArray
) -> dict[str, Any]:
    """Return what `advance` returns for a simulation that was reset, and moved to these positions and velocities."""

    def run(batch: _Rows, part: slice) -> None:
        batch.batch.reset()
        batch.load(None, scales[part])
        batch.batch.state[:, batch.qpos], batch.batch.state[:, batch.qvel] = qpos[part], qvel[part]
        batch.batch.forward()

    return _run(simulation, dtype, run, None, scales)


class _Rows:
    """A batch of simulations, and where the parts of its rows are."""

    def __init__(self, simulation: Simulation, num: int, is_scaled: bool) -> None:
        bits, self.model = import_mujoco().mjtState, load_model(simulation.xml_file).mjmodel
        self.tracked = simulation.tracked
        num_threads = simulation.num_threads or _num_cpus()
        num_threads = max(1, min(num_threads, num // _MIN_ENVS_PER_THREAD))
        read = set(simulation.outputs) | ({"": set(), "com": {"xipos"}}.get(str(self.tracked), {"xpos"}))
        self.batch = Batch(self.model, num, num_threads, tuple(sorted(read)), CONTACT_FORCES in read)
        self.batch.reset()
        columns = self.batch.component
        self.qpos, self.qvel = columns(bits.mjSTATE_QPOS.value), columns(bits.mjSTATE_QVEL.value)
        self.ctrl, warm_start = columns(bits.mjSTATE_CTRL.value), columns(bits.mjSTATE_WARMSTART.value)
        self.carried = slice(0, warm_start.stop)
        self._kinds = [int(getattr(import_mujoco().mjtWarning, name)) for name in _UNSTABLE]
        self._before, self._num_before = self.batch.warnings.copy(), 0
        self.shapes = simulation.shapes()
        self._expanded = {}
        self._scales = np.ones((num, len(SCALED_FIELDS)))
        if is_scaled:
            names = (name for fields in SCALED_FIELDS.values() for name in fields)
            self._expanded = {name: (field, field.copy()) for name in names for field in [self.batch.expand(name)]}

    def load(self, rows: NDArray | None, scales: NDArray) -> None:
        """Write the physics rows, if any, and the factors of the model's fields."""
        if rows is not None:
            self.batch.state[:, self.carried] = rows[:, self.carried]
        self._before[:] = self.batch.warnings
        self._num_before = int(self._before.sum())
        if self._expanded and not np.array_equal(scales, self._scales):
            for column, names in enumerate(SCALED_FIELDS.values()):
                for name in names:
                    field, default = self._expanded[name]
                    field[:] = default * scales[:, column, None]
            self.batch.set_const()
            self._scales = np.array(scales)

    def point(self) -> NDArray:
        """Return the position of the tracked point, `[num, 2]`."""
        num, fields = self.batch.num, self.batch.fields
        if self.tracked == "":
            return self.batch.state[:, self.qpos][:, :2]
        if self.tracked != "com":
            return fields["xpos"].reshape(num, -1, 3)[:, int(self.tracked), :2]
        mass = self.model.body_mass
        weighted = np.einsum("b,nbj->nj", mass, fields["xipos"].reshape(num, -1, 3))
        return (weighted / mass.sum())[:, :2]

    def unstable(self) -> NDArray:
        """Return which simulations have diverged since `load`, bool `[num]`."""
        if int(self.batch.warnings.sum()) == self._num_before:
            return np.zeros(self.batch.num, bool)
        return (self.batch.warnings != self._before)[:, self._kinds].any(axis=1)

    def collect(self, rows: NDArray | None, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return the results of `advance` from physics rows, or of `begin` for None."""
        physics, point, unstable = self.batch.state[:, self.carried].copy(), self.point(), self.unstable()
        if self.tracked != "":
            physics = np.concatenate([physics, point], axis=1)
        displacement = np.zeros((self.batch.num, 2), dtype)
        if rows is not None:
            before = rows[:, self.qpos][:, :2] if self.tracked == "" else rows[:, self.carried.stop :]
            displacement[:, : before.shape[1]] = point - before
            if unstable.any():
                physics[unstable], displacement[unstable] = rows[unstable], 0
        with np.errstate(over="ignore") if unstable.any() else contextlib.nullcontext():  # of the range of float32
            qpos, qvel = physics[:, self.qpos].astype(dtype), physics[:, self.qvel].astype(dtype)
        return {
            "physics": physics.view(np.uint32),
            "qpos": qpos,
            "qvel": qvel,
            "displacement": displacement,
            "unstable": unstable,
            "outputs": {
                name: self.batch.fields[name].astype(dtype).reshape(self.batch.num, *shape)
                for name, shape in self.shapes.items()
            },
        }


def _run(
    simulation: Simulation, dtype: np.dtype[Any], run: Any, rows: NDArray | None, scales: NDArray
) -> dict[str, Any]:
    """Run something in batches of suitable sizes, and collect their results."""
    num, parts = len(scales), []
    step = _MAX_SIMULATIONS if CONTACT_FORCES in simulation.outputs else max(num, 1)
    is_scaled = bool((scales != 1).any())
    for start in range(0, max(num, 1), step):
        part = slice(start, min(start + step, num))
        with _batches.borrow(simulation, part.stop - part.start, is_scaled) as batch:
            run(batch, part)
            parts.append(batch.collect(None if rows is None else rows[part], dtype))
    joined: dict[str, Any] = parts[0] if len(parts) == 1 else jax.tree.map(lambda *each: np.concatenate(each), *parts)
    return joined


def _num_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_batches: Pool[_Rows] = Pool(_Rows, max_idle=16)
