"""The rows of a vector environment that different environments step: a contiguous group for each task of a `Union`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from funcenv.func_env import AnyEnv
from funcenv.parameters import map_batched
from funcenv.sharding import axis_of_rows
from funcenv.union import TaskStates, in_task, union_in


class RowGroup(NamedTuple):
    """The rows of one task."""

    env: AnyEnv
    """The environment of these rows, in its task; for a batch of environments, a batch of theirs."""
    rows: slice

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.rows.stop - self.rows.start)


def row_groups(env: AnyEnv, num_envs: int) -> list[RowGroup]:
    """Return the groups of rows, in order; none if one environment steps all rows.

    >>> from funcenv.envs import Acrobot, CartPole
    >>> from funcenv.union import Union
    >>> [group.rows for group in row_groups(Union([CartPole(), Acrobot()]), num_envs=5)]
    [slice(0, 2, None), slice(2, 5, None)]
    """
    union = union_in(env)
    if union is None:
        return []
    groups, start = [], 0
    for task, size in enumerate(union.group_sizes(num_envs)):
        rows = slice(start, start + size)
        groups.append(RowGroup(_rows_of(in_task(env, task), num_envs, rows), rows))
        start += size
    return groups


def by_group(function: Callable[..., Any], env: AnyEnv, num_envs: int, *rows: Any) -> Any:
    """Return `function(env, num_envs, *rows)`, computed for each group of rows by itself."""
    groups = row_groups(env, num_envs)
    if not groups:
        return function(env, num_envs, *rows)
    cut = cut_groups([group.size for group in groups], rows)
    return join_groups([function(group.env, group.size, *own) for group, own in zip(groups, cut, strict=True)])


def cut_groups(sizes: Sequence[int], tree: Any) -> list[Any]:
    """Return the rows of every leaf, and the states, that belong to each task.

    Raises:
        ValueError: The rows are spread over a mesh with explicit axes.

    >>> [part.tolist() for part in cut_groups([1, 2], jnp.arange(3))]
    [[0], [1, 2]]
    """
    if axis_of_rows(tree) is not None:
        raise ValueError("a mesh with explicit axes cannot hold the rows of a Union; make it with automatic axes")
    ends = [0, *itertools.accumulate(sizes)]

    def rows_of(task: int, leaf: Any) -> Any:
        if isinstance(leaf, TaskStates):
            return TaskStates(tuple(state if own == task else None for own, state in enumerate(leaf.states)))
        return leaf[ends[task] : ends[task + 1]]

    return [jax.tree.map(functools.partial(rows_of, task), tree, is_leaf=_is_states) for task in range(len(sizes))]


def join_groups(results: Sequence[Any], axis: int = 0) -> Any:
    """Return all rows, in order, along an axis of each leaf.

    >>> join_groups([{"x": jnp.zeros(1)}, {"x": jnp.ones(2)}])["x"].tolist()
    [0.0, 1.0, 1.0]
    """

    def join(*leaves: Any) -> Any:
        if isinstance(leaves[0], TaskStates):
            of_tasks = zip(*(leaf.states for leaf in leaves), strict=True)
            return TaskStates(tuple(next(s for s in states if s is not None) for states in of_tasks))
        return jnp.concatenate(leaves, axis)

    return jax.tree.map(join, *results, is_leaf=_is_states)


def _is_states(node: Any) -> bool:
    return isinstance(node, TaskStates)


def _rows_of(env: AnyEnv, num_envs: int, rows: slice) -> AnyEnv:
    batch: AnyEnv = map_batched(env, num_envs, lambda leaf: leaf[rows])
    return batch
