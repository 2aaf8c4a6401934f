"""A wrapper that gives each environment of a vector an info of its own."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.wrappers.vector.wrapper import VectorWrapper
from funcenv.struct import NDArray


class DictInfoToList(VectorWrapper[ObsType, ActType]):
    """A wrapper whose infos are a list with a dict for each environment, instead of a dict of arrays.

    It is Gymnasium's wrapper of this name. Put it outside wrappers that add to the infos, such as
    `RecordEpisodeStatistics`.

    Args:
        env: Vector environment to wrap.

    Raises:
        ValueError: `reset` or `step` finds an entry that does not have a row for each environment.

    >>> from funcenv import adapters
    >>> envs = DictInfoToList(adapters.make_vec("FrozenLake-v1", 2))
    >>> envs.reset(seed=0)[1]
    [{'prob': np.float32(1.0)}, {'prob': np.float32(1.0)}]
    """

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        observations, infos = result
        return observations, _rows(infos, self.num_envs)

    def _after_step(self, result: Any) -> Any:
        *rest, infos = result
        return (*rest, _rows(infos, self.num_envs))


def _rows(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Return the entries of each environment: all of them, or those that the mask of an entry names.

    >>> import numpy as np
    >>> _rows({"speed": np.array([1, 0]), "_speed": np.array([True, False]), "total": np.array([3, 4])}, 2)
    [{'speed': np.int64(1), 'total': np.int64(3)}, {'total': np.int64(4)}]
    """
    rows: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for name, column in infos.items():
        if name.startswith("_"):
            continue
        parts = _rows(column, num_envs) if isinstance(column, dict) else column
        mask = infos.get(f"_{name}", [True] * num_envs)
        for key, values in (name, parts), (f"_{name}", mask):
            if len(values) != num_envs:
                raise ValueError(f"infos[{key!r}] must have num_envs={num_envs} rows, got {len(values)}")
        for row, part, is_there in zip(rows, parts, mask, strict=True):
            if is_there:
                row[name] = part
    return rows
