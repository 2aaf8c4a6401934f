"""The devices that a program is for, rows that are spread over them, and values that vary in `jax.shard_map`.

Inside `jax.shard_map`, JAX records for each value over which axes of the mesh it varies, and loops and branches must
return the axes that they were given. A constant such as a counter at 0 varies over none, but whatever a step computes
from a key may vary. Results are therefore marked as varying over all axes that their arguments vary over. Outside of
`jax.shard_map` nothing varies, and these functions return their arguments.
"""

from __future__ import annotations

from typing import Any

import jax

from funcenv._jax import PartitionSpec, reshard

ENV_AXIS = "env"
"""The axis of a mesh that environments are spread over, where no type names one."""

_PLATFORMS = {"cuda": "gpu", "rocm": "gpu"}  # JAX's names of the compilers for GPUs


def target_platform() -> str:
    """Return the platform that a program is traced for: "cpu", "gpu" or "tpu".

    It is that of the mesh in whose context the program is traced (`jax.set_mesh`, `jax.sharding.use_abstract_mesh`),
    whose devices need not be there, or else that of JAX's default backend.

    >>> target_platform() == jax.default_backend()
    True
    """
    device: Any = getattr(jax.sharding.get_abstract_mesh(), "abstract_device", None)  # JAX declares no type
    platform = getattr(device, "platform", None) or jax.default_backend()
    return _PLATFORMS.get(platform, platform)


def varying_axes(*trees: Any) -> frozenset[Any]:
    """Return the axes of the mesh that some leaf varies over.

    >>> varying_axes(jax.numpy.zeros(3), {"x": 1.0})
    frozenset()
    """
    return frozenset().union(*map(_axes_of_leaf, jax.tree.leaves(trees)))


def _axes_of_leaf(leaf: Any) -> frozenset[Any]:
    if not isinstance(leaf, jax.Array):
        return frozenset()
    kind: Any = jax.typeof(leaf)
    return (
        kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else kind.vma
    )  # the name before jax 0.10.1


def vary_over(axes: frozenset[Any], tree: Any) -> Any:
    """Mark all leaves as varying over these axes.

    >>> vary_over(frozenset(), {"x": 1.0})
    {'x': 1.0}
    """
    if not axes:
        return tree

    def mark(leaf: Any) -> Any:
        missing = axes - _axes_of_leaf(leaf)
        return jax.lax.pcast(leaf, tuple(missing), to="varying") if missing else leaf

    return jax.tree.map(mark, tree)


def axis_of_rows(tree: Any) -> Any:
    """Return the axis of the mesh that the first axis of some leaf is spread over; None if no type says so.

    Only a mesh with explicit axes makes shardings a part of types.

    >>> axis_of_rows(jax.numpy.zeros(3))
    """
    if not jax.sharding.get_abstract_mesh().explicit_axes:
        return None
    specs = [jax.typeof(leaf).sharding.spec for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    return next((spec[0] for spec in specs if spec and spec[0] is not None), None)


def axis_in_context(num_rows: int) -> str | None:
    """Return `ENV_AXIS` if the program is traced for a mesh that has this axis, and if its devices divide the rows.

    That is the case in the context of a mesh whose axis is automatic, and not within `jax.shard_map` over it.

    >>> axis_in_context(8)
    """
    size = num_devices_in_context()
    return ENV_AXIS if size > 1 and num_rows % size == 0 else None


def num_devices_in_context() -> int:
    """Return the size of the axis `ENV_AXIS`, if it is automatic, of the mesh that the program is traced for, or 1.

    >>> num_devices_in_context()
    1
    """
    mesh = jax.sharding.get_abstract_mesh()
    return mesh.shape[ENV_AXIS] if ENV_AXIS in mesh.auto_axes else 1


def spread_rows(axis: Any, tree: Any) -> Any:
    """Spread the first axis of all leaves over an axis of the mesh, as `axis_of_rows` returns it; None does nothing.

    >>> spread_rows(None, {"x": jax.numpy.zeros(3)})
    {'x': Array([0., 0., 0.], dtype=float32)}
    """
    if axis is None:
        return tree

    def spread(leaf: Any) -> Any:
        spec = jax.typeof(leaf).sharding.spec
        return reshard(leaf, PartitionSpec(axis, *spec[1:]))

    return jax.tree.map(spread, tree)


def spread_alike(rows: jax.Array, tree: Any) -> Any:
    """Spread leaves `[num_steps, num_rows, ...]` over the devices that `rows`, with axes `[num_rows]`, is spread over.

    XLA keeps a constant on every device, also where other leaves are spread. Other leaves, and traced ones, stay as
    they are.

    >>> spread_alike(jax.numpy.zeros(3), {"x": jax.numpy.zeros((1, 3))})
    {'x': Array([[0., 0., 0.]], dtype=float32)}
    """
    sharding = None if isinstance(rows, jax.core.Tracer) else rows.sharding
    if not isinstance(sharding, jax.sharding.NamedSharding) or sharding.is_fully_replicated:
        return tree
    spread = jax.sharding.NamedSharding(sharding.mesh, PartitionSpec(None, *sharding.spec))

    def put(leaf: Any) -> Any:
        is_kept_whole = leaf.ndim > 1 and leaf.shape[1] == rows.shape[0] and leaf.sharding.is_fully_replicated
        return jax.device_put(leaf, spread) if is_kept_whole else leaf

    return jax.tree.map(put, tree)
