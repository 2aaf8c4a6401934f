"""The simulations of `MujocoTask` in MJX: `advance` and `begin`, for one environment each.

They return what the functions of `funcenv.envs.mujoco.task_simulation` write, with floats instead of words. A start
that settles differs in its first simulation step, which dm_control takes with the inertias of the model's own pose.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.envs.mujoco import mjx
from funcenv.envs.mujoco.model import import_mujoco
from funcenv.envs.mujoco.task_simulation import CONTACT_FIELDS, TaskSimulation, output_shapes


def advance(
    simulation: TaskSimulation, physics: Any, inputs: dict[str, Any], changes: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of the next `TaskState` but the variables.

    Args:
        simulation: what is simulated; `num_threads` has no effect.
        physics: the row of numbers: time, qpos, qvel, act, history and warm start.
        inputs: by name, as the C library takes them.
        changes: values of the changed fields of the model.
    """
    model, data = _model_and_data(simulation, changes)
    data = _loaded(simulation, data, physics)
    data = data.replace(**{name: value.astype(float) for name, value in inputs.items()})
    if simulation.max_speed is not None:
        data = data.replace(qvel=jnp.clip(data.qvel, -simulation.max_speed, simulation.max_speed))
    data = _stepped(model, data, simulation.frame_skip)
    data = _with_contact_forces(simulation, model, data)
    if simulation.held:
        data = _forward(model, data.replace(qpos=data.qpos.at[jnp.array(simulation.held)].set(0.0)))
    unstable = _is_unstable(data)
    if simulation.is_synchronized:
        data = _synchronized(model, data)
    state = _state(simulation, data)
    size = simulation.source.mjmodel
    before = {
        "physics": physics,
        "qpos": physics[1 : 1 + size.nq],
        "qvel": physics[1 + size.nq : 1 + size.nq + size.nv],
    }
    kept = {name: jnp.where(unstable, value, state[name]) for name, value in before.items()}
    return {**state, **kept, "unstable": unstable}


def begin(simulation: TaskSimulation, qpos: Any, qvel: Any, act: Any, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the state after a reset to one of the starts, and the number of this start."""

    def of(values: Any, start: int | jax.Array) -> Any:
        return values[jnp.minimum(start, len(values) - 1)]

    def started(start: int | jax.Array) -> tuple[Any, Any]:
        model, data = _model_and_data(simulation, {name: of(values, start) for name, values in changes.items()})
        data = data.replace(qpos=qpos[start], qvel=qvel[start], act=act[start])
        return model, _forward(_for_resets(simulation, model), data)

    chosen = jnp.zeros((), jnp.int32)
    if simulation.is_contact_free:
        touches = jax.vmap(lambda start: _has_contact(started(start)[1]))(jnp.arange(len(qpos)))
        chosen = jnp.where(touches.all(), len(qpos) - 1, jnp.argmin(touches)).astype(jnp.int32)
    model, data = started(chosen)
    if simulation.num_settling:
        data = _stepped(model, data, simulation.num_settling)
        data = _forward(_for_resets(simulation, model), data.replace(time=jnp.zeros_like(data.time)))
    return {**_state(simulation, data), "unstable": _is_unstable(data), "chosen": chosen}


def _model_and_data(simulation: TaskSimulation, changes: dict[str, Any]) -> tuple[Any, Any]:
    model, data = mjx.arrays(simulation.source)
    if changes:
        try:
            fields = {
                name: jnp.asarray(value, float).reshape(_field(model, name).shape) for name, value in changes.items()
            }
            model = model.tree_replace(fields)
        except AttributeError as error:
            raise ValueError(f'MJX has no field of the model like that: {error}; use backend="c"') from None
    return model, data


def _field(model: Any, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), model)


def _loaded(simulation: TaskSimulation, data: Any, physics: Any) -> Any:
    size = simulation.source.mjmodel
    sizes = [1, size.nq, size.nv, size.na, size.nhistory, size.nv]
    time, qpos, qvel, act, history, warm_start = mjx.split_row(physics, sizes)
    return data.replace(time=time[0], qpos=qpos, qvel=qvel, act=act, history=history, qacc_warmstart=warm_start)


def _stepped(model: Any, data: Any, num_steps: int) -> Any:
    with mjx.tracing():
        return jax.lax.scan(lambda data, _: (mjx.step(model, data), None), data, length=num_steps)[0]


def _for_resets(simulation: TaskSimulation, model: Any) -> Any:
    """Return the model, without actuation if the simulation has dm_control's resets."""
    if not simulation.is_synchronized:
        return model
    flag = int(import_mujoco().mjtDisableBit.mjDSBL_ACTUATION)
    return model.replace(opt=model.opt.replace(disableflags=model.opt.disableflags | flag))


def _forward(model: Any, data: Any) -> Any:
    with mjx.tracing():
        return mjx.same_dtypes(mjx.import_mjx().forward(model, data), data)


def _synchronized(model: Any, data: Any) -> Any:
    """Return the data after `mj_step1`."""
    mjx.import_mjx()
    from mujoco.mjx._src import forward, sensor

    with mjx.tracing():
        new = sensor.sensor_pos(model, forward.fwd_position(model, data))
        new = sensor.sensor_vel(model, forward.fwd_velocity(model, new))
        return mjx.same_dtypes(new, data)


def _with_contact_forces(simulation: TaskSimulation, model: Any, data: Any) -> Any:
    if not set(CONTACT_FIELDS) & set(simulation.outputs):
        return data
    with mjx.tracing():
        return mjx.import_mjx().rne_postconstraint(model, data)


def _is_unstable(data: Any) -> jax.Array:
    numbers = jnp.concatenate([data.qpos, data.qvel, data.qacc])
    return ~jnp.all(jnp.abs(numbers) <= mjx.MAX_NUMBER)


def _has_contact(data: Any) -> jax.Array:
    contact = data._impl.contact
    return jnp.any(contact.dist < contact.includemargin) if len(contact.dist) else jnp.zeros((), bool)


def _state(simulation: TaskSimulation, data: Any) -> dict[str, Any]:
    carried = [data.time[None], data.qpos, data.qvel, data.act, data.history, data.qacc_warmstart]
    outputs = {
        name: jnp.asarray(mjx.field_of(data, name)).reshape(shape)
        for name, shape in output_shapes(simulation.source, simulation.outputs).items()
    }
    return {"physics": jnp.concatenate(carried), "qpos": data.qpos, "qvel": data.qvel, "outputs": outputs}
