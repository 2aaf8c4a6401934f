"""Runs of one id whose environments were not the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from funcenv.verify.outcome import Outcome


def environment_warnings(runs: Iterable[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """Return a sentence for each way in which the environments of runs differ, and for each that is not as recorded.

    Args:
        runs: The name of a run, its id, and what its `config.json` says about its environment; {} if it says nothing.

    >>> old, new = {"record": "aa", "simulator": "mujoco 3.17.0"}, {"record": "aa", "simulator": "mujoco 4.0.0"}
    >>> environment_warnings([("one", "Ant-v5", old), ("two", "Ant-v5", new)])
    ['Ant-v5: one used mujoco 3.17.0, two used mujoco 4.0.0']
    >>> environment_warnings([("one", "Ant-v5", {"verified": "different"})])
    ['Ant-v5: funcenv verify had found the environment of one different from its record']
    """
    runs, found = list(runs), []
    for name, id, about in runs:
        if about.get("verified") == Outcome.DIFFERENT.value:
            found.append(f"{id}: funcenv verify had found the environment of {name} different from its record")
    for (one, id, first), (other, other_id, second) in itertools.combinations(runs, 2):
        if id != other_id or not first or not second:
            continue
        for field, words in (("record", "a version of it with the record "), ("simulator", "")):
            if first.get(field) != second.get(field):
                used = [f"{name} used {words}{about.get(field)}" for name, about in ((one, first), (other, second))]
                found.append(f"{id}: {', '.join(used)}")
    return found
