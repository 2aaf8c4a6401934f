"""Batches of simulations in MuJoCo's C library (`mjbatch.h`), by ctypes.

MuJoCo's own Python class for batches cannot apply a C function to every simulation. `mj_rnePostConstraint`, which
computes the contact forces that Ant and the humanoids observe, is such a function.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from funcenv.envs.mujoco.model import import_mujoco, library
from funcenv.struct import NDArray

NO_STAGE, POSITIONS_AND_VELOCITIES, ALL_STAGES = 0, 2, 3  # mjSTAGE_NONE, mjSTAGE_VEL, mjSTAGE_ACC
_INT, _POINTER, _TEXT = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
# Results and arguments of the functions.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "mjb_makeBatch": (_POINTER, [_POINTER, _INT, _POINTER, _TEXT, _INT]),
    "mjb_deleteBatch": (None, [_POINTER]),
    "mjb_nstate": (_INT, [_POINTER]),
    "mjb_state": (_POINTER, [_POINTER]),
    "mjb_stateComponent": (_POINTER, [_POINTER, _INT, _POINTER]),
    "mjb_warning": (_POINTER, [_POINTER]),
    "mjb_step": (_INT, [_POINTER, _POINTER, _INT, _INT, _INT]),
    "mjb_forward": (_INT, [_POINTER, _POINTER, _INT, _INT]),
    "mjb_reset": (_INT, [_POINTER, _POINTER, _INT, _POINTER, _INT]),
    "mjb_status": (_POINTER, [_POINTER]),
    "mjb_error": (_TEXT, [_POINTER, _INT]),
    "mjb_output": (_POINTER, [_POINTER, _TEXT, _POINTER, _POINTER]),
    "mjb_expand": (_POINTER, [_POINTER, _TEXT, _POINTER, _POINTER]),
    "mjb_setConst": (_INT, [_POINTER, _POINTER, _INT]),
    "mjb_setModels": (None, [_POINTER, _POINTER]),
    "mjb_apply": (_INT, [_POINTER, _POINTER, _INT, _POINTER, _POINTER, _INT]),
}
_DOUBLE: np.dtype[Any] = np.dtype(np.float64)
_DTYPES: dict[int, np.dtype[Any]] = {
    _DOUBLE.itemsize: _DOUBLE,
    4: np.dtype(np.int32),
}  # dtypes of fields by the bytes of a number
_UNSTABLE = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC")
# Count of these warnings in a simulation that has not diverged. MuJoCo prints the first one of each kind, and writes it
# to a file in the working directory; it resets a simulation that diverges, with a count of 1 or 0.
_QUIET = 2


class _Config(ctypes.Structure):
    _fields_ = [("nthread", ctypes.c_int), ("persistent", ctypes.c_ubyte)]


class Batch:
    """Simulations of one model, which threads advance together.

    Args:
        mjmodel: the model, which is copied.
        num: the number of simulations.
        num_threads: how many threads advance them, with the caller's; the results do not depend on it.
        outputs: the fields of `mjData` to read after each call.
        contact_forces: whether `step` also computes `cfrc_ext`, `cacc` and `cfrc_int`.
        persistent: whether each simulation has an `mjData` of its own, as with contact forces.

    Attributes:
        state: the state rows, float64 `[num, ...]`: time, qpos, qvel, act, history, warm start, ctrl, ...; writable.
        fields: by name, the read-only values of `outputs` after the last call, float64 `[num, size]`, or int32.
        warnings: how many warnings of each kind each simulation has given, int32 `[num, kinds]`.
    """

    def __init__(
        self,
        mjmodel: Any,
        num: int,
        num_threads: int,
        outputs: tuple[str, ...],
        contact_forces: bool,
        persistent: bool = False,
    ) -> None:
        self._library, self._pointer = _typed_library(), None
        self.num, self._contact_forces = num, contact_forces
        # Contact forces are computed from what a step left in mjData, so each simulation needs one of its own.
        config, message = _Config(num_threads, contact_forces or persistent), ctypes.create_string_buffer(1000)
        self._pointer = self._library.mjb_makeBatch(mjmodel._address, num, ctypes.byref(config), message, len(message))
        if not self._pointer:
            raise RuntimeError(f"MuJoCo cannot simulate a batch of {num}: {message.value.decode()}; use a smaller one")
        self.state = self._array(self._library.mjb_state(self._pointer), self._library.mjb_nstate(self._pointer))
        self.fields = {name: self._field(self._library.mjb_output, name) for name in outputs}
        for field in self.fields.values():
            field.flags.writeable = False
        kinds = int(import_mujoco().mjtWarning.mjNWARNING)
        warnings = self._array(self._library.mjb_warning(self._pointer), 2 * kinds, np.dtype(np.int32))
        self._all_warnings = warnings
        self._unstable_kinds = [int(getattr(import_mujoco().mjtWarning, name)) for name in _UNSTABLE]
        self.warnings = warnings[:, 1::2]  # each is a pair: what the last one was about, and their number
        self._status = self._array(self._library.mjb_status(self._pointer), 1, np.dtype(np.int32))[:, 0]
        self._post_constraint = ctypes.cast(self._library.mj_rnePostConstraint, ctypes.c_void_p)
        self._step2 = ctypes.cast(self._library.mj_step2, ctypes.c_void_p)

    def component(self, bit: int) -> slice:
        """Return the columns of `state` that hold a component, one bit of `mjtState`."""
        size = ctypes.c_int()
        first = self._library.mjb_stateComponent(self._pointer, bit, ctypes.byref(size))
        start = 0 if size.value == 0 else (first - self._library.mjb_state(self._pointer)) // _DOUBLE.itemsize
        return slice(start, start + size.value)

    def expand(self, name: str) -> NDArray:
        """Return a field of the model as one row for each simulation, float64 `[num, size]`, which may be written.

        Raises:
            ValueError: the model has no such field, or it holds no 64-bit floats.
        """
        remedy = "pair it with a function in computed_fields, which writes to models of their own"
        field = self._field(self._library.mjb_expand, name, remedy)
        if field.dtype != _DOUBLE:
            raise ValueError(f"the field {name!r} of the model holds no 64-bit floats; {remedy}")
        return field

    def set_models(self, models: list[Any]) -> None:
        """Simulate each row with a model of its own, of the same sizes, which may be written between calls."""
        addresses = (_POINTER * self.num)(*(model._address for model in models))
        self._library.mjb_setModels(self._pointer, addresses)
        self._models = models, addresses  # kept as long as the library may read them

    def set_const(self) -> None:
        """Compute the constants of the models that follow from expanded fields."""
        self._check(self._library.mjb_setConst(self._pointer, None, 0))

    def step(self, num_substeps: int, stage: int = NO_STAGE) -> None:
        """Advance all simulations, and then compute the stages up to one of MuJoCo's `mjtStage`.

        Raises:
            RuntimeError: MuJoCo raised an error in some simulation.
        """
        first = NO_STAGE if self._contact_forces else stage
        self._check(self._library.mjb_step(self._pointer, None, 0, num_substeps, first))
        if self._contact_forces:
            self._check(self._library.mjb_apply(self._pointer, None, 0, self._post_constraint, None, 0))
            self._check(self._library.mjb_forward(self._pointer, None, 0, stage))  # copies the outputs

    def finish_step(self) -> None:
        """Advance all simulations by `mj_step2`: with the positions, contacts and inertias of the last `forward`.

        Only simulations with an `mjData` of their own still have those.
        """
        self._check(self._library.mjb_apply(self._pointer, None, 0, self._step2, None, 1))

    def reset(self) -> None:
        """Reset all simulations to the model's defaults, without computing anything; `forward` follows."""
        self._check(self._library.mjb_reset(self._pointer, None, 0, None, NO_STAGE))

    def forward(self, rows: NDArray | None = None) -> None:
        """Compute the quantities that depend on the state, as `mj_forward` does, in all or in the numbered rows."""
        if rows is None:
            self._check(self._library.mjb_forward(self._pointer, None, 0, ALL_STAGES))
            return
        ids = np.ascontiguousarray(rows, np.int32)
        self._check(self._library.mjb_forward(self._pointer, ids.ctypes.data, len(ids), ALL_STAGES))

    def silence(self) -> None:
        """Count the warnings of simulations that diverge from `_QUIET`."""
        self.warnings[:, self._unstable_kinds] = _QUIET
        self._seen = self._all_warnings.tobytes()

    def diverged(self) -> NDArray | None:
        """Return which simulations have diverged since the last `silence`, bool `[num]`; None for none."""
        if self._all_warnings.tobytes() == self._seen:
            return None
        unstable: NDArray = np.any(self.warnings[:, self._unstable_kinds] != _QUIET, axis=1)
        self.silence()
        return unstable if unstable.any() else None

    def _check(self, num_failed: int) -> None:
        if num_failed:
            first = int(np.flatnonzero(self._status)[0])
            message = self._library.mjb_error(self._pointer, first).decode()
            raise RuntimeError(f"MuJoCo failed in {num_failed} of {self.num} simulations: {message}; correct the model")

    def _field(self, function: Any, name: str, remedy: str = "use another one") -> NDArray:
        size, item_size = ctypes.c_int(), ctypes.c_int()
        address = function(self._pointer, name.encode(), ctypes.byref(size), ctypes.byref(item_size))
        if not address or item_size.value not in (0, *_DTYPES):
            raise ValueError(f"a batch of simulations has no field {name!r} of numbers; {remedy}")
        return self._array(address, size.value, _DTYPES.get(item_size.value, _DOUBLE))

    def _array(self, address: int, size: int, dtype: np.dtype[Any] = _DOUBLE) -> NDArray:
        """Return memory of the library as `[num, size]`; valid as long as this object is."""
        if size == 0:
            return np.zeros((self.num, 0), dtype)
        memory: Any = (ctypes.c_ubyte * (self.num * size * dtype.itemsize)).from_address(address)
        return np.frombuffer(memory, dtype).reshape(self.num, size)

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.mjb_deleteBatch(self._pointer)


@functools.cache
def _typed_library() -> Any:
    """Return MuJoCo's C library with the types of the functions that `Batch` calls."""
    loaded = library()
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded
