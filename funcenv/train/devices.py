"""Training over several devices and processes: shardings of the train state, and collective operations.

The environments of a run are spread over a mesh of all devices, with an axis "env". Every process runs the same
program on the part that its devices hold. What has been collected stays there: minibatches take equal parts of blocks
of environments (`funcenv.train.updates.blocks`), so they do not depend on the number of devices that divides the
blocks. Each device computes the gradients of its share of a minibatch, and one reduction averages them
(`funcenv.train.shares`): parameters depend on the number of devices by rounding only.

Where that is too much, `deterministic_reductions` lets every device compute all but the steps of the environments, by
the same operations in the same order as a single device.

The first process writes the files of a run and reports its progress; the others write their parts of checkpoints.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding

from funcenv._compile.switch import plain_programs
from funcenv._jax import PartitionSpec, Shape, constrain
from funcenv.random.keys import is_key
from funcenv.sharding import ENV_AXIS
from funcenv.struct import NDArray, PyTreeNode

Tree = TypeVar("Tree")

CONNECT_SECONDS = 120
"""The time that processes have to find each other."""

HEARTBEAT_SECONDS = 30
"""The time after which a process that is not heard from counts as lost."""

Mark = dict[str, bool]
"""The metadata of a field that says how its leaves are spread over devices."""

PER_ENV: Mark = {"per_env": True}
"""The metadata of a field of a train state, or of a part of it, whose leaves have a leading axis of environments.

These leaves are sharded over the devices of a run; all others are replicated.
"""

PER_BLOCK: Mark = {"per_block": True}
"""The metadata of a field whose leaves have axes `[num_steps, num_envs]`, of a class with the field `num_blocks`.

They are sharded over the devices of a run if these divide the blocks, and replicated otherwise.
"""

_deterministic = contextvars.ContextVar("_deterministic", default=False)


class CoordinatorError(RuntimeError):
    """The processes of a run do not find each other."""


class ProcessLostError(RuntimeError):
    """Another process of the run has stopped."""


def connect(
    coordinator: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    timeout_seconds: int = CONNECT_SECONDS,
) -> None:
    """Make this process one of several that train together; call it before anything else uses JAX.

    Args:
        coordinator: `"HOST:PORT"` of the first process. Left out, it and all other arguments are read from the
            environment of SLURM, Open MPI, Kubernetes or a TPU pod.
        num_processes: Number of processes.
        process_id: Number of this process, from 0.
        timeout_seconds: How long to wait for the others.

    Raises:
        ValueError: An argument is missing or out of range, or process 0 was given another number of processes.
        CoordinatorError: The first process cannot be reached in time. If another one does not come, this process ends
            with a message and the status 1.
    """
    given = {"coordinator": coordinator, "num_processes": num_processes, "process_id": process_id}
    missing = [name for name, value in given.items() if value is None]
    if 0 < len(missing) < len(given):
        raise ValueError(
            f"{', '.join(given)} belong together, {missing[0]} is missing; give all of them, or none under SLURM, "
            "Open MPI, Kubernetes and on TPU pods"
        )
    if coordinator is not None and not coordinator.rpartition(":")[2].isdecimal():
        raise ValueError(f"coordinator must be HOST:PORT, got {coordinator!r}; for example node1:12345")
    if num_processes is not None and process_id is not None and not 0 <= process_id < num_processes:
        raise ValueError(f"process_id must be at least 0 and below num_processes={num_processes}, got {process_id}")
    if coordinator is not None and process_id:
        _require_listener(coordinator, process_id, timeout_seconds)
    # JAX aborts the process with a stack trace at its own time-out; this message comes before.
    alarm = threading.Timer(timeout_seconds, _give_up, (coordinator, num_processes, timeout_seconds))
    alarm.daemon = True
    alarm.start()
    try:
        jax.distributed.initialize(
            coordinator,
            num_processes,
            process_id,
            initialization_timeout=timeout_seconds + HEARTBEAT_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
            shutdown_timeout_seconds=HEARTBEAT_SECONDS,
        )
    except ValueError as error:  # nothing tells the addresses
        raise ValueError(
            f"the processes of the run are not known ({error}); give coordinator, num_processes and process_id"
        ) from error
    finally:
        alarm.cancel()
    if num_processes is not None and jax.process_count() != num_processes:
        raise ValueError(
            f"num_processes is {jax.process_count()} for process 0 and {num_processes} for process {process_id}; "
            "give all processes the same number"
        )


def _require_listener(coordinator: str, process_id: int, timeout_seconds: float) -> None:
    """Wait until the first process listens, and raise `CoordinatorError` if it does not in time."""
    host, _, port = coordinator.rpartition(":")
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_seconds).close()
            return
        except OSError as error:
            if time.monotonic() >= deadline:
                raise CoordinatorError(
                    f"process {process_id} cannot reach process 0 at {coordinator} within {timeout_seconds} s "
                    f"({error}); check that it runs there, that no firewall closes the port, and that this host can "
                    "resolve the address"
                ) from error
        time.sleep(0.2)


def _give_up(coordinator: str | None, num_processes: int | None, timeout_seconds: float) -> None:
    """End the process, because the others have not come."""
    print(
        f"the {num_processes or ''} processes of the run did not all come to {coordinator or 'process 0'} within "
        f"{timeout_seconds} s; check that every one was started, with the same address and number of processes",
        file=sys.stderr,
        flush=True,
    )
    os._exit(1)


def is_first() -> bool:
    """Return whether this process writes the files of the run."""
    return jax.process_index() == 0


def make_mesh(num_envs: int, devices: Sequence[jax.Device] | None = None) -> Mesh | None:
    """Return a mesh of devices that environments are spread over, by default all; None if there is one device.

    Raises:
        ValueError: The environments cannot be divided evenly.
    """
    devices = jax.devices() if devices is None else devices
    count = len(devices)
    if count == 1 and devices[0] in jax.devices():
        return None
    if num_envs % count:
        raise ValueError(
            f"num_envs must be a multiple of the {count} devices in {jax.process_count()} processes, got {num_envs}; "
            "choose another number, or fewer devices by CUDA_VISIBLE_DEVICES"
        )
    return jax.make_mesh((count,), (ENV_AXIS,), axis_types=(AxisType.Auto,), devices=devices)


@contextlib.contextmanager
def within(mesh: Mesh | None) -> Iterator[None]:
    """Trace programs for a mesh, whose devices may be described only; None is for the default device."""
    if mesh is None:
        yield
    elif mesh.devices.flat[0] in jax.devices():
        with jax.set_mesh(mesh):
            yield
    else:  # Nothing can be put on devices that are not there.
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            yield


def state_shardings(mesh: Mesh, state: Any, has_seeds: bool = True) -> Any:
    """Return the shardings of a train state: `PER_ENV` and `PER_BLOCK` fields over the environments, others replicated.

    Args:
        mesh: The devices.
        state: A train state, or its shapes.
        has_seeds: Whether its leaves have leading axes `[num_seeds]`.
    """
    seeds = [None] * has_seeds
    rows, steps = (NamedSharding(mesh, PartitionSpec(*seeds, *axes)) for axes in ([ENV_AXIS], [None, ENV_AXIS]))
    everywhere = NamedSharding(mesh, PartitionSpec())

    def place(mark: Mark, node: Any) -> NamedSharding:
        if mark == PER_BLOCK:
            return steps if _divides_blocks(mesh, node) else everywhere
        return rows if mark == PER_ENV else everywhere

    return map_marks(place, state)


def map_marks(function: Callable[[Mark, Any], Any], state: Any) -> Any:
    """Return a train state with a value of `function` in place of each leaf.

    Args:
        function: Takes `PER_ENV`, `PER_BLOCK` or `{}`, the mark of the field that holds the leaf, and the node of the
            tree that has this field.
        state: A train state, or its shapes.
    """
    if not isinstance(state, PyTreeNode):
        return jax.tree.map(lambda _: function({}, state), state)
    mapped = {}
    for entry in dataclasses.fields(state):  # type: ignore[arg-type]  # every subclass is a dataclass
        if entry.metadata.get("pytree_node", True):
            part = getattr(state, entry.name)
            mark = next((mark for mark in (PER_ENV, PER_BLOCK) if entry.metadata.items() >= mark.items()), None)
            if mark is None:
                mapped[entry.name] = map_marks(function, part)
            else:
                mapped[entry.name] = jax.tree.map(lambda _, mark=mark: function(mark, state), part)
    return state.replace(**mapped)


def _divides_blocks(mesh: Mesh, node: Any) -> bool:
    return bool(node.num_blocks % mesh.size == 0) and not is_deterministic()


@contextlib.contextmanager
def deterministic_reductions(is_on: bool) -> Iterator[None]:
    """Make programs, if `is_on`, whose results are the same on any number of devices, bit for bit."""
    token = _deterministic.set(is_on)
    try:
        with plain_programs() if is_on else contextlib.nullcontext():
            yield
    finally:
        _deterministic.reset(token)


def is_deterministic() -> bool:
    """Return whether the program that is being traced must not depend on the number of devices, bit for bit.

    >>> with deterministic_reductions(True):
    ...     is_deterministic()
    True
    """
    return _deterministic.get()


def replicate(tree: Tree) -> Tree:
    """Constrain a tree to be replicated over the mesh; without a mesh, return it."""
    if ENV_AXIS not in jax.sharding.get_abstract_mesh().axis_names:
        return tree
    kept: Tree = constrain(tree, PartitionSpec())
    return kept


def replicate_if_deterministic(tree: Tree) -> Tree:
    """Let every device compute a tree in full for deterministic reductions: partial sums round otherwise."""
    return replicate(tree) if is_deterministic() else tree


def all_gather(tree: Tree, num_axes: int) -> Tree:
    """Replicate sharded arrays over the mesh; without a mesh, return them.

    All leaves travel as one array of 32-bit words, so that the program has one collective operation for them.

    Args:
        tree: Arrays whose environments are sharded.
        num_axes: The number of leading axes that all leaves have, those of steps and environments.
    """
    if ENV_AXIS not in jax.sharding.get_abstract_mesh().axis_names:
        return tree
    leaves, structure = jax.tree.flatten(tree)
    parts = [_to_words(leaf, num_axes) for leaf in leaves]
    words = replicate(jnp.concatenate(parts, axis=-1))
    ends = np.cumsum([part.shape[-1] for part in parts])[:-1]
    gathered = map(_from_words, jnp.split(words, ends, axis=-1), leaves)
    result: Tree = jax.tree.unflatten(structure, gathered)
    return result


def _to_words(leaf: jax.Array, num_axes: int) -> jax.Array:
    """Return the bits of a leaf as words, uint32 `[..., num_words]`; the last word may have bits to spare."""
    rows = leaf.reshape(*leaf.shape[:num_axes], -1)
    rows = rows.astype(jnp.uint8) if leaf.dtype == bool else rows
    per_word = 4 // rows.dtype.itemsize
    if per_word > 1:
        rows = jnp.pad(rows, [(0, 0)] * num_axes + [(0, -rows.shape[-1] % per_word)])
        rows = rows.reshape(*rows.shape[:-1], -1, per_word)
    return jax.lax.bitcast_convert_type(rows, jnp.uint32).reshape(*leaf.shape[:num_axes], -1)


def _from_words(words: jax.Array, like: jax.Array) -> jax.Array:
    """Return the leaf of which `_to_words` made words."""
    dtype = jnp.dtype(jnp.uint8) if like.dtype == bool else like.dtype
    if dtype.itemsize > 4:
        words = words.reshape(*words.shape[:-1], -1, dtype.itemsize // 4)
    lead = words.shape[: words.ndim - (1 if dtype.itemsize <= 4 else 2)]
    rows = jax.lax.bitcast_convert_type(words, dtype).reshape(*lead, -1)
    size = math.prod(like.shape[len(lead) :])
    return rows[..., :size].reshape(like.shape).astype(like.dtype)


def with_shardings(shapes: Any, shardings: Any) -> Any:
    """Return shapes with these shardings."""
    return jax.tree.map(lambda leaf, sharding: Shape(leaf.shape, leaf.dtype, sharding=sharding), shapes, shardings)


def replicated(mesh: Mesh, tree: Any) -> Any:
    """Return replicated shardings for the leaves of a tree."""
    return jax.tree.map(lambda _: NamedSharding(mesh, PartitionSpec()), tree)


def put_replicated(mesh: Mesh | None, tree: Tree) -> Tree:
    """Place identical host-local arrays on all devices, replicated; without a mesh, return them."""
    return tree if mesh is None else put_sharded(tree, replicated(mesh, tree))


def put_sharded(tree: Tree, shardings: Any) -> Tree:
    """Place identical host-local arrays on devices according to `shardings`."""

    def put(leaf: Any, sharding: NamedSharding) -> jax.Array:
        if is_key(leaf):
            return jax.random.wrap_key_data(put(jax.random.key_data(leaf), sharding), impl=jax.random.key_impl(leaf))
        values = np.asarray(leaf)
        return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])

    placed: Tree = jax.tree.map(put, tree, shardings)
    return placed


def all_gather_scalars(*values: float) -> NDArray:
    """All-gather scalars over processes, `[num_processes, len(values)]`; block until every process has called this."""
    if jax.process_count() == 1:
        return np.array([values])
    from jax.experimental import multihost_utils

    with lost_processes():
        return np.asarray(multihost_utils.process_allgather(np.array(values)))


def wait_for_all(name: str) -> None:
    """Block until every process has called this with the same name."""
    if jax.process_count() > 1:
        from jax.experimental import multihost_utils

        with lost_processes():
            multihost_utils.sync_global_devices(name)


@contextlib.contextmanager
def lost_processes() -> Iterator[None]:
    """Raise `ProcessLostError` where a collective operation fails because another process has stopped."""
    try:
        yield
    except ProcessLostError:
        raise
    except Exception as error:
        is_lost = isinstance(error, jax.errors.JaxRuntimeError) or "barrier" in str(error).lower()
        if jax.process_count() == 1 or not is_lost:
            raise
        raise ProcessLostError(
            f"process {jax.process_index()} of {jax.process_count()} stops, because another one has stopped; see what "
            f"that one printed, then start all of them again with --resume. JAX says: {str(error).splitlines()[0]}"
        ) from error
