"""One name for each number that a MuJoCo environment observes, with its joint or body and its unit.

The docstring of an environment lists groups, such as "angles of the joints `[8]` [rad]"; the model names their members.
"""

from __future__ import annotations

from typing import Any, NamedTuple

AXES = ("x", "y", "z")
INERTIA = ("I_xx", "I_yy", "I_zz", "I_xy", "I_xz", "I_yz")  # order of the moments in mjData.cinert
_FREE, _SLIDE = 0, 2  # kinds of joints in mjModel.jnt_type


class Row(NamedTuple):
    """One number of an observation."""

    name: str
    place: str  # joint or body, as the model names it
    unit: str


def expand(mjmodel: Any, name: str, count: int, unit: str) -> list[Row]:
    """Return a row for each number of a group.

    Args:
        mjmodel: The compiled model.
        name: The name of the group, such as "angles of the joints".
        count: How many numbers it has.
        unit: Their unit.
    """
    if count == 1:
        return [Row(name, "", unit)]
    if "quaternion" in name:
        return [Row(f"{name}, {part}", "", "-") for part in ("w", *AXES)]
    if "each body" in name:
        return _of_bodies(mjmodel, name, count)
    if "joint" in name or "arm" in name or "angles" in name:
        return [_of_joint(name, joint, unit) for joint in _joints(mjmodel, count)]
    return [Row(_along(name, axis), "", unit) for axis in AXES[:count]]


def motor(mjmodel: Any, index: int) -> tuple[str, str]:
    """Return the joint that a motor moves, and what a control of 1 does to it: a force or a torque."""
    joint = int(mjmodel.actuator_trnid[index, 0])
    unit = "N" if mjmodel.jnt_type[joint] == _SLIDE else "N m"
    return mjmodel.joint(joint).name, f"{mjmodel.actuator_gear[index, 0]:g} {unit}"


def _along(name: str, axis: str) -> str:
    """Return the name of a component of a vector.

    >>> _along("velocity of the torso", "z"), _along("target's x and y", "y")
    ('velocity of the torso along z', "target's y")
    """
    if "x and y" in name:
        return name.replace("x and y", axis).replace("velocities", "velocity")
    word = "about" if "rotation" in name else "along" if "velocity" in name else "in"
    return f"{name} {word} {axis}"


def _joints(mjmodel: Any, count: int) -> list[Any]:
    """Return the last joints of a robot that have one degree of freedom."""
    joints = [mjmodel.joint(index) for index in range(mjmodel.njnt)]
    moving = [one for one in joints if one.type[0] != _FREE and not one.name.startswith(("target", "obj", "goal"))]
    if len(moving) < count:
        raise ValueError(f"the model has {len(moving)} joints, but the docstring lists {count}")
    return moving[-count:]


def _of_joint(name: str, joint: Any, unit: str) -> Row:
    """Return the row of a joint: "angles of the joints" becomes "angle of the joint"."""
    is_linear = joint.type[0] == _SLIDE
    kind = name.partition(" of ")[0]
    words = {"angles": "angle", "velocities": "velocity", "sines": "sine", "cosines": "cosine", "torques": "torque"}
    single = " ".join(words.get(word, word) for word in kind.split())
    if " or " in unit:
        unit = unit.split(" or ")[0 if is_linear else 1]
    of = " of the torso" if joint.name.startswith("root") else ""
    along = {"rootx": " along x", "rootz": " along z"}.get(joint.name, "")
    if joint.name.startswith("root") and single.endswith("velocity") and not is_linear:
        single = single.replace("velocity", "rotation")
    ending = " of the angle" if single in ("sine", "cosine") else ""
    return Row(f"{single}{of}{along}{ending}", joint.name, unit)


def _of_bodies(mjmodel: Any, name: str, count: int) -> list[Row]:
    bodies = [_body_name(mjmodel, index) for index in range(1, mjmodel.nbody)]
    if name.startswith("inertia"):
        parts = [(f"moment of inertia {part}", "kg m^2") for part in INERTIA]
        parts += [(f"mass times offset along {axis}", "kg m") for axis in AXES] + [("mass", "kg")]
    elif "velocity" in name:
        parts = [(f"rotation about {axis}", "rad/s") for axis in AXES]
        parts += [(f"velocity along {axis}", "m/s") for axis in AXES]
    else:
        parts = [(f"torque of contacts about {axis}", "N m") for axis in AXES]
        parts += [(f"force of contacts along {axis}", "N") for axis in AXES]
    if len(bodies) * len(parts) != count:
        raise ValueError(f"{name!r} lists {count} numbers, but {len(bodies)} bodies have {len(parts)} each")
    return [Row(part, body, unit) for body in bodies for part, unit in parts]


def _body_name(mjmodel: Any, index: int) -> str:
    """Return the name of a body, or of the joint that moves it if it has none."""
    body = mjmodel.body(index)
    return body.name or f"body at {mjmodel.joint(int(body.jntadr[0])).name}"
