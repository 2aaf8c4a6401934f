"""Breakout of the Atari 2600 (1978) as a pure function.

The rules were fitted to the memory of the original in ALE, game "breakout", mode 0 and difficulty 0, in recorded games
and from thousands of positions that were written into its memory. Ball, paddle, bricks, score, lives and the end of
the game then equalled those of ALE in every frame of whole replays. A test plays other games.

A frame, in this order, with positions as in the memory, in pixels; y is counted down, and the ball is at the whole
pixels (x, y) where the last frame drew it:

- After a press of the button, while no ball is in play, a ball is served from one of four places, by the number of the
  frame.
- A ball at y >= 208 is lost. The paddle has its full width again, and the ball its first speed.
- At y < 25, the ball bounces off the ceiling, and the paddle becomes shorter.
- A ball that overlaps a brick breaks the brick at (x, y), and bounces. It then passes all bricks until it touches the
  paddle or the ceiling. The three upper rows make it as fast as it can be.
- At 177 <= y < 184, the ball bounces off the paddle, once. Its distance from the middle of the paddle decides on the
  direction: to the side on which it hits, flat near the ends, steep near the middle. Its speed depends on the number
  of such hits. If the score is then 432, which is all bricks of the first wall, a second wall appears; there is no
  third one.
- At x >= 200 and at x < 57, the ball flies back from the walls.
- The ball flies by (dx, dy). The knob turns, and the paddle moves half of the way to where the knob was a frame before.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.paddle_game import (
    KNOB_MIDDLE,
    PIXEL_WIDTH,
    SCREEN_HEIGHT,
    SCREEN_WIDTH,
    PaddleGame,
    PaddleGameState,
    Pixels,
    as_state,
    color_rgba,
)
from funcenv.scene import Rectangle, Scene, Sprite
from funcenv.struct import NDArray

ROWS, COLUMNS = 6, 18  # rows and columns of bricks; row 0 is the lowest
POINTS = (1, 1, 4, 4, 7, 7)  # points for a brick of each row
WALL_SCORE = 432  # points for all bricks of a wall
LIVES = 5
UNIT = 8  # the state counts the ball's position and speed in eighths of a pixel
# |dx| and |dy| [eighths of a pixel in a frame] of a ball that hit the outer or the inner part of the paddle, by a
# quarter of the number of hits.
SPEEDS = (((12, 8), (8, 12)), ((12, 16), (4, 16)), ((16, 8), (16, 8)), ((16, 16), (16, 16)), ((16, 27), (16, 27)))
MOST_COUNTED_HITS, UPPER_ROW_HITS = 12, 16  # the latter is the count after a hit of an upper row
SERVE_X, SERVE_DX, SERVE_Y = (127, 129, 191, 65), (-1, 1, -1, 1), 113
CEILING, WALL_BOTTOM, PADDLE_TOP, PADDLE_BOTTOM, LOST = 25, 85, 177, 184, 208  # y of the ball
LEFT_WALL, RIGHT_WALL, WALL_END = 57, 200, 187  # x of the ball; y from which there are no walls
PADDLE_WIDTH, SHORT_PADDLE_WIDTH = 17, 13  # number of x at which the ball touches the paddle
PADDLE_STOPS = (55, 191)
# The console reads the knob in every second line, in four parts of the screen: resistance at which the reading would be
# 0, first and last reading of the part.
KNOB_PARTS = ((44_500, 12, 28), (48_700, 30, 50), (51_600, 52, 84), (52_880, 86, 184))
KNOB_LINE = 7_983  # change of the resistance in two lines [ohm]
BLACK, GREY, RED, TEAL = 0, 6, 70, 182  # colours
ROW_COLORS = (134, 198, 22, 38, 54, 70)
WALL_TOP, BRICK_HEIGHT, BRICK_WIDTH, MARGIN = 57, 6, 8, 8  # position and sizes on the screen [pixels]
BALL_HEIGHT, BALL_WIDTH = 4, 2
CLEAR_LINE, LAST_LINE = 32, 195  # the first and the last line that show a ball


class AtariBreakoutState(PaddleGameState):
    """The places of the paddle, the ball and the bricks, in the memory's coordinates."""

    paddle: Int[Array, ""]  # x of its left end [pixels]
    reading: Int[Array, ""]  # reading of the knob
    short: Bool[Array, ""]  # true if the paddle is short
    ball_x: Int[Array, ""]  # [eighths of a pixel]
    ball_y: Int[Array, ""]  # below 8 while no ball is in play
    ball_dx: Int[Array, ""]  # horizontal speed in a frame
    ball_dy: Int[Array, ""]
    hits: Int[Array, ""]  # hits by the paddle, which set the speed
    inner: Bool[Array, ""]  # true if the last hit was near the middle of the paddle
    passes_paddle: Bool[Array, ""]  # since it touched it last
    passes_bricks: Bool[Array, ""]
    bricks: Bool[Array, "6 18"]
    refills: Bool[Array, ""]  # true if the second wall appears in the next frame
    score: Int[Array, ""]
    lives: Int[Array, ""]
    drawn_score: Int[Array, ""]  # score that the screen shows, a frame late
    drawn_lives: Int[Array, ""]


class AtariBreakout(PaddleGame):
    """Break two walls of bricks with a ball that must not fall.

    Observation: int32 `[122]`: x of the ball [pixels / 8], y of the ball [pixels / 8], dx of the ball [pixels / 8], dy
    of the ball [pixels / 8], x of the paddle [pixels], position of the knob [kOhm], score, lives, number of counted
    hits of the paddle, whether the last hit was near the middle, whether the paddle is short, whether the ball passes
    the paddle, whether it passes the bricks, number of the frame modulo 4, bricks `[108]`. y and dy are counted down,
    and y is below 8 while no ball is in play. The bricks begin with the lowest row. With `obs_type="rgb"` it is the
    screen, uint8 `[210, 160, 3]`, and with `obs_type="grayscale"` uint8 `[210, 160]`.

    Action: int32 `[]`: 0 for nothing, 1 for the button, which serves a ball, 2 to turn the knob to the right, 3 to the
    left. It is held for `frameskip` frames.

    Reward: 1, 4 or 7 for a brick of the two lower, middle or upper rows; 864 in all.

    Termination: the fifth ball is lost. Episodes are truncated after `max_num_frames_per_episode` frames.

    Initial state: a whole wall, the paddle in the right half, and no ball.

    Args:
        frameskip: the number of frames of a step.
        repeat_action_probability: the probability that a frame repeats the action of the frame before it.
        obs_type: "ram", "rgb" or "grayscale".
        max_num_frames_per_episode: episodes are truncated after so many frames; None for no limit.

    >>> import funcenv
    >>> env = funcenv.make("arcade/Breakout-v0")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> timestep.observation[:14].tolist()
    [0, 0, 0, 0, 146, 408, 0, 5, 0, 0, 0, 0, 0, 0]
    """

    action_names = ("NOOP", "FIRE", "RIGHT", "LEFT")
    memory_bounds = (
        *((0, 1800), (0, 1700), (-16, 16), (-27, 27), PADDLE_STOPS, (27, 790), (0, 2 * WALL_SCORE), (0, LIVES)),
        *((0, UPPER_ROW_HITS), (0, 1), (0, 1), (0, 1), (0, 1), (0, 3), *(ROWS * COLUMNS * ((0, 1),))),
    )
    background_color = BLACK

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the arrows and the space bar; a knob that turns is stronger than the button."""
        keys: dict[Any, Any] = {(): 0, ("space",): 1}
        for arrow, action in (("right", 2), ("left", 3)):
            keys |= {(arrow,): action, (arrow, "space"): action}
        return keys

    def start(self) -> AtariBreakoutState:
        """Return the state after a reset."""
        numbers = {"knob": KNOB_MIDDLE, "paddle": 146, "reading": 88, "lives": LIVES, "drawn_lives": LIVES}
        zeros = ("last_action", "frame", "ball_x", "ball_y", "ball_dx", "ball_dy", "hits", "score", "drawn_score")
        flags = ("over", "short", "inner", "passes_paddle", "passes_bricks", "refills")
        return AtariBreakoutState(
            reward=jnp.zeros((), float),
            bricks=jnp.ones((ROWS, COLUMNS), bool),
            **as_state({**numbers, **dict.fromkeys(zeros, 0), **dict.fromkeys(flags, False)}),
        )

    def play_frame(self, state: AtariBreakoutState, action: Int[Array, ""]) -> AtariBreakoutState:
        """Return the state one frame later, with the points of this frame as its reward."""
        y = state.ball_y // UNIT
        fires = self.is_pressed(action, "FIRE")
        state = state.replace(reward=jnp.zeros_like(state.reward), drawn_score=state.score, drawn_lives=state.lives)
        following = _serve(state, fires), _lose(state), _fly(state)
        played = jax.tree.map(
            lambda *each: jnp.where(y == 0, each[0], jnp.where(y >= LOST, each[1], each[2])), *following
        )
        knob = self.turned(state.knob, action)
        return played.replace(
            knob=knob,
            paddle=jnp.clip((state.paddle + 235 - state.reading) // 2, *PADDLE_STOPS),
            reading=knob_reading(knob),
        )

    def state_info(self, state: AtariBreakoutState) -> dict[str, Any]:
        """Return the number of lives that are left."""
        return {"lives": state.lives}

    def memory(self, state: AtariBreakoutState) -> tuple[Array, ...]:
        """Return the numbers of an observation."""
        return (
            *(state.ball_x, state.ball_y, state.ball_dx, state.ball_dy, state.paddle, state.knob // 1000),
            *(state.score, state.lives, state.hits, state.inner, state.short),
            *(state.passes_paddle, state.passes_bricks, state.frame % 4, state.bricks),
        )

    def boxes(self, state: AtariBreakoutState) -> tuple[Pixels, ...]:
        """Return the score, the lives and the paddle."""
        column = state.paddle - 47
        return (
            Pixels(5, 36, 10, 44, GREY, number=state.drawn_score, num_digits=3, pads=True),
            Pixels(5, 100, 10, 12, GREY, number=state.drawn_lives, num_digits=1),
            Pixels(189, column, 4, 12, RED),
            Pixels(189, column, 4, 16, RED, ~state.short),
        )

    def backdrop_boxes(self) -> tuple[Pixels, ...]:
        """Return the walls, and the number of the player."""
        return (
            Pixels(5, 136, 10, 4, GREY),
            Pixels(17, 0, 15, 160, GREY),
            *(Pixels(17, column, 172, MARGIN, GREY) for column in (0, 152)),
            Pixels(189, 0, 7, MARGIN, TEAL),
            Pixels(189, 152, 6, MARGIN, RED),
        )

    def paint(self, state: AtariBreakoutState, values: NDArray) -> Array:
        """Return the screen, on which the ball has the colour of the lines of the bricks."""
        screen = super().paint(state, values)
        top, bottom = WALL_TOP, WALL_TOP + ROWS * BRICK_HEIGHT
        colors = np.full(SCREEN_HEIGHT, RED)
        colors[:top], colors[top:bottom] = GREY, np.repeat(np.array(ROW_COLORS)[::-1], BRICK_HEIGHT)
        wall = jnp.repeat(jnp.repeat(state.bricks[::-1], BRICK_HEIGHT, axis=0), BRICK_WIDTH, axis=1)
        wall = jnp.pad(wall, ((top, SCREEN_HEIGHT - bottom), (MARGIN, MARGIN)))
        return jnp.where(wall | _ball_pixels(state), jnp.asarray(values[colors])[:, None], screen)

    def scene(self, state: AtariBreakoutState) -> Scene:
        """Draw the screen, whose pixels are wide."""
        scene = super().scene(state)
        row_colors = (255 * np.array([color_rgba(color) for color in ROW_COLORS])).round().astype(np.uint8)
        bricks = state.bricks[::-1]
        texels = jnp.where(bricks[..., None], jnp.asarray(row_colors[::-1])[:, None], jnp.uint8(0))
        height, width = ROWS * BRICK_HEIGHT, COLUMNS * BRICK_WIDTH
        middle = PIXEL_WIDTH * SCREEN_WIDTH / 2, SCREEN_HEIGHT - WALL_TOP - height / 2
        wall = Sprite(middle, (PIXEL_WIDTH * width, float(height)), texels)
        y = state.ball_y // UNIT
        row, column = _line(y), jnp.clip(state.ball_x // UNIT - 49, MARGIN, SCREEN_WIDTH - MARGIN - BALL_WIDTH)
        shown = (y > 0) & (row < LAST_LINE)
        center = (
            PIXEL_WIDTH * (jnp.asarray(column, float) + BALL_WIDTH / 2),
            SCREEN_HEIGHT - jnp.asarray(row, float) - BALL_HEIGHT / 2,
        )
        size = PIXEL_WIDTH * BALL_WIDTH, float(BALL_HEIGHT)
        ball = Rectangle(center, size, (*color_rgba(RED)[:3], jnp.asarray(shown, float)))
        return scene.replace(shapes=(*scene.shapes, wall, ball))


def knob_reading(knob: Int[Array, ""]) -> Int[Array, ""]:
    """Return what the console reads for a position of the knob [ohm].

    >>> int(knob_reading(jnp.int32(KNOB_MIDDLE)))
    88
    """
    reading = jnp.zeros_like(knob)
    for zero, first, last in KNOB_PARTS:
        line = 2 * ((knob - zero) // KNOB_LINE)
        reading = jnp.where(line >= first, jnp.minimum(line, last), reading)
    return reading


def _serve(state: AtariBreakoutState, fires: Bool[Array, ""]) -> AtariBreakoutState:
    """Serve a ball if the button is pressed; its fractions of a pixel are those of the last ball."""
    place = state.frame % 4
    x, dx = jnp.asarray(SERVE_X, jnp.int32)[place], jnp.asarray(SERVE_DX, jnp.int32)[place]
    return state.replace(
        ball_x=jnp.where(fires, UNIT * x + state.ball_x % UNIT, state.ball_x),
        ball_y=jnp.where(fires, UNIT * SERVE_Y + state.ball_y % UNIT, state.ball_y),
        ball_dx=jnp.where(fires, UNIT * dx, state.ball_dx),
        ball_dy=jnp.where(fires, UNIT, state.ball_dy),
    )


def _lose(state: AtariBreakoutState) -> AtariBreakoutState:
    """Take the ball out of play, and a life."""
    no, zero = jnp.zeros_like(state.short), jnp.zeros_like(state.hits)
    return state.replace(
        ball_y=state.ball_y % UNIT,
        ball_dx=zero,
        ball_dy=zero,
        hits=zero,
        short=no,
        passes_paddle=no,
        passes_bricks=no,
        lives=state.lives - 1,
        over=state.lives == 1,
    )


def _fly(state: AtariBreakoutState) -> AtariBreakoutState:
    """Move the ball, which may touch something where it was drawn last."""
    x, y = state.ball_x // UNIT, state.ball_y // UNIT
    bricks = state.bricks | state.refills
    row = jnp.minimum((WALL_BOTTOM - y) // BRICK_HEIGHT, ROWS - 1)
    column = jnp.maximum(x - jnp.where(row == ROWS - 1, 58, 57), 0) // BRICK_WIDTH
    at_ceiling = y < CEILING
    can_break = ~at_ceiling & (y < WALL_BOTTOM) & ~state.passes_bricks & ~state.refills
    cell = _cells((row,), (column,))
    breaks = can_break & (bricks & cell).any() & (bricks & _covered_cells(x, y)).any()
    is_upper = breaks & (row >= ROWS // 2)

    distance = x - state.paddle
    width = jnp.where(state.short, SHORT_PADDLE_WIDTH, PADDLE_WIDTH)
    at_paddle = (y >= PADDLE_TOP) & (y < PADDLE_BOTTOM) & ~state.passes_paddle & (distance >= 1) & (distance <= width)
    distance = distance + jnp.where(state.short, (PADDLE_WIDTH - SHORT_PADDLE_WIDTH) // 2, 0)
    in_middle = at_paddle & (distance == 8)  # the ball jumps back by four pixels from here
    jump = jnp.where(in_middle, -4 * UNIT * jnp.where(state.ball_dx >= 0, 1, -1), 0)

    hits = jnp.where(at_paddle & (state.hits < MOST_COUNTED_HITS), state.hits + 1, state.hits)
    hits = jnp.where(is_upper, UPPER_ROW_HITS, hits)
    inner = jnp.where(at_paddle, (distance >= 4) & (distance <= 12), state.inner & ~is_upper)
    speed = jnp.asarray(SPEEDS, jnp.int32)[hits // 4, inner.astype(jnp.int32)]
    sets_speed = breaks | at_paddle
    right = jnp.where(at_paddle, distance > 8, state.ball_dx >= 0)
    right = jnp.where(y >= WALL_END, right, jnp.where(x >= RIGHT_WALL, False, right | (x < LEFT_WALL)))
    bounces = at_ceiling | breaks | at_paddle
    down = (state.ball_dy >= 0) ^ bounces
    dx = jnp.where(sets_speed, speed[0], jnp.abs(state.ball_dx)) * jnp.where(right, 1, -1)
    dy = jnp.where(sets_speed, speed[1], jnp.abs(state.ball_dy)) * jnp.where(down, 1, -1)
    points = jnp.where(breaks, jnp.asarray(POINTS, jnp.int32)[jnp.clip(row, 0, ROWS - 1)], 0)
    return state.replace(
        ball_x=state.ball_x + jump + dx,
        ball_y=state.ball_y + dy,
        ball_dx=dx,
        ball_dy=dy,
        hits=hits,
        inner=inner,
        short=state.short | at_ceiling,
        passes_paddle=at_paddle | (state.passes_paddle & ~at_ceiling & ~breaks),
        passes_bricks=breaks | (state.passes_bricks & ~at_ceiling & ~at_paddle),
        bricks=bricks & ~(cell & breaks),
        refills=at_paddle & (state.score == WALL_SCORE),
        score=state.score + points,
        reward=points.astype(state.reward.dtype),
    )


def _covered_cells(x: Int[Array, ""], y: Int[Array, ""]) -> Bool[Array, "6 18"]:
    """Return the cells of bricks that the ball overlaps."""
    rows = ((WALL_BOTTOM - 1 - y - line) // BRICK_HEIGHT for line in (0, BALL_HEIGHT - 1))
    columns = ((x - 57 + pixel) // BRICK_WIDTH for pixel in range(BALL_WIDTH))
    return _cells(tuple(rows), tuple(columns))


def _cells(rows: tuple[Int[Array, ""], ...], columns: tuple[Int[Array, ""], ...]) -> Bool[Array, "6 18"]:
    """Return the cells in some rows and columns."""
    row, column = jnp.arange(ROWS, dtype=jnp.int32), jnp.arange(COLUMNS, dtype=jnp.int32)
    in_rows = jnp.stack([row == each for each in rows]).any(axis=0)
    in_columns = jnp.stack([column == each for each in columns]).any(axis=0)
    return in_rows[:, None] & in_columns[None]


def _line(y: Int[Array, ""]) -> Int[Array, ""]:
    """Return the line of the screen that shows a height; the first line below the wall shows that of the last row."""
    return y + jnp.where(y < WALL_BOTTOM, 8, 9)


def _ball_pixels(state: AtariBreakoutState) -> Bool[Array, "210 160"]:
    """Return the pixels of the ball, which the walls cover."""
    x, y = state.ball_x // UNIT, state.ball_y // UNIT
    line, pixel = jnp.arange(SCREEN_HEIGHT, dtype=jnp.int32), jnp.arange(SCREEN_WIDTH, dtype=jnp.int32)
    height = line - jnp.where(line < WALL_TOP + ROWS * BRICK_HEIGHT, 8, 9)
    in_lines = (height >= y) & (height < y + BALL_HEIGHT) & (line >= CLEAR_LINE) & (line <= LAST_LINE) & (y > 0)
    column = x - 49
    in_columns = (pixel >= column) & (pixel < column + BALL_WIDTH) & (pixel < SCREEN_WIDTH - MARGIN)
    # The console stops drawing the ball within the last line.
    visible = jnp.where((line == LAST_LINE)[:, None], pixel < jnp.where(y % 2 == 0, 56, 46), pixel >= MARGIN)
    return in_lines[:, None] & in_columns[None] & visible
