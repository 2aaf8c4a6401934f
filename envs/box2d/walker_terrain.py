"""The ground of BipedalWalker: grass with bumps, and in the hardcore version stumps, stairs and pits.

The ground has 200 columns at equal distances. Grass goes up and down at random, for a few columns at a time; in the
hardcore version an obstacle follows, then grass again. These are the rules of Gymnasium 1.4.0's `_generate_terrain`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.struct import NDArray, PyTreeNode, field
from funcenv.trees import select

SCALE = 30.0  # pixels of Gymnasium's image to a metre
COLUMNS = 200
PITCH = 14 / SCALE  # distance of the columns [m]
GROUND = 400 / SCALE / 4  # height of the ground at the start [m]
START_PAD = 20  # columns without bumps and obstacles
MAX_STEPS = 4  # most steps of a flight of stairs
STEP_WIDTH = 4  # columns of a step
PIT_DEPTH = 4  # depth of a pit, in columns
# Boxes are placed from column 20 on. Pits have two in ten columns at least, and a flight of stairs begins last.
MAX_BOXES = 39
GRASS, STUMP, STAIRS, PIT = range(4)
_STRETCH = 20  # columns that a mutation draws again
X: NDArray = np.arange(COLUMNS) * PITCH  # position of each column [m]


class TerrainDraws(PyTreeNode):
    """The random numbers of a terrain: all that each column might need, of which only a part is used."""

    bump: Float[Array, "200"] = field(ndim=1)  # change of the slope, in [-1, 1]
    wait: Int[Array, "200"] = field(ndim=1)  # columns until the next change, 5 to 9
    obstacle: Int[Array, "200"] = field(ndim=1)  # STUMP, STAIRS or PIT
    stump: Int[Array, "200"] = field(ndim=1)  # width and height of a stump in columns, 1 or 2
    pit: Int[Array, "200"] = field(ndim=1)  # columns of a pit, 3 or 4
    stairs: Int[Array, "200"] = field(ndim=1)  # steps of a flight of stairs, 3 or 4
    stair_rises: Bool[Array, "200"] = field(ndim=1)  # true if stairs go up


class Terrain(NamedTuple):
    """Heights of the columns, and boxes in the order of Gymnasium."""

    heights: Float[Array, "200"]
    boxes: Float[Array, "boxes 4"]  # left, bottom, right, top; unused ones lie far to the right


def draw_terrain(key: jax.Array) -> TerrainDraws:
    """Return the random numbers of a terrain.

    >>> import funcenv
    >>> draws = draw_terrain(funcenv.key(0))
    >>> int(draws.wait.min()), int(draws.wait.max())
    (5, 9)
    """
    keys = jax.random.split(key, 7)

    def integers(key: jax.Array, low: int, high: int) -> jax.Array:
        return jax.random.randint(key, (COLUMNS,), low, high, jnp.int32)

    return TerrainDraws(
        bump=jax.random.uniform(keys[0], (COLUMNS,), float, -1.0, 1.0),
        wait=integers(keys[1], 5, 10),
        obstacle=integers(keys[2], 1, 4),
        stump=integers(keys[3], 1, 3),
        pit=integers(keys[4], 3, 5),
        stairs=integers(keys[5], 3, 5),
        stair_rises=jax.random.bernoulli(keys[6], 0.5, (COLUMNS,)),
    )


def redraw_stretch(draws: TerrainDraws, key: jax.Array) -> TerrainDraws:
    """Return the random numbers of a terrain with new ones on 20 columns in a row, beyond the flat start.

    >>> import funcenv
    >>> draws = draw_terrain(funcenv.key(0))
    >>> int((redraw_stretch(draws, funcenv.key(1)).bump != draws.bump).sum())
    20
    """
    place_key, draw_key = jax.random.split(key)
    first = jax.random.randint(place_key, (), START_PAD, COLUMNS - _STRETCH + 1, jnp.int32)
    columns = jnp.arange(COLUMNS, dtype=jnp.int32)
    return select((first <= columns) & (columns < first + _STRETCH), draw_terrain(draw_key), draws)


class _Builder(NamedTuple):
    """The carry from one column to the next."""

    kind: Int[Array, ""]  # GRASS or an obstacle
    is_first: Bool[Array, ""]  # true for the first column of its kind
    counter: Int[Array, ""]  # columns until the next change
    slope: Float[Array, ""]
    y: Float[Array, ""]
    base: Float[Array, ""]  # height at the beginning of the obstacle
    steps: Int[Array, ""]  # number of steps of the stairs
    rise: Int[Array, ""]  # 1 or -1, of a step


def build_terrain(draws: TerrainDraws, hardcore: bool) -> Terrain:
    """Return the terrain for what is drawn at random.

    >>> import funcenv
    >>> heights, boxes = build_terrain(draw_terrain(funcenv.key(0)), hardcore=False)
    >>> heights.shape, boxes.shape, bool((heights[:20] == heights[0]).all())
    ((200,), (0, 4), True)
    """
    one = jnp.int32(1)
    start = _Builder(
        kind=jnp.int32(GRASS),
        is_first=jnp.zeros((), bool),
        counter=jnp.int32(START_PAD),
        slope=jnp.zeros((), float),
        y=jnp.asarray(GROUND, float),
        base=jnp.zeros((), float),
        steps=one,
        rise=one,
    )

    def column(builder: _Builder, inputs: tuple[Array, Array, TerrainDraws]) -> tuple[_Builder, tuple[Array, ...]]:
        index, x, drawn = inputs
        builder, boxes, is_box = _build(builder, index, x, drawn, hardcore)
        ends = builder.counter == 0
        next_kind = jnp.where(builder.kind == GRASS, drawn.obstacle, GRASS) if hardcore else jnp.int32(GRASS)
        following = builder._replace(
            kind=jnp.where(ends, next_kind, builder.kind).astype(jnp.int32),
            is_first=ends,
            counter=jnp.where(ends, drawn.wait, builder.counter),
        )
        return following, (builder.y, boxes, is_box)

    inputs = jnp.arange(COLUMNS, dtype=jnp.int32), jnp.asarray(X, float), draws
    _, (heights, boxes, is_box) = jax.lax.scan(column, start, inputs)
    if not hardcore:
        return Terrain(heights.astype(jnp.float32), jnp.zeros((0, 4), jnp.float32))
    is_box = is_box.reshape(-1)
    place = jnp.where(is_box, jnp.cumsum(is_box) - 1, MAX_BOXES)
    unused = np.tile(np.array([1000.0, 0.0, 1001.0, 1.0], np.float32), (MAX_BOXES, 1))
    boxes = jnp.asarray(unused).at[place].set(boxes.reshape(-1, 4).astype(jnp.float32), mode="drop")
    return Terrain(heights.astype(jnp.float32), boxes)


def _build(
    builder: _Builder, index: Array, x: Array, drawn: TerrainDraws, hardcore: bool
) -> tuple[_Builder, Array, Array]:
    """Return what a column is: its height, the boxes that begin there `[MAX_STEPS, 4]`, and which of them exist."""
    is_first, y = builder.is_first, builder.y
    rolls = (builder.kind == GRASS) & ~is_first
    slope = 0.8 * builder.slope + 0.01 * jnp.sign(GROUND - y)
    slope = jnp.where(index > START_PAD, slope + drawn.bump / SCALE, slope)
    builder = builder._replace(slope=jnp.where(rolls, slope, builder.slope), y=jnp.where(rolls, y + slope, y))
    if not hardcore:
        nothing = jnp.zeros((0, 4), float), jnp.zeros(0, bool)
        return builder._replace(counter=builder.counter - 1), *nothing

    kind, counter = builder.kind, builder.counter
    pit, stump, stairs = ((kind == k) & is_first for k in (PIT, STUMP, STAIRS))
    steps = jnp.where(stairs, drawn.stairs, builder.steps)
    rise = jnp.where(stairs, jnp.where(drawn.stair_rises, 1, -1), builder.rise).astype(jnp.int32)
    first_count = jnp.where(pit, drawn.pit + 2, jnp.where(stump, drawn.stump, steps * STEP_WIDTH))
    base = jnp.where(pit | stairs, y, builder.base)
    boxes = jnp.where(pit, _pit(x, y, drawn.pit), jnp.where(stump, _stump(x, y, drawn.stump), _stairs(x, y, rise)))
    number = jnp.where(pit, 2, jnp.where(stump, 1, jnp.where(stairs, steps, 0)))
    # inside of an obstacle
    depth = jnp.where(counter > 1, PIT_DEPTH * PITCH, 0.0)
    climbed = (steps * STEP_WIDTH - counter - rise).astype(float) / STEP_WIDTH
    y = jnp.where((kind == PIT) & ~is_first, base - depth, builder.y)
    y = jnp.where((kind == STAIRS) & ~is_first, base + (climbed * rise.astype(float)) * PITCH, y)
    counter = jnp.where(pit | stump | stairs, first_count, counter) - 1
    builder = builder._replace(y=y, base=base, steps=steps, rise=rise, counter=counter.astype(jnp.int32))
    return builder, boxes, jnp.arange(MAX_STEPS, dtype=jnp.int32) < number


def _pit(x: Array, y: Array, width: Array) -> Array:
    """Return the two walls."""
    shift = jnp.stack([jnp.zeros((), float), PITCH * width.astype(float), jnp.zeros((), float), jnp.zeros((), float)])
    low, high = jnp.broadcast_to(y - PIT_DEPTH * PITCH, (MAX_STEPS,)), jnp.broadcast_to(y, (MAX_STEPS,))
    return jnp.stack([x + shift, low, (x + PITCH) + shift, high], -1)


def _stump(x: Array, y: Array, size: Array) -> Array:
    side = size.astype(float) * PITCH
    box = jnp.stack([x, y, x + side, y + side])
    return jnp.broadcast_to(box, (MAX_STEPS, 4))


def _stairs(x: Array, y: Array, rise: Array) -> Array:
    number = jnp.arange(MAX_STEPS, dtype=float)
    left, right = x + (number * STEP_WIDTH) * PITCH, x + ((1 + number) * STEP_WIDTH) * PITCH
    climbed = number * rise.astype(float)
    return jnp.stack([left, y + (climbed - 1) * PITCH, right, y + climbed * PITCH], -1)
