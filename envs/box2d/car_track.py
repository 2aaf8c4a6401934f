"""The race track of CarRacing: a random loop, its tiles and its kerbs.

Twelve checkpoints at random radii are drawn around the centre of the playfield. A pen goes from one to the next in
steps of 3.5 m and turns at most 0.31 rad a step; what it draws in its last whole lap is the track, if head and tail
meet. The algorithm is that of Gymnasium 1.4.0's `CarRacing-v3`, written by Oleg Klimov. Angles are those of the
cross-section: the road runs at a right angle to it.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.physics.batches import is_any
from funcenv.struct import PyTreeNode
from funcenv.trees import select

SCALE = 6.0  # pixels of Gymnasium's design to a metre
TRACK_RADIUS = 900 / SCALE  # the track is a heavily morphed circle of this radius [m]
DETAIL_STEP = 21 / SCALE  # length of a tile [m]
TURN_RATE = 0.31  # greatest change of direction from tile to tile [rad]
TRACK_WIDTH = 40 / SCALE  # half of the width of the road [m]
KERB_WIDTH = 8 / SCALE  # [m]
KERB_MIN_COUNT = 4  # tiles that turn to the same side before there is a kerb
CHECKPOINTS = 12
MAX_POINTS = 2500  # most points that the pen draws
MAX_TILES = 400  # most tiles of a track; a longer one is drawn again
MIN_LAPS = 5  # after which the pen stops


class Track(PyTreeNode):
    """A closed road. Tile i lies between points i - 1 and i; places beyond `count` are empty."""

    x: Float[Array, "400"]  # middle of the road [m]
    y: Float[Array, "400"]  # [m]
    angle: Float[Array, "400"]  # angle of the cross-section [rad]
    kerb: Int[Array, "400"]  # the side of the tile that has a kerb: -1, 0 for none, 1
    count: Int[Array, ""]  # tiles
    edges: Float[Array, "4 400"]  # the points on the left (x, y) and on the right (x, y), in float32 [m]


def draw_checkpoints(key: jax.Array) -> Float[Array, "12 2"]:
    """Return random numbers for the checkpoints: the angle beyond a regular polygon's [rad], and the radius [m].

    >>> draw_checkpoints(jax.random.key(0)).shape
    (12, 2)
    """
    angle_key, radius_key = jax.random.split(key)
    angle = jax.random.uniform(angle_key, (CHECKPOINTS,), float, 0.0, 2 * math.pi / CHECKPOINTS)
    radius = jax.random.uniform(radius_key, (CHECKPOINTS,), float, TRACK_RADIUS / 3, TRACK_RADIUS)
    return jnp.stack([angle, radius], axis=-1)


def make_track(key: jax.Array) -> Track:
    """Return a random track; checkpoints are drawn again until head and tail of the track meet.

    >>> track = jax.jit(make_track)(jax.random.key(0))
    >>> bool((track.count > 200) & (track.count <= MAX_TILES))
    True
    """
    return draw_closed_track(key)[1]


def draw_closed_track(key: jax.Array) -> tuple[Float[Array, "12 2"], Track]:
    """Return the checkpoints of a random track, and the track."""
    Carry = tuple[jax.Array, tuple[jax.Array, Track], jax.Array]

    def is_open(carry: Carry) -> jax.Array:
        return is_any(~carry[2])

    def attempt(carry: Carry) -> Carry:
        key, drawn, is_closed = carry
        own, key = jax.random.split(key)
        checkpoints = draw_checkpoints(own)
        track, closes = lay_track(checkpoints)
        return key, select(is_closed, drawn, (checkpoints, track)), is_closed | closes

    empty = jnp.zeros(MAX_TILES, float)
    first = Track(
        empty, empty, empty, jnp.zeros(MAX_TILES, jnp.int8), jnp.int32(0), jnp.zeros((4, MAX_TILES), jnp.float32)
    )
    start = key, (jnp.zeros((CHECKPOINTS, 2), float), first), jnp.zeros((), bool)
    return jax.lax.while_loop(is_open, attempt, start)[1]


def move_checkpoint(checkpoints: Float[Array, "12 2"], key: jax.Array) -> Float[Array, "12 2"]:
    """Return checkpoints of which one is drawn again; the same ones if head and tail of the track would not meet.

    The first and the last do not count, because the pen goes to fixed places instead.

    >>> checkpoints = jax.jit(draw_closed_track)(jax.random.key(0))[0]
    >>> moved = jax.jit(move_checkpoint)(checkpoints, jax.random.key(1))
    >>> int((moved != checkpoints).any(-1).sum()) <= 1
    True
    """
    place_key, draw_key = jax.random.split(key)
    place = jax.random.randint(place_key, (), 1, CHECKPOINTS - 1, jnp.int32)
    moved = checkpoints.at[place].set(draw_checkpoints(draw_key)[0].astype(checkpoints.dtype))
    return jnp.where(lay_track(moved)[1], moved, checkpoints)


def lay_track(checkpoints: Float[Array, "12 2"]) -> tuple[Track, Bool[Array, ""]]:
    """Return the track through checkpoints, and whether it can be used: head and tail meet, and it is short enough.

    Args:
        checkpoints: what `draw_checkpoints` returns.
    """
    along, points, size = _draw_laps(checkpoints)
    first, last = _last_lap(along, size)
    count = last - 1 - first
    start = jnp.clip(first, 0, MAX_POINTS - MAX_TILES)
    rows = jax.lax.dynamic_slice_in_dim(points, start, MAX_TILES)
    rows = jnp.roll(rows, start - first, axis=0)  # a lap near the end of the buffer
    numbers = np.arange(MAX_TILES, dtype=np.int32)
    rows = jnp.where((numbers < count)[:, None], rows, 0.0)
    angle, x, y = rows.T
    end = jnp.clip(count - 1, 0, MAX_TILES - 1)
    gap = jnp.sqrt((jnp.cos(angle[0]) * (x[0] - x[end])) ** 2 + (jnp.sin(angle[0]) * (y[0] - y[end])) ** 2)
    is_usable = (first > 0) & (count <= MAX_TILES) & (count > KERB_MIN_COUNT) & (gap <= DETAIL_STEP)
    width, height = TRACK_WIDTH * jnp.cos(angle), TRACK_WIDTH * jnp.sin(angle)
    edges = jnp.stack([x - width, y - height, x + width, y + height]).astype(jnp.float32)
    count = jnp.where(is_usable, count, 0).astype(jnp.int32)
    return Track(x, y, angle, _kerbs(angle, count), count, edges), is_usable


def tiles(track: Track) -> Float[Array, "8 400"]:
    """Return the corners of all tiles [m]: left (x, y) and right (x, y) at the front, then the same at the back.

    >>> tiles(jax.jit(make_track)(jax.random.key(0))).shape
    (8, 400)
    """
    last = jax.lax.dynamic_slice_in_dim(track.edges, jnp.maximum(track.count - 1, 0), 1, axis=1)
    return jnp.concatenate([track.edges, jnp.concatenate([last, track.edges[:, :-1]], axis=1)])


def _draw_laps(checkpoints: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return of each point the angle around the playfield, and angle, x and y of the road; and how many there are."""
    regular = (2 * math.pi * np.arange(CHECKPOINTS) / CHECKPOINTS).astype(float)
    fixed = np.zeros(CHECKPOINTS, bool)
    fixed[[0, -1]] = True
    around = jnp.where(fixed, regular, regular + checkpoints[:, 0].astype(float))
    radius = jnp.where(fixed, 1.5 * TRACK_RADIUS, checkpoints[:, 1].astype(float))
    goal_x, goal_y = radius * jnp.cos(around), radius * jnp.sin(around)
    numbers = jnp.arange(CHECKPOINTS, dtype=np.int32)  # XLA fuses an operation, and gives a constant a kernel
    zero = jnp.zeros_like(around[0])
    begin = {
        "x": zero + 1.5 * TRACK_RADIUS,
        "y": zero,
        "beta": zero,
        "goal": jnp.int32(0),
        "laps": jnp.int32(0),
        "was_beyond": jnp.zeros((), bool),  # true once the pen has been on the other side of the playfield
        "size": jnp.int32(0),
    }

    def is_open(carry: tuple[jax.Array, dict[str, jax.Array], jax.Array]) -> jax.Array:
        i, pen, _ = carry
        return (i < MAX_POINTS) & is_any(pen["laps"] < MIN_LAPS)

    def move(
        carry: tuple[jax.Array, dict[str, jax.Array], jax.Array],
    ) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
        i, pen, points = carry
        x, y, beta = pen["x"], pen["y"], pen["beta"]
        alpha = jnp.arctan2(y, x)
        is_lap = pen["was_beyond"] & (alpha > 0)
        laps = pen["laps"] + is_lap.astype(jnp.int32)
        was_beyond = (pen["was_beyond"] & ~is_lap) | (alpha < 0)
        alpha = jnp.where(alpha < 0, alpha + 2 * math.pi, alpha)
        is_ahead = (numbers >= pen["goal"]) & (alpha <= around)
        goal = jnp.argmax(is_ahead).astype(jnp.int32)  # 0 if none is ahead: the next lap begins
        alpha = jnp.where(is_ahead.any(), alpha, alpha - 2 * math.pi)
        here = (numbers == goal).astype(goal_x.dtype)
        cosine, sine = jnp.cos(beta), jnp.sin(beta)
        toward = cosine * ((goal_x * here).sum() - x) + sine * ((goal_y * here).sum() - y)
        for _ in range(2):
            beta = jnp.where(beta - alpha > 1.5 * math.pi, beta - 2 * math.pi, beta)
        for _ in range(2):
            beta = jnp.where(beta - alpha < -1.5 * math.pi, beta + 2 * math.pi, beta)
        toward = toward * SCALE
        turn = jnp.minimum(TURN_RATE, jnp.abs(0.001 * toward))
        after = jnp.where(toward > 0.3, beta - turn, jnp.where(toward < -0.3, beta + turn, beta))
        x, y = x + -sine * DETAIL_STEP, y + cosine * DETAIL_STEP
        row = jnp.stack([alpha, beta * 0.5 + after * 0.5, x, y])
        points = jax.lax.dynamic_update_index_in_dim(points, row, i, 0)
        is_running = pen["laps"] < MIN_LAPS
        size = pen["size"] + is_running.astype(jnp.int32)
        new = {"x": x, "y": y, "beta": after, "goal": goal, "laps": laps, "was_beyond": was_beyond, "size": size}
        return i + 1, {name: jnp.where(is_running, new[name], pen[name]) for name in pen}, points

    empty = jnp.zeros((MAX_POINTS, 4), zero.dtype)
    _, pen, points = jax.lax.while_loop(is_open, move, (jnp.int32(0), begin, empty))
    return points[:, 0], points[:, 1:], pen["size"]


def _last_lap(along: jax.Array, size: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return between which points the last whole lap lies; the first is -1 if there is none."""
    start = 2 * math.pi * -0.5 / CHECKPOINTS
    numbers = np.arange(1, MAX_POINTS, dtype=np.int32)
    passes = (along[1:] > start) & (along[:-1] <= start) & (numbers < size)
    last = jnp.where(passes, numbers, -1).max()
    first = jnp.where(passes & (numbers < last), numbers, -1).max()
    return first, last


def _kerbs(angle: jax.Array, count: jax.Array) -> jax.Array:
    """Return the side of the kerb of each tile in a hard turn; the four tiles that end with it have one, too."""
    numbers = np.arange(MAX_TILES, dtype=np.int32)

    def earlier(values: jax.Array, back: int) -> jax.Array:
        place = numbers - back
        return values[jnp.where(place < 0, jnp.clip(place + count, 0, MAX_TILES - 1), np.maximum(place, 0))]

    change = angle - earlier(angle, 1)
    changes = [earlier(change, back) for back in range(KERB_MIN_COUNT)]
    is_hard = jnp.stack([jnp.abs(each) > TURN_RATE * 0.2 for each in changes]).all(0)
    is_kerb = is_hard & (jnp.abs(sum(jnp.sign(each) for each in changes)) == KERB_MIN_COUNT)
    is_kerb = is_kerb & (numbers < count)

    def later(values: jax.Array, ahead: int, wraps: bool) -> jax.Array:
        place = jnp.asarray(numbers + ahead)
        if wraps:
            return (place >= count) & values[jnp.clip(place - count, 0, MAX_TILES - 1)]
        return (place < count) & values[jnp.minimum(place, MAX_TILES - 1)]

    # Gymnasium's loop works in place: kerbs of the first tiles reach back to the last ones, and those once more.
    for wraps in (True, False):
        spread = [later(is_kerb, ahead, wraps) for ahead in range(1, KERB_MIN_COUNT)]
        is_kerb = is_kerb | (jnp.stack(spread).any(0) & (numbers < count))
    return jnp.where(is_kerb, jnp.sign(-change), 0).astype(jnp.int8)
