"""The name `gymnasium.envs.registration` for the registry of stateful environments."""

from __future__ import annotations

from funcenv.adapters.compat.listing import pprint_registry
from funcenv.adapters.registration import (
    EnvSpec,
    VectorizeMode,
    make,
    make_vec,
    register,
    register_envs,
    registry,
    spec,
)
from funcenv.adapters.wrapper_spec import WrapperSpec
from funcenv.registry import parse_id

__all__ = [
    "EnvSpec",
    "VectorizeMode",
    "WrapperSpec",
    "find_highest_version",
    "get_env_id",
    "make",
    "make_vec",
    "parse_env_id",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "spec",
]

parse_env_id = parse_id


def get_env_id(ns: str | None, name: str, version: int | None) -> str:
    """Return the id of a namespace, a name and a version, the inverse of `parse_env_id`.

    >>> get_env_id("lab", "Maze", 3), get_env_id(None, "Maze", None), parse_env_id("lab/Maze-v3")
    ('lab/Maze-v3', 'Maze', ('lab', 'Maze', 3))
    """
    return ("" if ns is None else f"{ns}/") + name + ("" if version is None else f"-v{version}")


def find_highest_version(ns: str | None, name: str) -> int | None:
    """Return the newest registered version of an environment, or None if there is none.

    >>> find_highest_version(None, "CartPole"), find_highest_version(None, "Tightrope")
    (1, None)
    """
    found = [parse_id(id) for id in registry]
    return max((version for *names, version in found if names == [ns, name] and version is not None), default=None)
