"""Work that the devices of a run share: each computes its part, and a single reduction joins what all must know.

Functions here take rows along an axis that is spread over the mesh: environments, blocks of them, or the rows of a
minibatch in the order of its blocks. Each device gets its part of the rows, so nothing but a reduction crosses devices.
XLA, left alone, would gather rows where axes are merged. Without a mesh, and for deterministic reductions, a function
simply gets all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.flatten_util import ravel_pytree

from funcenv._jax import PartitionSpec, pmean, psum
from funcenv.sharding import ENV_AXIS, num_devices_in_context
from funcenv.train.devices import all_gather, is_deterministic

Result = TypeVar("Result")


def num_shares(num_rows: int) -> int:
    """Return the number of devices that share rows: all of the mesh, or 1 if each takes all.

    >>> num_shares(8)
    1
    """
    devices = num_devices_in_context()
    return 1 if is_deterministic() or num_rows % devices else devices


def is_shared(num_rows: int) -> bool:
    """Return whether each device holds and computes its share of these rows.

    >>> is_shared(8)
    False
    """
    return num_shares(num_rows) > 1


def on_shares(
    function: Callable[..., Result],
    *rows: Any,
    common: tuple[Any, ...] = (),
    axis: int | tuple[int, ...] = 0,
    out_axis: int | None = None,
) -> Result:
    """Apply a function that treats rows independently, or block by block; each device applies it to its share.

    Args:
        function: from arrays with a share of the rows to arrays with results for the same rows.
        *rows: pytrees of arrays.
        common: the first arguments of the function, which every device has, such as parameters.
        axis: the axis of all arrays that counts rows or blocks, or one for each argument.
        out_axis: the same of the results, by default `axis`.

    >>> import jax.numpy as jnp
    >>> on_shares(lambda x: 2 * x, jnp.arange(3)).tolist()
    [0, 2, 4]
    """
    axes = (axis,) * len(rows) if isinstance(axis, int) else axis
    return _mapped(function, common, rows, axes, _spec(axes[0] if out_axis is None else out_axis))


def gathered_unless_shared(tree: Result, num_rows: int, num_axes: int) -> Result:
    """Return arrays of rows as they are if devices share them, and else all-gathered.

    Args:
        tree: arrays, spread over the devices of the run by environments.
        num_rows: how many rows or blocks they are divided into.
        num_axes: as `all_gather` takes it.

    >>> gathered_unless_shared([1.0], num_rows=1, num_axes=1)
    [1.0]
    """
    return tree if is_shared(num_rows) or is_deterministic() else all_gather(tree, num_axes)


def mean_over_rows(function: Callable[..., Result], *rows: Any, common: tuple[Any, ...] = (), axis: int = 0) -> Result:
    """Return means over rows, joined by one reduction of one vector.

    Args:
        function: from arrays with a share of the rows to a pytree of floats, each a mean over these rows.
        *rows: pytrees of arrays.
        common: the first arguments of the function, which every device has, such as parameters.
        axis: the axis of all arrays that counts the rows.

    >>> import jax.numpy as jnp
    >>> float(mean_over_rows(jnp.mean, jnp.arange(3.0)))
    1.0
    """
    return _reduced(pmean, function, common, rows, axis)


def sum_over_rows(function: Callable[..., Result], *rows: Any, axis: int = 0) -> Result:
    """Return sums over rows, joined by one reduction, as `mean_over_rows` does with means.

    >>> import jax.numpy as jnp
    >>> float(sum_over_rows(jnp.sum, jnp.arange(3.0)))
    3.0
    """
    return _reduced(psum, function, (), rows, axis)


def _reduced(
    reduce: Callable[..., Any], function: Callable[..., Result], common: tuple[Any, ...], rows: Any, axis: int
) -> Result:
    def reduced(*args: Any) -> Result:
        vector, restore = ravel_pytree(function(*args))
        result: Result = restore(reduce(vector, ENV_AXIS))
        return result

    return _mapped(function, common, rows, (axis,) * len(rows), PartitionSpec(), reduced)


def _mapped(
    function: Callable[..., Result],
    common: tuple[Any, ...],
    rows: tuple[Any, ...],
    axes: tuple[int, ...],
    out: Any,
    shared: Callable[..., Result] | None = None,
) -> Result:
    counts = [jax.tree.leaves(tree)[0].shape[axis] for tree, axis in zip(rows, axes, strict=True)]
    if not all(map(is_shared, counts)):
        return function(*common, *rows)
    specs = (*(PartitionSpec() for _ in common), *map(_spec, axes))
    # Networks of users may hold loops that begin with constants, which the check would refuse.
    mapped = jax.shard_map(shared or function, in_specs=specs, out_specs=out, check_vma=False)
    result: Result = mapped(*common, *rows)
    return result


def _spec(axis: int) -> Any:
    return PartitionSpec(*[None] * axis, ENV_AXIS)
