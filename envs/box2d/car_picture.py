"""The picture of 96x96 pixels that CarRacing observes, as Gymnasium 1.4.0 draws it.

Gymnasium draws polygons into a window of 1000x800 pixels and averages the window down to 96x96. Here each pixel is
computed by the parts of it that shapes cover, so that no window is needed. The road is what costs time: the picture is
divided into blocks, and each block looks at the few tiles near it.

Coordinates of the picture are called u (to the right) and v (down). The car is always at (48, 72) and points up.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from funcenv._compile.materialize import materialize
from funcenv.envs.box2d.car_dynamics import FPS, SIZE, WHEEL_RADIUS, WHEEL_WIDTH, WHEELS, polygons
from funcenv.envs.box2d.car_track import DETAIL_STEP, KERB_WIDTH, MAX_TILES, SCALE, TRACK_WIDTH, Track
from funcenv.physics.transforms import Transform, apply
from funcenv.scene.color import pack_words, unpack_words
from funcenv.scene.font import glyphs
from funcenv.struct import NDArray

PICTURE = 96  # pixels each way
WINDOW_WIDTH, WINDOW_HEIGHT = 1000, 800  # size of Gymnasium's window [pixels of the window]
ZOOM = 2.7 * SCALE  # pixels of the window to a metre, after the first second
FIRST_ZOOM = 0.1 * SCALE  # before
PLAYFIELD = 2000 / SCALE  # half of the side of the ground [m]
GRASS = PLAYFIELD / 20  # side of the squares of grass [m]
DEFAULT_COLORS = ((102, 102, 102), (102, 204, 102), (102, 230, 102))  # colours of road, ground, squares of the ground
PER_X, PER_Y = PICTURE / WINDOW_WIDTH, PICTURE / WINDOW_HEIGHT  # pixels of the picture to one of the window
GROWTH = 0.5 * (PER_X + PER_Y) / 2  # Gymnasium's polygons include the pixels of their edges
LOSS = 2  # Gymnasium's average of the window is darker by this
CAR_U, CAR_V = 48.0, 72.0  # position of the car
BAR_ROWS = 12  # height of the black bar with the indicators, at the bottom
ROAD_ROWS = PICTURE - BAR_ROWS
NUM_PIECES = 64  # tiles in view, or pieces of several tiles while the camera is far
BLOCK_ROWS, BLOCK_COLUMNS = 12, 16  # size of a block of the picture
PIECES_PER_BLOCK = 12
PATTERN = (0.0, 2.55, 5.1)  # added brightness, for every third tile in turn
CAR_TOP, CAR_LEFT, CAR_ROWS, CAR_COLUMNS = 64, 44, 16, 8  # part of the picture that the car is in
HULL_COLOR, WHEEL_COLOR, WHITE_COLOR = (204, 0, 0), (0, 0, 0), (77, 77, 77)


class View(NamedTuple):
    """The map from the world to the picture: u = CAR_U + (cosine dx + sine dy) scale_u, and v accordingly."""

    x: Any  # car's origin [m]
    y: Any
    cosine: Any  # cosine of the car's angle
    sine: Any
    scale_u: Any  # pixels of the picture to a metre
    scale_v: Any


class Drive(NamedTuple):
    """The values that the indicators show."""

    reward: Float[Array, ""]
    speed: Float[Array, ""]  # [m/s]
    spin: Float[Array, "4"]  # angular velocities of the wheels [rad/s]
    steering: Float[Array, ""]  # [rad]
    turn: Float[Array, ""]  # angular velocity of the hull [rad/s]


def draw_picture(
    hull: Transform,
    wheels: list[Transform],
    turned: Float[Array, "4"],
    track: Track,
    is_plain: Bool[Array, "400"],
    colors: Float[Array, "3 3"],
    steps: Int[Array, ""],
    drive: Drive,
) -> UInt8[Array, "96 96 3"]:
    """Return the picture.

    Args:
        hull: position and rotation of the hull.
        wheels: of the wheels.
        turned: angles that the wheels have rolled [rad].
        track: the road.
        is_plain: the tiles without the pattern.
        colors: of the road, of the ground and of its squares, from 0 to 255.
        steps: of the episode, which decide the zoom.
        drive: what the indicators show.
    """
    view, colors = view_of(hull, steps), jnp.asarray(colors, jnp.float32)
    turned = jnp.asarray(turned, jnp.float32)
    # updates in place, not parts that are joined: XLA would draw the parts once for each byte
    words = jnp.broadcast_to(steps.astype(jnp.uint32), (PICTURE, PICTURE))
    words = jax.lax.dynamic_update_slice(words, _draw_ground(view, track, is_plain, colors), (0, 0))
    words = _draw_car(words, view, wheels, turned)
    words = jax.lax.dynamic_update_slice(words, _draw_bar(drive), (ROAD_ROWS, 0))
    return unpack_words(words)


class Pieces(NamedTuple):
    """The pieces of the road in view: tiles, or several tiles each while the camera is far. Fields are `[NUM_PIECES]`.

    Corners are places in the picture, at the front and at the back: of the side without a kerb, of the side that may
    have one, and of the kerb's outer edge.
    """

    front: list[tuple[Any, Any]]
    back: list[tuple[Any, Any]]
    kerb: Any  # the side of the kerb: -1, 0 for none, 1
    pattern: Any  # place in `PATTERN`, which the tile's colour has
    red: Any  # 1 for a red kerb, 0 for a white one
    is_there: Any  # true if there is such a piece


def view_of(hull: Transform, steps: Int[Array, ""]) -> View:
    """Return the view of the car, which zooms in during the first second."""
    time = (steps + 1).astype(jnp.float32) / np.float32(FPS)
    zoom = FIRST_ZOOM * jnp.maximum(1 - time, 0.0) + ZOOM * jnp.minimum(time, 1.0)
    (x, y), (sine, cosine) = hull
    return View(x, y, cosine, sine, zoom * np.float32(PER_X), zoom * np.float32(PER_Y))


def place_in(view: View, x: Any, y: Any) -> tuple[Any, Any]:
    """Return where a point of the world is in the picture."""
    dx, dy = x - view.x, y - view.y
    u = CAR_U + (view.cosine * dx + view.sine * dy) * view.scale_u
    return u, CAR_V - (view.cosine * dy - view.sine * dx) * view.scale_v


def pieces_in(view: View, track: Track, is_plain: Bool[Array, "400"]) -> Pieces:
    """Return the pieces of the road that are in view, in the order of the road."""
    zoomed_out = (ZOOM * PER_X) / view.scale_u
    stride = jnp.ceil(jnp.maximum(jnp.minimum(zoomed_out - 0.7, 4.0), 0.55 * zoomed_out)).astype(jnp.int32)
    number = np.arange(MAX_TILES, dtype=np.int32)
    edges = jnp.asarray(track.edges, jnp.float32)
    left_u, left_v = place_in(view, edges[0], edges[1])
    right_u, right_v = place_in(view, edges[2], edges[3])
    reach = stride.astype(jnp.float32) * DETAIL_STEP + KERB_WIDTH  # [m]
    reach_u, reach_v = reach * view.scale_u, reach * view.scale_v
    is_seen = (jnp.maximum(left_u, right_u) > -reach_u) & (jnp.minimum(left_u, right_u) < PICTURE + reach_u)
    is_seen &= (jnp.maximum(left_v, right_v) > -reach_v) & (jnp.minimum(left_v, right_v) < PICTURE + reach_v)
    is_end = (number < track.count) & ((number % stride == stride - 1) | (number == track.count - 1))
    front = first_entries((is_end & is_seen)[None], NUM_PIECES)[0]
    is_there = front < MAX_TILES
    front = jnp.minimum(front, MAX_TILES - 1)
    first = front // stride * stride  # tile of the piece
    middle = jnp.minimum(first + stride // 2, front)
    back = jnp.where(first == 0, track.count - 1, first - 1)
    kerb = jnp.where(is_there, track.kerb[middle].astype(jnp.float32), 0.0)
    part = np.float32(KERB_WIDTH / (2 * TRACK_WIDTH))
    ends = []
    for point in (front, back):
        left, right = edges[:2, point], edges[2:, point]
        near, edge = jnp.where(kerb < 0, right, left), jnp.where(kerb < 0, left, right)
        ends.append([place_in(view, *corner) for corner in (near, edge, edge + part * (edge - near))])
    pattern = jnp.where(is_plain[middle] | (stride > 1), 0, middle % 3)
    red = jnp.where(stride > 1, 0.5, (middle % 2).astype(jnp.float32))
    return Pieces(ends[0], ends[1], kerb, pattern, red, is_there)


def first_entries(is_set: Bool[Array, "rows entries"], count: int) -> Int[Array, "rows count"]:
    """Return the places of the first true entries of each row, and a place beyond it where there are fewer.

    >>> first_entries(jnp.array([[False, True, False, True]]), 3)[0, :2].tolist()
    [1, 3]
    """
    rows, entries = is_set.shape
    num_words = -(-entries // 32)
    numbers = {size: np.arange(size, dtype=np.int32)[None, None] for size in (32, num_words)}
    padded = jnp.pad(is_set, ((0, 0), (0, 32 * num_words - entries))).reshape(rows, num_words, 32)
    words = (padded.astype(jnp.uint32) << numbers[32].astype(np.uint32)).sum(-1, dtype=jnp.uint32)
    sizes = jax.lax.population_count(words).astype(jnp.int32)
    until = (sizes[:, None] * np.tri(num_words, dtype=np.int32)[None]).sum(-1, dtype=jnp.int32)  # bits up to each word
    wanted = np.arange(count, dtype=np.int32)[None]
    word_of = (until[:, None] <= wanted[..., None]).sum(-1, dtype=jnp.int32)
    is_word = word_of[..., None] == numbers[num_words]
    word = jnp.where(is_word, words[:, None], np.uint32(0)).sum(-1, dtype=jnp.uint32)
    rest: Any = wanted - jnp.where(is_word, (until - sizes)[:, None], 0).sum(-1, dtype=jnp.int32)
    place: Any = 32 * word_of
    for half in (16, 8, 4, 2, 1):  # halves of the word until one bit is left
        size = jax.lax.population_count(word & np.uint32((1 << half) - 1)).astype(jnp.int32)
        is_beyond = rest >= size
        rest = jnp.where(is_beyond, rest - size, rest)
        word = jnp.where(is_beyond, word >> np.uint32(half), word)
        place = jnp.where(is_beyond, place + half, place)
    return place


def _part(line: Any) -> Any:
    """Return a number limited to 0 and 1."""
    line = jnp.where(line > 0.0, line, 0.0)  # one instruction of the processor, which minimum and maximum are not
    return jnp.where(line < 1.0, line, 1.0)


def _positive(number: Any) -> Any:
    return jnp.where(number > 0.0, number, 0.0)


def _line(start: tuple[Any, Any], end: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return (a, b, c) such that a u + b v + c is the part of a pixel on the right of a line in the picture.

    Right is as seen by someone who goes from start to end in a picture whose v points down.
    """
    run_u, run_v = end[0] - start[0], end[1] - start[1]
    # the distance over which an edge crosses a pixel: exact for level and upright edges
    wide, narrow = jnp.maximum(jnp.abs(run_u), jnp.abs(run_v)), jnp.minimum(jnp.abs(run_u), jnp.abs(run_v))
    scale = 1 / jnp.maximum(wide + 0.4 * narrow, 1e-9)
    a, b = -run_v * scale, run_u * scale
    return a, b, 0.5 - a * start[0] - b * start[1]


def road_lines(pieces: Pieces) -> list[tuple[Any, Any, Any]]:
    """Return the lines of the front, of the back, and of the three sides, as `_line` does."""
    (front_near, front_edge, front_outer), (back_near, back_edge, back_outer) = pieces.front, pieces.back
    flip = jnp.where(pieces.kerb < 0, -1.0, 1.0)  # corners run the other way if the kerb is on the left

    def flipped(line: tuple[Any, Any, Any], growth: float = 0.0) -> tuple[Any, Any, Any]:
        a, b, c = line
        return a * flip, b * flip, (c - 0.5) * flip + (0.5 + growth)

    ends = [flipped(_line(front_near, front_edge)), flipped(_line(back_edge, back_near))]
    near = flipped(_line(back_near, front_near), GROWTH)
    edge = flipped(_line(front_edge, back_edge), GROWTH)
    outer = flipped(_line(front_outer, back_outer), GROWTH)
    # without a kerb its outer edge is the side of the tile; a piece that is not there covers nothing
    outer = _where(pieces.kerb == 0, edge, outer)
    return [_where(pieces.is_there, ends[0], (0.0, 0.0, -1e3)), ends[1], near, edge, outer]


def _where(condition: Any, line: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    a, b, c = (jnp.where(condition, own, instead) for own, instead in zip(line, other, strict=True))
    return a, b, c


def _draw_ground(view: View, track: Track, is_plain: jax.Array, colors: jax.Array) -> jax.Array:
    """Return grass and road as words of 32 bits, `[84, 96]`."""
    pieces = pieces_in(view, track, is_plain)
    rows, columns = ROAD_ROWS // BLOCK_ROWS, PICTURE // BLOCK_COLUMNS
    lines = road_lines(pieces)
    chosen = jnp.minimum(first_entries(near_blocks(pieces, lines), PIECES_PER_BLOCK), NUM_PIECES)
    numbers = [number for line in lines for number in line]
    bright, brighter = ((pieces.pattern == i).astype(jnp.float32) for i in (1, 2))
    table = jnp.stack([*numbers, bright, brighter, pieces.red], axis=-1)
    nothing = np.zeros((1, 18), np.float32)
    nothing[0, 2] = -1e3
    table = jnp.concatenate([table, nothing]).at[chosen].get(mode="promise_in_bounds")
    table = materialize(table).reshape(rows, columns, PIECES_PER_BLOCK, 18)
    v = (np.arange(ROAD_ROWS).reshape(rows, 1, BLOCK_ROWS, 1) + 0.5).astype(np.float32)
    u = (np.arange(PICTURE).reshape(1, columns, 1, BLOCK_COLUMNS) + 0.5).astype(np.float32)
    covered = bright = brighter = white = red = jnp.zeros((), jnp.float32)
    for q in range(PIECES_PER_BLOCK):
        numbers = [table[:, :, q, i][:, :, None, None] for i in range(18)]
        front, back, near, edge, outer = (
            _part(numbers[3 * i] * u + (numbers[3 * i + 1] * v + numbers[3 * i + 2])) for i in range(5)
        )
        along = _positive(front + back - 1.0)
        part = along * _positive(near + edge - 1.0)
        kerb = along * (outer - edge)
        covered, bright, brighter = covered + part, bright + part * numbers[15], brighter + part * numbers[16]
        white, red = white + kerb, red + kerb * numbers[17]
    road, *shades = (jnp.floor(colors[0] + np.float32(shade)) for shade in PATTERN)  # Gymnasium draws whole levels
    ground = _grass(view, jnp.floor(colors), u, v)
    total = jnp.maximum(covered + white, 1.0)
    bare = jnp.maximum(1.0 - covered - white, 0.0)
    levels = []
    for channel in range(3):
        stripes = 255.0 * (white if channel == 0 else white - red)
        shade = bright * (shades[0] - road)[channel] + brighter * (shades[1] - road)[channel]
        paint = (covered * road[channel] + shade + stripes) / total
        levels.append(_rounded(ground[channel] * bare + paint))
    return pack_words(*levels).transpose(0, 2, 1, 3).reshape(ROAD_ROWS, PICTURE)


def near_blocks(pieces: Pieces, lines: list[tuple[Any, Any, Any]]) -> Bool[Array, "blocks pieces"]:
    """Return which pieces may cover pixels of each block: those whose lines do, and whose box touches it."""
    top, left = np.meshgrid(np.arange(0, ROAD_ROWS, BLOCK_ROWS), np.arange(0, PICTURE, BLOCK_COLUMNS), indexing="ij")
    half_u, half_v = np.float32((BLOCK_COLUMNS - 1) / 2), np.float32((BLOCK_ROWS - 1) / 2)
    u = (left.ravel()[:, None] + 0.5).astype(np.float32) + half_u
    v = (top.ravel()[:, None] + 0.5).astype(np.float32) + half_v
    corner_u, corner_v = (jnp.stack(part) for part in zip(*pieces.front, *pieces.back, strict=True))
    is_near = pieces.is_there[None]
    for middle, half, corner in ((u, half_u, corner_u), (v, half_v, corner_v)):
        low, high = corner.min(0)[None], corner.max(0)[None]
        is_near = is_near & (low < middle + (half + 1.0)) & (high > middle - (half + 1.0))
    front, back, near, _, outer = lines
    for a, b, c in (front, back, near, outer):
        greatest = c + jnp.abs(a) * half_u + jnp.abs(b) * half_v  # beyond the middle of the block
        is_near = is_near & (a[None] * u + b[None] * v + greatest[None] > 0.0)
    return is_near


def _rounded(level: Any) -> Any:
    """Return a level from 0 to 255 as Gymnasium's picture has it."""
    return _positive(level + (0.5 - LOSS)).astype(jnp.int32).astype(jnp.uint32)


def _grass(view: View, colors: jax.Array, u: Any, v: Any) -> list[Any]:
    """Return the three channels of the ground without the road; beyond the playfield it is black."""
    right, up = (u - CAR_U) / view.scale_u, (CAR_V - v) / view.scale_v
    x = view.x + view.cosine * right - view.sine * up
    y = view.y + view.sine * right + view.cosine * up
    cosine, sine = jnp.abs(view.cosine), jnp.abs(view.sine)
    wide_x, wide_y = cosine / view.scale_u + sine / view.scale_v, sine / view.scale_u + cosine / view.scale_v
    squares: Any = 1.0
    field: Any = 1.0
    for place, wide in ((x, wide_x), (y, wide_y)):
        period = place * np.float32(0.5 / GRASS) - 0.25
        from_middle = jnp.abs(period - jnp.round(period)) * np.float32(2 * GRASS)
        squares = squares * jnp.clip((np.float32(GRASS / 2) - from_middle) / wide + (0.5 + GROWTH), 0.0, 1.0)
        field = field * jnp.clip((np.float32(PLAYFIELD) - jnp.abs(place)) / wide + (0.5 + GROWTH), 0.0, 1.0)
    return [field * (colors[1, c] + (colors[2, c] - colors[1, c]) * squares) for c in range(3)]


def _draw_car(words: jax.Array, view: View, wheels: list[Transform], turned: jax.Array) -> jax.Array:
    """Return the picture with the car: the wheels, each with a white mark that rolls, and the hull over them."""
    x, y, sine, cosine = (jnp.stack(each)[:, None] for each in zip(*((*p, *turn) for p, turn in wheels), strict=True))
    tyre = polygons(WHEELS[0])[0].astype(np.float32)
    corners, is_shown = white_mark(turned)
    mark_x, mark_y = (
        jnp.stack([jnp.broadcast_to(corner[axis], turned.shape) for corner in corners], -1) for axis in (0, 1)
    )
    place = (x, y), (sine, cosine)
    tyres = place_in(view, *apply(place, (tyre[None, :, 0], tyre[None, :, 1])))
    marks = place_in(view, *apply(place, (mark_x, mark_y)))
    hull = []
    for size in (4, 8):
        parts = np.stack([part for part in polygons(0) if len(part) == size]).astype(np.float32)
        hull.append((CAR_U + parts[..., 0] * view.scale_u, CAR_V - parts[..., 1] * view.scale_v))
    v = (np.arange(CAR_ROWS)[:, None] + CAR_TOP + 0.5).astype(np.float32)
    u = (np.arange(CAR_COLUMNS)[None, :] + CAR_LEFT + 0.5).astype(np.float32)
    rolling = _sides(tyres)  # a mark has the directions of its wheel, also where it is as thin as a line
    covered = [_covered(rolling, u, v), _covered(_moved(rolling, marks), u, v)]
    covered += [_covered(_sides(corners), u, v) for corners in hull]
    covered[1] = covered[1] * is_shown.astype(jnp.float32)[:, None, None]
    covered = materialize(covered)
    here = words[CAR_TOP : CAR_TOP + CAR_ROWS, CAR_LEFT : CAR_LEFT + CAR_COLUMNS]
    painted = jnp.zeros((), jnp.uint32)
    for channel in range(3):
        level = ((here >> (8 * channel)) & 255).astype(jnp.int32).astype(jnp.float32) + LOSS
        for shapes, color in zip(covered, (WHEEL_COLOR, WHITE_COLOR, HULL_COLOR, HULL_COLOR), strict=True):
            for part in shapes:
                level = level + (color[channel] - level) * part
        painted |= _rounded(level) << (8 * channel)
    return jax.lax.dynamic_update_slice(words, painted, (CAR_TOP, CAR_LEFT))


def white_mark(turned: Float[Array, ""]) -> tuple[list[tuple[Any, Any]], Bool[Array, ""]]:
    """Return the corners of the white mark on a wheel that has rolled by an angle, and whether it is above.

    >>> corners, is_shown = white_mark(jnp.float32(0.5))
    >>> len(corners), bool(is_shown)
    (4, False)
    """
    near, far = jnp.cos(turned), jnp.cos(turned + np.float32(1.2))
    is_near_below, is_far_below = jnp.sin(turned) > 0, jnp.sin(turned + np.float32(1.2)) > 0
    near, far = jnp.where(is_near_below, jnp.sign(near), near), jnp.where(is_far_below, jnp.sign(far), far)
    wide, long = np.float32(WHEEL_WIDTH * SIZE), np.float32(WHEEL_RADIUS * SIZE)
    low, high = jnp.minimum(near, far) * long, jnp.maximum(near, far) * long
    return [(-wide, high), (wide, high), (wide, low), (-wide, low)], ~(is_near_below & is_far_below)


def _sides(corners: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return the lines of the sides of polygons, `[shapes, corners]`, whose corners run clockwise, as `_line` does."""
    u, v = corners
    return _line(corners, (jnp.roll(u, -1, 1), jnp.roll(v, -1, 1)))


def _moved(lines: tuple[Any, Any, Any], points: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return lines of the same directions through other points."""
    a, b, _ = lines
    return a, b, 0.5 - a * points[0] - b * points[1]


def _covered(lines: tuple[Any, Any, Any], u: Any, v: Any) -> Float[Array, "shapes rows columns"]:
    """Return which part of each pixel convex polygons cover, given by their sides; opposite ones are parallel."""
    a, b, c = (each[:, :, None, None] for each in materialize(lines))
    sides = _part(a * u[None, None] + (b * v[None, None] + (c + np.float32(GROWTH))))
    half = sides.shape[1] // 2
    return _positive(sides[:, :half] + sides[:, half:] - 1.0).prod(1)


def indicators(drive: Drive) -> list[tuple[Any, Any, Any, Any, Any, tuple[int, int, int]]]:
    """Return the indicators as boxes in fortieths of the window, from its lower left.

    They are the speed, the spin of each wheel, the steering angle and the angular velocity of the hull. Each has the
    edges left, right, low and high; whether it is drawn, which values below 1e-4 are not; and a colour.
    """
    blue, violet = (0, 0, 255), (51, 0, 255)
    upright = [(5, drive.speed, 0.02, (255, 255, 255))]
    for wheel, color in enumerate((blue, blue, violet, violet)):
        upright.append((7 + wheel, drive.spin[wheel], 0.01, color))
    level = [(20, drive.steering, -10.0, (0, 255, 0)), (30, drive.turn, -0.8, (255, 0, 0))]
    columns = [(place, place + 1, 1, 1 + size * value, value, color) for place, value, size, color in upright]
    rows = [(place, place + size * value, 2, 4, value, color) for place, value, size, color in level]
    return [(*map(jnp.float32, edges), jnp.abs(value) > 1e-4, color) for *edges, value, color in columns + rows]


def _draw_bar(drive: Drive) -> jax.Array:
    """Return the black bar with the score and the indicators as words of 32 bits, `[12, 96]`."""
    v = (np.arange(ROAD_ROWS, PICTURE)[:, None] + 0.5).astype(np.float32)
    u = (np.arange(PICTURE)[None, :] + 0.5).astype(np.float32)
    score = jnp.pad(_score(drive.reward), ((0, 0), (0, PICTURE - _TEXT_COLUMNS)))
    channels = [255 * score] * 3
    for left, right, low, high, is_shown, color in indicators(drive):
        # Gymnasium's polygons include the pixels of their edges
        u0, u1 = (edge * np.float32(WINDOW_WIDTH / 40) for edge in (jnp.minimum(left, right), jnp.maximum(left, right)))
        v0, v1 = (
            np.float32(WINDOW_HEIGHT) - edge * np.float32(WINDOW_HEIGHT / 40)
            for edge in (jnp.maximum(low, high), jnp.minimum(low, high))
        )
        covered = _overlaps(u, jnp.floor(u0) * PER_X, (jnp.floor(u1) + 1) * PER_X)
        covered = covered * _overlaps(v, jnp.floor(v0) * PER_Y, (jnp.floor(v1) + 1) * PER_Y)
        covered = jnp.where(is_shown, covered, 0.0)
        for c in range(3):
            channels[c] = channels[c] + (color[c] - channels[c]) * covered
    levels = [jnp.broadcast_to(_rounded(channel), (BAR_ROWS, PICTURE)) for channel in channels]
    return pack_words(*levels)


def _overlaps(middle: Any, low: Any, high: Any) -> Any:
    """Return which part of pixels an interval covers."""
    return jnp.clip(jnp.minimum(high, middle + 0.5) - jnp.maximum(low, middle - 0.5), 0.0, 1.0)


_TEXT_COLUMNS = 12  # columns of the picture that hold the score


def _score(reward: jax.Array) -> jax.Array:
    """Return the coverage by the four characters of the score, `[12, 12]`."""
    value = jnp.round(reward).astype(jnp.int32)
    is_negative = reward < 0
    size = jnp.abs(value)
    codes = [size // power % 10 for power in (1000, 100, 10, 1)]
    codes[0] = jnp.where(is_negative, 10, codes[0])
    table = jnp.asarray(_digits())
    sign = is_negative.astype(jnp.int32)
    return jnp.stack([table[sign, place, code] for place, code in enumerate(codes)]).sum(0)


@functools.cache
def _digits() -> NDArray:
    """Return the coverage by each character at each place, without and with a sign: `[2, 4, 11, 12, 12]`."""
    table = np.zeros((2, 4, 11, BAR_ROWS, _TEXT_COLUMNS), np.float32)
    for sign in range(2):
        for place in range(4):
            left = 12 + 24.5 * place if sign == 0 else (19 if place == 0 else 31.5 + 24 * (place - 1))
            for code in range(11):
                character = glyphs()[ord("O123456789-"[code]) - 32][:7]
                width = 11.5 if code == 10 else 21.0
                for row in range(7):
                    for column in range(5):
                        if character[row, column]:
                            box = (left + column * width / 5, left + (column + 1) * width / 5)
                            top = 731 + row * 32 / 7, 731 + (row + 1) * 32 / 7
                            table[sign, place, code] += np.outer(
                                _overlap(top, PER_Y, ROAD_ROWS, BAR_ROWS), _overlap(box, PER_X, 0, _TEXT_COLUMNS)
                            )
    return np.minimum(table, 1.0)


def _overlap(span: tuple[float, float], scale: float, first: int, count: int) -> NDArray:
    """Return which part of each pixel a span of the window covers."""
    start = np.arange(first, first + count)
    return np.clip(np.minimum(span[1] * scale, start + 1) - np.maximum(span[0] * scale, start), 0, 1)
