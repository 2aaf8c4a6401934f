"""Members of a space as a batch on the host, and the rows of a batch."""

from __future__ import annotations

import copy as copying
from typing import Any

import numpy as np

from funcenv.spaces import Tuple


def stack_members(space: Any, members: list[Any]) -> Any:
    """Return a batch of members in fresh arrays."""
    parts = getattr(space, "spaces", None)
    if isinstance(parts, dict):
        return {name: stack_members(part, [member[name] for member in members]) for name, part in parts.items()}
    if isinstance(space, Tuple):
        return tuple(stack_members(part, [member[i] for member in members]) for i, part in enumerate(space.spaces))
    if space.shape is None or space.dtype is None:
        return tuple(copying.deepcopy(members))
    return np.stack([np.asarray(member, space.dtype) for member in members])


def member_rows(space: Any, members: Any, num_envs: int) -> list[Any]:
    """Return the member of each environment, given the space of the batch: its action, or its observation."""
    parts = getattr(space, "spaces", None)
    if isinstance(members, dict):
        columns = {name: member_rows(_part(parts, name), part, num_envs) for name, part in members.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(num_envs)]
    if isinstance(members, tuple) and parts is not None:
        columns_of = [member_rows(_part(parts, i), part, num_envs) for i, part in enumerate(members)]
        return [tuple(column[i] for column in columns_of) for i in range(num_envs)]
    rows = list(members)
    if len(rows) != num_envs:
        raise ValueError(f"actions must have one row for each of num_envs={num_envs}, got {len(rows)}")
    return rows


def _part(parts: Any, name: Any) -> Any:
    """Return a part of a composite space, or None if there is no such part."""
    is_there = name in parts if isinstance(parts, dict) else isinstance(parts, tuple) and name < len(parts)
    return parts[name] if is_there else None
