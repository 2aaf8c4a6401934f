"""The agents that come with the package, `load_policy("zoo/ID")`: parameters as safetensors, and their returns as JSON.

They are data like every policy file: none of them names code. docs/export_agents.py writes them.
"""

from __future__ import annotations

import difflib
import functools
import importlib.resources
import json
import os
import pathlib
from typing import Any

from funcenv.files import as_file_name

FOLDER = "zoo"
"""The folder of the package that holds them, and what their names begin with."""


def is_zoo_name(policy: str | os.PathLike[str]) -> bool:
    """Return whether a name stands for an agent of the zoo, and for no file or folder that exists.

    >>> is_zoo_name("zoo/CartPole-v1"), is_zoo_name("runs/first")
    (True, False)
    """
    return isinstance(policy, str) and policy.startswith(f"{FOLDER}/") and not os.path.exists(policy)


@functools.cache
def zoo_agents() -> dict[str, dict[str, Any]]:
    """Return what is known of every agent of the zoo, by its id: its specification, and what it reaches and cost.

    >>> zoo_agents()["CartPole-v1"]["results"]["mean_return"]
    500.0
    """
    files = (entry for entry in _folder().iterdir() if entry.name.endswith(".json"))
    found = [json.loads(entry.read_text(encoding="utf-8")) for entry in files]
    return {one["config"]["env_id"]: one for one in sorted(found, key=lambda one: str(one["config"]["env_id"]))}


def zoo_file(name: str) -> pathlib.Path:
    """Return the file of an agent of the zoo.

    Args:
        name: "zoo/ID"; the id may lack its version.

    Raises:
        ValueError: There is no agent of this id; the message lists those that there are.

    >>> zoo_file("zoo/CartPole-v1").name
    'CartPole-v1.safetensors'
    """
    asked, known = name.removeprefix(f"{FOLDER}/"), zoo_agents()
    newest = {env_id.rpartition("-v")[0]: env_id for env_id in known}
    env_id = asked if asked in known else newest.get(asked)
    if env_id is None:
        close = difflib.get_close_matches(asked, [*known, *newest], n=1)
        remedy = f"did you mean {FOLDER}/{newest.get(close[0], close[0])}? It" if close else "it"
        raise ValueError(f"the zoo has no agent of {asked!r}; {remedy} has agents of {', '.join(known)}")
    return pathlib.Path(str(_folder() / f"{as_file_name(env_id)}.safetensors"))


def _folder() -> Any:
    return importlib.resources.files("funcenv") / FOLDER
