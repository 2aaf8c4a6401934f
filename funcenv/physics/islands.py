"""Islands: bodies that joints and contacts connect, which are solved, and fall asleep, together.

The order in which constraints are solved is that of a search, depth first, over the contacts and joints of each body.
Static bodies do not connect. If only static bodies are touched, the search depends on the joints alone and is done when
the program is traced. Joints are always solved in the order that they have without contacts between moving bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.fixtures import Fixtures
from funcenv.physics.scalars import greatest, where
from funcenv.physics.world import World
from funcenv.struct import NDArray


class Islands(NamedTuple):
    """The islands of a step."""

    label: jax.Array | NDArray  # [rows], of the island of each body
    is_active: jax.Array  # [rows], whether the body is solved in this step
    position: jax.Array  # [contacts], place in the order of solving; -1: not solved


def search(world: World) -> tuple[list[int], list[int], list[int]]:
    """Return bodies and joints in the order of the search over joints alone, and the island of each body."""
    bodies: list[int] = []
    joints: list[int] = []
    label: dict[int, int] = {}
    for seed in reversed(world.moving):
        stack = [] if seed in label else [seed]
        label.setdefault(seed, seed)
        while stack:
            body = stack.pop()
            bodies.append(body)
            for j in reversed(range(len(world.joints))):
                ends = world.joints[j].body_a, world.joints[j].body_b
                if body not in ends or j in joints:
                    continue
                joints.append(j)
                other = ends[1] if ends[0] == body else ends[0]
                if other not in label and not world.bodies[other].is_static:
                    label[other] = label[seed]
                    stack.append(other)
    return bodies, joints, [label[body] for body in world.moving]


def find_islands(
    world: World,
    fixtures: Fixtures,
    rows: tuple[jax.Array, jax.Array],
    is_solid: jax.Array,
    stamp: jax.Array,
    is_awake: jax.Array,
) -> Islands:
    """Return the islands of a step.

    Args:
        world: the world.
        fixtures: its fixtures.
        rows: `[contacts]` each, the bodies of each contact; the number of moving bodies for a static one.
        is_solid: `[contacts]`, whether the contact pushes.
        stamp: `[contacts]`, when it was made.
        is_awake: `[rows]`.
    """
    if fixtures.moving_can_collide:
        return _search_contacts(world, rows, is_solid, stamp, is_awake)
    order, _, labels = search(world)
    label = np.array(labels, np.int32)
    is_active = jnp.stack([(is_awake & (label == own)).any() for own in labels])
    if fixtures.max_contacts == 0:
        return Islands(label, is_active, jnp.zeros(0, jnp.int32))
    rank = np.zeros(len(order) + 1, np.int32)
    rank[[world.row(body) for body in order]] = np.arange(len(order))
    row = jnp.minimum(*rows)  # row of the body that moves
    own = jnp.asarray(rank)[row] if len(order) > 1 else jnp.zeros_like(row)
    is_solid = is_solid & jnp.append(is_active, False)[row]
    comes_first = (own[:, None] < own[None, :]) | (own[:, None] == own[None, :]) & (stamp[:, None] > stamp[None, :])
    position = (comes_first & is_solid[:, None]).sum(0, dtype=jnp.int32)
    return Islands(label, is_active, where(is_solid, position, -1))


def _search_contacts(
    world: World,
    rows: tuple[jax.Array, jax.Array],
    is_solid: jax.Array,
    stamp: jax.Array,
    is_awake: jax.Array,
) -> Islands:
    """Search over contacts and joints while the program runs; each round of the loop takes one body off the stack."""
    size = is_awake.shape[0]
    numbers = np.arange(size, dtype=np.int32)
    links = np.full((size, size), -1, np.int32)  # the newest joint of two bodies
    for j, joint in enumerate(world.joints):
        if joint.body_a in world.moving and joint.body_b in world.moving:
            a, b = world.row(joint.body_a), world.row(joint.body_b)
            links[a, b] = links[b, a] = j
    most = is_solid.shape[0] + len(world.joints) + 1
    begin = {
        "height": jnp.full(size, -1, jnp.int32),  # position on the stack; -1: not on it
        "is_seen": jnp.zeros(size, bool),
        "label": jnp.full(size, -1, jnp.int32),
        "is_taken": jnp.zeros_like(is_solid),
        "position": jnp.full(is_solid.shape, -1, jnp.int32),
        "count": jnp.int32(0),
        "current": jnp.int32(-1),
    }

    def visit(i: jax.Array, carry: dict[str, jax.Array]) -> dict[str, jax.Array]:
        height, seen = carry["height"], carry["is_seen"]
        is_empty = (height < 0).all()
        seeds = is_awake & ~seen
        seed = (size - 1) - greatest(seeds[::-1])
        body = where(is_empty, seed, greatest(height))
        is_on = ~is_empty | seeds.any()
        here = (numbers == body) & is_on
        current = where(is_empty, seed, carry["current"]).astype(jnp.int32)
        seen = seen | here
        own = is_solid & ~carry["is_taken"] & ((rows[0] == body) | (rows[1] == body)) & is_on
        newer = (own[:, None] & (stamp[:, None] > stamp[None, :])).sum(0, dtype=jnp.int32)
        other = where(rows[0] == body, rows[1], rows[0])
        meets = own[:, None] & (other[:, None] == numbers[None, :])
        by_contact = where(meets, newer[:, None], most).min(0, initial=most)
        joint = jnp.asarray(links)[body]
        by_joint = where(joint >= 0, most - 1 - joint, most)
        turn = jnp.minimum(by_contact, by_joint)
        is_pushed = (turn < most) & ~seen & is_on
        return {
            "height": where(is_pushed, i * most + turn, where(here, -1, height)),
            "is_seen": seen | is_pushed,
            "label": where(here, current, carry["label"]),
            "is_taken": carry["is_taken"] | own,
            "position": where(own, carry["count"] + newer, carry["position"]),
            "count": carry["count"] + own.sum(dtype=jnp.int32),
            "current": current,
        }

    end = jax.lax.fori_loop(0, size, visit, begin)
    return Islands(end["label"], end["is_seen"], end["position"])
