"""The numbers of a simulation by the names of the model's elements.

Names and shapes are those of `mujoco.MjData`: what is written for `data.site("tip").xpos` there works here, too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import jax

from funcenv.envs.mujoco.model import Model, import_mujoco

# Attributes of an element and the fields of `mjData` that hold them.
_BODY: tuple[str, ...] = (
    "xpos",
    "xquat",
    "xmat",
    "xipos",
    "ximat",
    "subtree_com",
    "subtree_linvel",
    "subtree_angmom",
    "cinert",
)
_BODY += ("cvel", "cacc", "cfrc_int", "cfrc_ext")
_DOF: tuple[str, ...] = ("qvel", "qacc", "qfrc_passive", "qfrc_actuator", "qfrc_bias", "qfrc_constraint")
_FIELDS: dict[str, dict[str, str]] = {
    "body": {name: name for name in _BODY},
    "joint": {name: name for name in ("qpos", *_DOF, "xanchor", "xaxis")},
    "geom": {"xpos": "geom_xpos", "xmat": "geom_xmat"},
    "site": {"xpos": "site_xpos", "xmat": "site_xmat"},
    "camera": {"xpos": "cam_xpos", "xmat": "cam_xmat"},
    "tendon": {"length": "ten_length", "velocity": "ten_velocity"},
    "actuator": {"length": "actuator_length", "velocity": "actuator_velocity", "force": "actuator_force"},
    "sensor": {"data": "sensordata"},
}
_PLURALS = {"body": "bodies"}
_QPOS_SIZES, _DOF_SIZES = (7, 4, 1, 1), (6, 3, 1, 1)  # numbers of a free, ball, slide and hinge joint


class NamedData:
    """The numbers of a simulation, as `mujoco.MjData` names them.

    Args:
        model: the model.
        fields: fields of `mjData` by name.

    >>> import jax.numpy as jnp
    >>> from funcenv.envs.mujoco.mjcf import compile_mjcf
    >>> from funcenv.envs.mujoco.model import load_model
    >>> text = "<mujoco><worldbody><body><joint name='hinge'/><geom size='1'/></body></worldbody></mujoco>"
    >>> data = NamedData(load_model(compile_mjcf(text)), {"qpos": jnp.array([0.5])})
    >>> data.joint("hinge").qpos.tolist()
    [0.5]
    >>> data.joint("hinges")
    Traceback (most recent call last):
        ...
    ValueError: the model has no joint 'hinges'; did you mean 'hinge'? Its joints are 'hinge'
    """

    def __init__(self, model: Model, fields: dict[str, Any]) -> None:
        self._model, self._fields = model, fields

    def body(self, name: str) -> Element:
        """Return the numbers of a body: `xpos` `[3]`, `xquat` `[4]`, `xmat` `[9]`, `subtree_com` `[3]` and more."""
        return Element(self, "body", name)

    def joint(self, name: str) -> Element:
        """Return the numbers of a joint: `qpos` `[1]`, or `[4]` and `[7]` of a ball and a free joint, `qvel`, ..."""
        return Element(self, "joint", name)

    def geom(self, name: str) -> Element:
        """Return the numbers of a geom: `xpos` `[3]` and `xmat` `[9]`."""
        return Element(self, "geom", name)

    def site(self, name: str) -> Element:
        """Return the numbers of a site: `xpos` `[3]` and `xmat` `[9]`."""
        return Element(self, "site", name)

    def camera(self, name: str) -> Element:
        """Return the numbers of a camera: `xpos` `[3]` and `xmat` `[9]`."""
        return Element(self, "camera", name)

    def tendon(self, name: str) -> Element:
        """Return the numbers of a tendon: `length` and `velocity`, `[1]` each."""
        return Element(self, "tendon", name)

    def actuator(self, name: str) -> Element:
        """Return the numbers of an actuator: `length`, `velocity` and `force`, `[1]` each."""
        return Element(self, "actuator", name)

    def sensor(self, name: str) -> Element:
        """Return the numbers of a sensor: `data`."""
        return Element(self, "sensor", name)

    def field(self, name: str) -> jax.Array:
        """Return a whole field of `mjData`.

        Raises:
            AttributeError: the environment does not read it.
        """
        if name not in self._fields:
            read = ", ".join(self._fields)
            raise AttributeError(
                f"the environment reads {read}, and not {name!r}; name it: reads = ({name!r},) in the class"
            )
        found: jax.Array = self._fields[name]
        return found

    def __getattr__(self, name: str) -> jax.Array:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.field(name)


class Element:
    """The numbers of one element of a model; attributes are those of `mujoco.MjData`."""

    def __init__(self, data: NamedData, kind: str, name: str) -> None:
        self._data, self._kind, self._name = data, kind, name
        self._id = element_id(data._model, kind, name)

    def __getattr__(self, name: str) -> jax.Array:
        if name.startswith("__"):
            raise AttributeError(name)
        fields = _FIELDS[self._kind]
        if name not in fields:
            raise AttributeError(f"a {self._kind} has no {name!r}; it has {', '.join(fields)}")
        values, mjmodel, number = self._data.field(fields[name]), self._data._model.mjmodel, self._id
        if self._kind == "joint":
            return values[joint_columns(mjmodel, number, "qpos" if name == "qpos" else "dof" if name in _DOF else "")]
        if self._kind == "sensor":
            start = int(mjmodel.sensor_adr[number])
            return values[start : start + int(mjmodel.sensor_dim[number])]
        return values[number] if values.ndim > 1 else values[number : number + 1]


def joint_columns(mjmodel: Any, number: int, kind: str) -> Any:
    """Return where the numbers of a joint are: in qpos, in arrays of degrees of freedom ("dof"), or in others."""
    if kind == "":
        return number
    is_qpos, joint_type = kind == "qpos", int(mjmodel.jnt_type[number])
    start = int((mjmodel.jnt_qposadr if is_qpos else mjmodel.jnt_dofadr)[number])
    return slice(start, start + (_QPOS_SIZES if is_qpos else _DOF_SIZES)[joint_type])


def element_id(model: Model, kind: str, name: str) -> int:
    """Return the number of a named element.

    Raises:
        ValueError: the model has no such element; the message has the nearest name, and all.
    """
    mujoco = import_mujoco()
    number = int(mujoco.mj_name2id(model.mjmodel, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), str(name)))
    if number >= 0 and isinstance(name, str):
        return number
    names = [one for one in element_names(model, kind) if one]
    raise ValueError(f"{model.path} has no {kind} {name!r}; {_nearest(name, names)}{_all(kind, names)}")


def element_names(model: Model, kind: str) -> list[str]:
    """Return the names of all elements of a kind; "" for one without a name."""
    mujoco = import_mujoco()
    objects = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
    counts = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam"}
    counts |= {"tendon": "ntendon", "actuator": "nu", "sensor": "nsensor"}
    count = int(getattr(model.mjmodel, counts[kind]))
    return [mujoco.mj_id2name(model.mjmodel, objects, number) or "" for number in range(count)]


def _nearest(name: Any, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(name), names, n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def _all(kind: str, names: list[str]) -> str:
    plural = _PLURALS.get(kind, f"{kind}s")
    if not names:
        return f"none of its {plural} has a name; give it one"
    return f"Its {plural} are {', '.join(map(repr, names))}"
