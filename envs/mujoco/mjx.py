"""MJX, MuJoCo's physics in JAX, as two pure functions: `advance` and `begin`, for one environment each.

They return what the functions of `funcenv.envs.mujoco.simulation` write, computed by XLA, so that accelerators simulate
whole batches. The physics of an environment is the same row of numbers, as floats instead of words.

Two things differ from MJX as it comes, so that it computes what the C library computes. Contacts of a capsule and a
plane have the library's directions of friction. And models that ask for the PGS solver, which MJX lacks, get Newton's.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.metadata
import io
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from funcenv._jax import uses_64_bits
from funcenv.envs.mujoco.model import INSTALL, CompiledModel, import_mujoco, load_model, require_version
from funcenv.envs.mujoco.simulation import CONTACT_FORCES, SCALED_FIELDS, Simulation
from funcenv.struct import NDArray

MAX_NUMBER = 1e10  # mjMAXVAL: MuJoCo calls a simulation with a larger position, velocity or acceleration unstable
_MIN_DETERMINANT = 1e-15  # the determinant of two axes below which the library takes them for parallel
_MIN_TANGENT = 1e-6  # length of an axis along a plane below which it has no direction there
_ONLY_SLIDES = 2  # value of body_simple
_patching = threading.RLock()


@functools.cache
def import_mjx() -> Any:
    """Return the module `mujoco.mjx`.

    Raises:
        ImportError: it is not installed, or in another version than `mujoco` must have.
    """
    import_mujoco()
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints that it does not find warp, which it can do without
            from mujoco import mjx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f'backend="mjx" needs mujoco-mjx: {INSTALL}', name=error.name) from None
    require_version(importlib.metadata.version("mujoco-mjx"), "mujoco-mjx")
    return mjx


def require_simulable(xml_file: str | CompiledModel) -> None:
    """Raise an error if MJX cannot simulate a model.

    Raises:
        ImportError: see `import_mjx`.
        ValueError: the model uses something that MJX does not know.
    """
    _model_and_data(xml_file, uses_64_bits())


def advance(simulation: Simulation, physics: Any, action: Any, scales: list[Any] | None = None) -> dict[str, Any]:
    """Return the fields of the next `MujocoState`.

    Args:
        simulation: what is simulated; `num_threads` has no effect.
        physics: the row of numbers: time, qpos, qvel, act, history, warm start, and the tracked point.
        action: the controls, `[nu]`.
        scales: factors of the model's fields, in the order of `SCALED_FIELDS`; None for 1.
    """
    numbers = None if scales is None else [jnp.asarray(scale, float) for scale in scales]
    result: dict[str, Any] = _advance(simulation, (physics, action.astype(float), numbers))
    return result


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _advance(simulation: Simulation, args: tuple[Any, Any, list[Any] | None]) -> dict[str, Any]:
    """Return what `advance` returns, with derivatives by forward and reverse mode.

    MJX's solver loops until it has converged, and JAX has no reverse mode through such loops. Therefore the Jacobian of
    the step is computed by forward mode, and multiplies a derivative from either side.
    """
    return _computed(simulation, *args)


@_advance.defjvp
def _derivative(simulation: Simulation, primals: Any, tangents: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    (args,), (directions,) = primals, tangents
    numbers, unravel = jax.flatten_util.ravel_pytree(args)

    def floats(numbers: jax.Array) -> tuple[dict[str, Any], dict[str, Any]]:
        result = _computed(simulation, *unravel(numbers))
        return {name: value for name, value in result.items() if name != "unstable"}, result

    direction = jax.flatten_util.ravel_pytree(directions)[0]
    jacobians, result = jax.jacfwd(floats, has_aux=True)(numbers)
    changes: dict[str, Any] = jax.tree.map(lambda jacobian: jacobian @ direction, jacobians)
    return result, {**changes, "unstable": np.zeros((), jax.dtypes.float0)}


def _computed(simulation: Simulation, physics: Any, action: Any, scales: list[Any] | None) -> dict[str, Any]:
    mjx = import_mjx()
    model, data = _scaled(simulation.xml_file, scales)
    size = load_model(simulation.xml_file).mjmodel
    parts = split_row(physics, [1, size.nq, size.nv, size.na, size.nhistory, size.nv, 2])
    time, qpos, qvel, act, history, warm_start, point = parts
    data = data.replace(
        time=time[0],
        qpos=qpos,
        qvel=qvel,
        act=act,
        history=history,
        qacc_warmstart=warm_start,
        ctrl=action,
    )
    with tracing():
        data, _ = jax.lax.scan(lambda data, _: (step(model, data), None), data, length=simulation.frame_skip)
        if CONTACT_FORCES in simulation.outputs:
            data = mjx.rne_postconstraint(model, data)
    numbers = jnp.concatenate([data.qpos, data.qvel, data.qacc])
    unstable = ~jnp.all(jnp.abs(numbers) <= MAX_NUMBER)
    before = qpos[:2] if simulation.tracked == "" else point
    displacement = jnp.where(unstable, 0.0, _point(simulation, data) - before)
    state = _state(simulation, data)
    kept = {"physics": physics, "qpos": qpos, "qvel": qvel}
    kept = {name: jnp.where(unstable, value, state[name]) for name, value in kept.items()}
    return {**state, **kept, "displacement": _padded(displacement), "unstable": unstable}


def step(model: Any, data: Any) -> Any:
    """Return the data after a simulation step, with dtypes as before."""
    return same_dtypes(import_mjx().step(model, data), data)


def same_dtypes(new: Any, old: Any) -> Any:
    """Return new data with the dtypes of the old: MJX widens some integers."""
    return jax.tree.map(lambda new, old: new.astype(old.dtype), new, old)


def begin(simulation: Simulation, qpos: Any, qvel: Any, scales: list[Any] | None = None) -> dict[str, Any]:
    """Return the fields of the state after a reset to these positions and velocities."""
    mjx = import_mjx()
    model, data = _scaled(simulation.xml_file, scales)
    data = data.replace(qpos=qpos.astype(float), qvel=qvel.astype(float))
    with tracing():
        data = mjx.forward(model, data)
    no_warm_start = data.replace(qacc_warmstart=jnp.zeros_like(data.qvel))
    return {
        **_state(simulation, no_warm_start),
        "displacement": jnp.zeros(2, float),
        "unstable": jnp.zeros((), bool),
    }


def _state(simulation: Simulation, data: Any) -> dict[str, Any]:
    """Return the fields of a `MujocoState` that follow from MJX's data."""
    carried = [data.time[None], data.qpos, data.qvel, data.act, data.history, data.qacc_warmstart]
    if simulation.tracked != "":
        carried.append(_point(simulation, data))
    outputs = {name: jnp.asarray(field_of(data, name)).reshape(shape) for name, shape in simulation.shapes().items()}
    return {"physics": jnp.concatenate(carried), "qpos": data.qpos, "qvel": data.qvel, "outputs": outputs}


def field_of(data: Any, name: str) -> Any:
    """Return a field of `mjData`.

    Raises:
        ValueError: MJX does not have it.
    """
    for owner in (data, data._impl):
        if hasattr(owner, name):
            return getattr(owner, name)
    raise ValueError(f'MJX does not compute {name}; use backend="c"')


def _point(simulation: Simulation, data: Any) -> jax.Array:
    """Return the position of the tracked point, `[2]`, or less if the model has fewer joints."""
    if simulation.tracked == "":
        return data.qpos[:2]
    if simulation.tracked != "com":
        return data.xpos[int(simulation.tracked), :2]
    mass = jnp.asarray(load_model(simulation.xml_file).mjmodel.body_mass, float)
    return ((mass @ data.xipos) / mass.sum())[:2]


def _padded(displacement: jax.Array) -> jax.Array:
    return jnp.concatenate([displacement, jnp.zeros(2 - len(displacement), float)])


def split_row(numbers: Any, sizes: list[int]) -> list[jax.Array]:
    """Return the parts of a row, which have these sizes."""
    stops = np.cumsum(sizes).tolist()
    return [numbers[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]


@functools.cache
def _model_and_data(xml_file: str | CompiledModel, wide: bool) -> tuple[Any, Any]:
    """Return MJX's model and data with NumPy arrays, of 64 bits if `wide`, which is the present precision."""
    del wide  # The precision is JAX's own.
    mjx, mujoco, loaded = import_mjx(), import_mujoco(), load_model(xml_file)
    mjmodel = copy.copy(loaded.mjmodel)
    if mjmodel.opt.solver == mujoco.mjtSolver.mjSOL_PGS:
        mjmodel.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    mjmodel.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)  # energies are reported, and change no motion
    try:
        with jax.ensure_compile_time_eval():
            model = mjx.put_model(mjmodel, impl="jax")
            data = mjx.make_data(model)
    except NotImplementedError as error:
        raise ValueError(f'MJX cannot simulate {loaded.path}: {error}; use backend="c"') from None
    held: tuple[Any, Any] = jax.tree.map(np.asarray, (model, data))
    return held


def arrays(xml_file: str | CompiledModel) -> tuple[Any, Any]:
    """Return MJX's model and data of a model, as arrays of JAX."""
    held: tuple[Any, Any] = jax.tree.map(jnp.asarray, _model_and_data(xml_file, uses_64_bits()))
    return held


def _scaled(xml_file: str, scales: list[Any] | None) -> tuple[Any, Any]:
    """Return MJX's model, with some fields scaled, and its data."""
    model, data = arrays(xml_file)
    if scales is None:
        return model, data
    changes: dict[str, Any] = {}
    scales = [jnp.asarray(scale, float) for scale in scales]
    for scale, names in zip(scales, SCALED_FIELDS.values(), strict=True):
        for name in names:
            owner, _, attribute = name.rpartition(".")
            changes[name] = scale * getattr(model.opt if owner else model, attribute)
    by_name = dict(zip(SCALED_FIELDS, scales, strict=True))
    changes |= constants_of_masses(xml_file, by_name["mass_scale"])
    changes["geom_rbound"] = by_name["size_scale"] * model.geom_rbound
    return model.tree_replace(changes), data


def constants_of_masses(xml_file: str, mass_scale: Any) -> dict[str, Any]:
    """Return what `mj_setConst` computes from the masses: inverse inertias at the model's own pose.

    The inertia of the joints is linear in the masses but for the armature, so it need not be computed again.
    """
    fixed = _inertias(xml_file)
    inertia = mass_scale * jnp.asarray(fixed["bodies"], float) + jnp.diag(jnp.asarray(fixed["armature"], float))
    inverse = jnp.linalg.inv(inertia)

    def mean_diagonal(jacobians: Any) -> jax.Array:
        """Return the mean over the axes of each Jacobian `[num, axes, nv]` of what a force of 1 causes along it."""
        rows = jnp.asarray(jacobians, float)
        return jnp.mean(jnp.einsum("bai,ij,baj->ba", rows, inverse, rows), axis=1)

    bodies = jnp.stack([mean_diagonal(fixed["linear"]), mean_diagonal(fixed["angular"])], axis=1)
    joints = jnp.asarray(fixed["groups"], float) @ jnp.diag(inverse)
    # MuJoCo takes the mass alone for bodies that only slide.
    slides, owners = jnp.asarray(fixed["slides"]), fixed["owners"]
    inverse_mass = 1 / (mass_scale * jnp.asarray(np.where(fixed["slides"], fixed["masses"], 1.0), float))
    bodies = bodies.at[:, 0].set(jnp.where(slides, inverse_mass, bodies[:, 0]))
    return {
        "body_subtreemass": mass_scale * jnp.asarray(fixed["subtrees"], float),
        "body_invweight0": jnp.where(jnp.asarray(fixed["is_fixed"])[:, None], 0.0, bodies),
        "dof_invweight0": jnp.where(slides[owners], inverse_mass[owners], joints),
        "tendon_invweight0": mean_diagonal(fixed["tendons"]),
    }


@functools.cache
def _inertias(xml_file: str) -> dict[str, NDArray]:
    """Return what the inverse inertias of a model follow from, at the model's own pose."""
    mujoco, mjmodel = import_mujoco(), load_model(xml_file).mjmodel
    data = mujoco.MjData(mjmodel)
    mujoco.mj_forward(mjmodel, data)
    inertia = np.zeros((mjmodel.nv, mjmodel.nv))
    mujoco.mj_fullM(mjmodel, data, inertia)
    linear, angular = np.zeros((2, mjmodel.nbody, 3, mjmodel.nv))
    for body in range(mjmodel.nbody):
        mujoco.mj_jacBodyCom(mjmodel, data, linear[body], angular[body], body)
    tendons = np.zeros((mjmodel.ntendon, 1, mjmodel.nv))
    for tendon in range(mjmodel.ntendon):
        start, count = mjmodel.ten_J_rowadr[tendon], mjmodel.ten_J_rownnz[tendon]
        columns = np.ravel(mjmodel.ten_J_colind)[start : start + count]
        tendons[tendon, 0, columns] = np.ravel(data.ten_J)[start : start + count]
    groups, kinds = np.zeros((mjmodel.nv, mjmodel.nv)), mujoco.mjtJoint
    for joint in range(mjmodel.njnt):
        first, kind = mjmodel.jnt_dofadr[joint], mjmodel.jnt_type[joint]
        sizes = {int(kinds.mjJNT_FREE): (3, 3), int(kinds.mjJNT_BALL): (3,)}.get(int(kind), (1,))
        for size in sizes:
            groups[first : first + size, first : first + size] = 1 / size
            first += size
    return {
        "bodies": inertia - np.diag(mjmodel.dof_armature),
        "armature": mjmodel.dof_armature.copy(),
        "linear": linear,
        "angular": angular,
        "slides": mjmodel.body_simple == _ONLY_SLIDES,
        "owners": mjmodel.dof_bodyid.copy(),
        "masses": mjmodel.body_mass.copy(),
        "subtrees": mjmodel.body_subtreemass.copy(),
        "is_fixed": mjmodel.body_weldid == 0,
        "tendons": tendons,
        "groups": groups,
    }


def _plane_capsule(plane: Any, capsule: Any) -> Any:
    """Return the contacts of a plane and a capsule, with the library's directions of friction."""
    normal, axis = plane.mat[:, 2], capsule.mat[:, 2]
    along = axis - normal * (normal @ axis)
    length = jnp.linalg.norm(along)
    other = jnp.where(jnp.abs(normal[1]) < 0.5, jnp.array([0.0, 1.0, 0.0]), jnp.array([0.0, 0.0, 1.0]))
    tangent = jnp.where(length < _MIN_TANGENT, other, along / jnp.maximum(length, _MIN_TANGENT))
    frame = jnp.stack([normal, tangent, jnp.cross(normal, tangent)])
    radius, half_length = capsule.size[0], capsule.size[1]
    centers = capsule.pos + half_length * jnp.stack([axis, -axis])
    distances = (centers - plane.pos) @ normal - radius
    places = centers - (radius + 0.5 * distances)[:, None] * normal
    return distances, places, jnp.stack([frame, frame])


def _capsule_capsule(one: Any, other: Any) -> Any:
    """Return the contact at the closest points of two axes, as the library's `mjraw_CapsuleCapsule` finds them."""
    from mujoco.mjx._src import collision_primitive, math

    axis, other_axis = one.mat[:, 2] * one.size[1], other.mat[:, 2] * other.size[1]
    way = one.pos - other.pos
    size, mixed, other_size = axis @ axis, -(axis @ other_axis), other_axis @ other_axis
    u, v = -(axis @ way), other_axis @ way
    determinant = size * other_size - mixed * mixed
    rounding = 4 * float(np.finfo(determinant.dtype).eps) * size * other_size
    is_parallel = jnp.abs(determinant) < jnp.maximum(_MIN_DETERMINANT, rounding)
    place = (other_size * u - mixed * v) / jnp.where(is_parallel, 1.0, determinant)
    place = jnp.clip(jnp.where(is_parallel, u / size, place), -1, 1)
    other_place = (v - mixed * place) / other_size
    is_beyond = jnp.abs(other_place) > 1
    other_place = jnp.clip(other_place, -1, 1)
    place = jnp.where(is_beyond, jnp.clip((u - mixed * other_place) / size, -1, 1), place)
    closest = one.pos + axis * place, other.pos + other_axis * other_place
    distance, middle, normal = collision_primitive._sphere_sphere(closest[0], one.size[0], closest[1], other.size[0])
    return distance, middle, math.make_frame(normal)


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Trace MJX with JAX's default promotions, which it relies on, and with exact contacts.

    Contacts of a capsule and a plane get the directions of friction of the C library, which lays the first one along
    the capsule. MJX does so only where the capsule leans by less than 60 degrees from the plane. Contacts of two
    capsules get the library's places, where MJX adds 1e-6 to a divisor. Parallel capsules have one contact, as in MJX,
    where the library may have two.
    """
    import_mjx()
    from mujoco.mjx._src import collision_driver, collision_primitive, forward, types

    exact_contacts = {
        (types.GeomType.PLANE, types.GeomType.CAPSULE): collision_primitive.collider(ncon=2)(_plane_capsule),
        (types.GeomType.CAPSULE, types.GeomType.CAPSULE): collision_primitive.collider(ncon=1)(_capsule_capsule),
    }
    table = collision_driver._COLLISION_FUNC
    tableau = {name: getattr(forward, name) for name in ("_RK4_A", "_RK4_B")}
    with _patching, jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        own = {pair: table[pair] for pair in exact_contacts}
        table.update(exact_contacts)
        for name, numbers in tableau.items():  # JAX confuses 64-bit constants where a process uses both precisions
            setattr(forward, name, numbers.astype(jnp.zeros((), float).dtype))
        try:
            yield
        finally:
            table.update(own)
            for name, numbers in tableau.items():
                setattr(forward, name, numbers)
