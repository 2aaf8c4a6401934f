"""The step of a world, and of a batch of worlds.

Most bodies fly most of the time, and contacts are the dearer part of a step. On a CPU a batch of worlds is therefore
computed in two passes: all worlds together as if nothing touched, and then, one after the other and in full, those in
which bodies are close to each other. Both passes are one kernel, since between kernels XLA would spend more time than
within them. Worlds that are always on the ground take the second pass alone, which halves the time of compiling.
Results are those of the plain program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.chunks import Chunks
from funcenv._compile.options import is_debugging
from funcenv._compile.single_kernel import mark_single_kernel
from funcenv._compile.switch import is_enabled
from funcenv.physics.fixtures import Fixtures
from funcenv.physics.scalars import Number, once, row_at, with_row
from funcenv.physics.simulation import Inputs, Settings, advance, fly
from funcenv.physics.vectors import Vector
from funcenv.physics.world import World, WorldState
from funcenv.sharding import target_platform

_MAX_SINGLE_WORLDS = 4  # most worlds that are computed one by one


def step(
    world: World,
    state: WorldState,
    dt: float,
    velocity_iterations: int = 8,
    position_iterations: int = 3,
    forces: Mapping[int, Vector] | None = None,
    torques: Mapping[int, Number] | None = None,
    is_apart: bool = False,
) -> WorldState:
    """Return the state after a time step.

    Args:
        world: what `state` is a state of.
        state: the state before.
        dt: length of the step [s], the same for all steps of an episode.
        velocity_iterations: iterations of the constraints on velocities.
        position_iterations: most iterations of the constraints on positions, which end when the errors are small.
        forces: forces on the centres of mass of moving bodies, by the index of the body [N].
        torques: torques on moving bodies, by the index of the body [N m].
        is_apart: whether it is known that no contact exists before the step, as where an episode begins in the air;
            the program is smaller then. Contacts that do exist would be ignored.

    >>> from funcenv.physics import Body, Circle, Fixture, initial_state
    >>> ball = Body((Fixture(Circle(0.5), density=1.0),))
    >>> world = World((ball,), gravity=(0.0, 0.0))
    >>> state = step(world, initial_state(world), dt=0.1, forces={0: (7.85398, 0.0)})
    >>> round(float(state.velocity_x[0]), 3)
    1.0
    """
    inputs = Inputs(world, dict(forces or {}), dict(torques or {}))
    leaves, structure = jax.tree.flatten(inputs)
    is_data = tuple(isinstance(leaf, jax.Array) for leaf in leaves)
    known = tuple(None if data else _Known(leaf) for leaf, data in zip(leaves, is_data, strict=True))
    settings = Settings(float(dt), velocity_iterations, position_iterations, is_apart=is_apart)
    program = _program(settings, structure, known)
    result: WorldState = program([leaf for leaf, data in zip(leaves, is_data, strict=True) if data], state)
    return result


class _Known:
    """A number or array that is known when a program is traced, with its value for an identity."""

    def __init__(self, value: Any) -> None:
        self.value = value
        array = np.asarray(value)
        self._key: Hashable = array.tobytes(), array.dtype.str, array.shape

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self._key == other._key


@functools.lru_cache(maxsize=256)
def _program(settings: Settings, structure: Any, known: tuple[_Known | None, ...]) -> Any:
    """Return the step as a program of the numbers that are not known, and the state.

    It is traced once for all worlds of the same structure with the same known numbers.
    """

    def restore(data: list[jax.Array]) -> Inputs:
        numbers = iter(data)
        inputs: Inputs = jax.tree.unflatten(structure, [next(numbers) if k is None else k.value for k in known])
        return inputs

    # Each of them is traced once, without the axis of a batch, and then serves batches of all sizes.
    @functools.partial(jax.jit, inline=True)
    def alone(data: list[jax.Array], state: WorldState) -> WorldState:
        return advance(settings._replace(is_alone=True), restore(data), state)

    @functools.partial(jax.jit, inline=True)
    def together(data: list[jax.Array], state: WorldState) -> WorldState:
        return advance(settings, restore(data), state)

    @functools.partial(jax.jit, inline=True)
    def flight(data: list[jax.Array], state: WorldState) -> tuple[WorldState, jax.Array]:
        return fly(settings, restore(data), state)

    passes = _Passes(alone, together, flight)

    @jax.custom_batching.custom_vmap
    def stepped(data: list[jax.Array], state: WorldState) -> WorldState:
        return mark_single_kernel(alone, inlines=True)(data, state) if _allows_kernels() else alone(data, state)

    @stepped.def_vmap
    def _(size: int, is_mapped: Any, data: list[jax.Array], state: WorldState) -> tuple[WorldState, Any]:
        axes = tuple(0 if mapped else None for mapped in is_mapped[0])
        state = _broadcast(state, is_mapped[1], size)
        result = _batch_program(passes, _kind_of(restore(data).world), axes, size)(data, state)
        return result, jax.tree.map(lambda _: True, result)

    return jax.jit(stepped)


class _Passes(NamedTuple):
    """The step of a world, as functions of the numbers that are not known, and the state."""

    alone: Callable[..., WorldState]  # step of a world by itself
    together: Callable[..., WorldState]  # step of a world in a batch
    flight: Callable[..., tuple[WorldState, jax.Array]]  # step without contacts, and its validity


class _Kind(NamedTuple):
    """The passes that a batch of worlds needs."""

    flies: bool
    touches: bool


def _kind_of(world: World) -> _Kind:
    """Return the kind of a world, which its structure decides."""
    touches = Fixtures(world).max_contacts > 0
    return _Kind(flies=not (touches and world.is_grounded), touches=touches)


def _batch_program(passes: _Passes, kind: _Kind, axes: tuple[int | None, ...], size: int) -> Any:
    """Return the step of a batch of worlds. Under another `jax.vmap` it is the step of one larger batch."""

    def plain(data: list[jax.Array], state: WorldState) -> WorldState:
        result: WorldState = jax.vmap(passes.together, in_axes=(list(axes), 0))(data, state)
        return result

    @jax.custom_batching.custom_vmap
    def stepped(data: list[jax.Array], state: WorldState) -> WorldState:
        rows = functools.partial(_step_rows, passes, kind, list(axes), size)
        return mark_single_kernel(rows, inlines=True)(data, state) if _allows_kernels() else plain(data, state)

    @stepped.def_vmap
    def _(outer: int, is_mapped: Any, data: list[jax.Array], state: WorldState) -> tuple[WorldState, Any]:
        state = _broadcast(state, is_mapped[1], outer)
        if not _allows_kernels():
            result = jax.vmap(plain, in_axes=([0 if mapped else None for mapped in is_mapped[0]], 0))(data, state)
            return result, jax.tree.map(lambda _: True, result)
        all_axes, rows = [], []
        for leaf, axis, mapped in zip(data, axes, is_mapped[0], strict=True):
            is_shared = axis is None and not mapped
            leaf = leaf if mapped or is_shared else jnp.broadcast_to(leaf, (outer, *leaf.shape))
            if axis is None and mapped:
                leaf = jnp.broadcast_to(leaf[:, None], (outer, size, *leaf.shape[1:]))
            all_axes.append(None if is_shared else 0)
            rows.append(leaf if is_shared else leaf.reshape(outer * size, *leaf.shape[2:]))
        flat = jax.tree.map(lambda leaf: leaf.reshape(outer * size, *leaf.shape[2:]), state)
        result = _batch_program(passes, kind, tuple(all_axes), outer * size)(rows, flat)
        result = jax.tree.map(lambda leaf: leaf.reshape(outer, size, *leaf.shape[1:]), result)
        return result, jax.tree.map(lambda _: True, result)

    return stepped


def _broadcast(state: WorldState, is_mapped: Any, size: int) -> WorldState:
    """Return the state with a leading axis in all leaves."""
    broadcast: WorldState = jax.tree.map(
        lambda leaf, mapped: leaf if mapped else jnp.broadcast_to(leaf, (size, *leaf.shape)), state, is_mapped
    )
    return broadcast


def _allows_kernels() -> bool:
    """Return whether steps are compiled to single kernels: on one CPU."""
    if not is_enabled() or is_debugging():
        return False
    return target_platform() == "cpu" and len(jax.devices()) == 1


def _step_rows(
    passes: _Passes,
    kind: _Kind,
    axes: list[int | None],
    size: int,
    data: list[jax.Array],
    state: WorldState,
) -> WorldState:
    """Step all worlds of a batch in flight, then one by one those that have contacts."""
    mapped = [leaf for leaf, axis in zip(data, axes, strict=True) if axis == 0]

    def with_shared(numbers: list[jax.Array]) -> list[jax.Array]:
        rows = iter(numbers)
        return [next(rows) if axis == 0 else leaf for leaf, axis in zip(data, axes, strict=True)]

    def fly_chunk(start: jax.Array, result: Any) -> Any:
        numbers, rows = chunks.slice((mapped, state), start)
        flown = jax.vmap(passes.flight, in_axes=(axes, 0))(with_shared(numbers), rows)
        return chunks.write(result, flown, start)

    def step_row(carry: Any) -> Any:
        row, result = carry
        numbers, before = once(row_at((mapped, state), row))
        after = passes.alone(with_shared(numbers), before)
        return following(row + 1), with_row(result, row, after)

    def following(row: Any) -> Any:
        """Return the next row with contacts."""
        return jax.lax.while_loop(
            lambda i: (i < size) & ~row_at(is_close, jnp.minimum(i, size - 1)), lambda i: i + 1, row
        )

    if size <= _MAX_SINGLE_WORLDS or not kind.flies:
        result, is_close = state, jnp.ones(size, bool)
    else:
        chunks = Chunks.fit(size, 0)
        begin = state, jnp.zeros(size, bool)
        result, is_close = chunks.for_each(fly_chunk, begin)
        if not kind.touches:
            return result
    return jax.lax.while_loop(lambda carry: carry[0] < size, step_row, (following(jnp.int32(0)), result))[1]
