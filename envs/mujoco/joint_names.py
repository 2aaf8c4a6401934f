"""The names of joints in words, as the documentation of Gymnasium calls them."""

from __future__ import annotations

import re

_NAMES = {
    "hip_1": "front left hip",
    "ankle_1": "front left ankle",
    "hip_2": "front right hip",
    "ankle_2": "front right ankle",
    "hip_3": "back left hip",
    "ankle_3": "back left ankle",
    "hip_4": "back right hip",
    "ankle_4": "back right ankle",
    "joint0": "first joint",
    "joint1": "second joint",
    "motor1_rot": "first rotor",
    "motor2_rot": "second rotor",
    "thigh_left_joint": "left thigh",
    "leg_left_joint": "left leg",
    "foot_left_joint": "left foot",
}
_SHORT = {"r": "right", "l": "left"}
_SIDED = re.compile(r"([bf])(thigh|shin|foot)")


def in_words(joint: str) -> str:
    """Return the name of a joint in words.

    >>> [in_words(name) for name in ("hip_4", "bthigh", "r_wrist_flex_joint", "right_shoulder1", "slider")]
    ['back right hip', 'back thigh', 'right wrist flex', 'right shoulder 1', 'slider']
    """
    if joint in _NAMES:
        return _NAMES[joint]
    if sided := _SIDED.fullmatch(joint):
        return f"{'back' if sided[1] == 'b' else 'front'} {sided[2]}"
    words = re.sub(r"(?<=[a-z])(?=\d)", " ", joint.removesuffix("_joint")).split("_")
    return " ".join(_SHORT.get(word, word) for word in words).strip()
