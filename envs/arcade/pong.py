"""Pong of the Atari 2600 ("Video Olympics", 1977) as a pure function, with the rival of the original.

The rules were fitted to the memory of the original in ALE, game "pong", mode 0 and difficulty 0. Scores, ball, paddles
and rewards then equalled those of ALE in every frame of 15 whole replays, 226,000 frames, of players from idle to good
ones that also press the button. Screens were equal from the second frame on, but for the top and the bottom row of a
ball near or behind the player's paddle, which the console draws a row higher or lower there. A test plays other games.

A frame, in this order, with positions as in the memory, in pixels; y is counted down:

- The knob turns. In every second frame its reading is r = 38 + 2 k, where k = floor((knob - 120400) / 7990) between 0
  and 83, and the paddle moves half of the way to r. A frame later it is drawn there.
- The ball flies by (dx, dy), unless it touches something.
- At y <= 45 or y >= 206 it bounces off a wall: dy changes its sign, and the ball moves one pixel more.
- It touches the player's paddle if its x is from 188 to 192, and the distance of the two-line rows of ball and paddle
  is from -1 to 7; the rival's, if x is from 64 to 68, and the distance is from -4 to 14 lines. It flies back, with
  dy = floor((distance in lines + 3) / 4) - 2. If the player pressed the button in the frame before, |dx| becomes
  greater by 1, up to 4.
- At x >= 205 or x <= 52 a point is scored. 63 frames later, a ball is served from the middle, with |dx| = |dy| = 1, to
  whoever lost the point.
- The rival moves by 2 pixels towards the height of the ball, except in every eighth frame.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.paddle_game import (
    KNOB_MIDDLE,
    PaddleGame,
    PaddleGameState,
    Pixels,
    as_state,
)

WIN = 21  # points
FIRST_WAIT, WAIT = 59, 63  # frames before a ball is served
FIRST_COUNT = 71  # value of the console's counter of frames after a reset
MIDDLE = 128  # coordinate at which a ball is served
CEILING, FLOOR = 45, 206  # y at which a ball bounces
LEFT_END, RIGHT_END = 52, 205  # x at which a point is scored
RIVAL_COLUMNS, PLAYER_COLUMNS = (64, 68), (188, 192)  # x of a ball that can touch a paddle
MAX_SPEED = 4  # |dx| of a ball
LATE_X = 183  # x from which a ball at odd y is drawn one row higher, because the console draws it late
BLACK, BROWN, WHITE, GREEN, ORANGE = 0, 34, 14, 200, 56  # colours
COURT = (34, 194)  # its first row on the screen, and the row after its last one


class PongState(PaddleGameState):
    """The places of the paddles and the ball, in the memory's coordinates [pixels]."""

    fires: Bool[Array, ""]  # true if the button was pressed in the last frame
    paddle: Int[Array, ""]  # y of the player's paddle, as it is drawn
    reading: Int[Array, ""]  # y of the player's paddle in the next frame
    rival: Int[Array, ""]  # y of the rival's paddle
    ball_x: Int[Array, ""]
    ball_y: Int[Array, ""]  # 0 while no ball is in play
    ball_dx: Int[Array, ""]  # horizontal speed in a frame; positive towards the player
    ball_dy: Int[Array, ""]
    wait: Int[Array, ""]  # frames until a ball is served; 0 while one is in play
    player_score: Int[Array, ""]
    rival_score: Int[Array, ""]


class Pong(PaddleGame):
    """Return the ball, and win 21 points.

    Observation: int32 `[10]`: x of the ball, y of the ball, dx of the ball, dy of the ball, y of the player's paddle, y
    of the rival's paddle, score of the player, score of the rival, position of the knob [kOhm], frames until a ball is
    served. y and dy are counted down, and y is 0 while no ball is in play. With `obs_type="rgb"` it is the screen,
    uint8 `[210, 160, 3]`, and with `obs_type="grayscale"` uint8 `[210, 160]`.

    Action: int32 `[]`: 0 for nothing, 1 for the button, 2 to turn the knob to the right, which moves the paddle up, 3
    to the left, 4 and 5 for both with the button. It is held for `frameskip` frames.

    Reward: 1 for a point of the player, -1 for one of the rival.

    Termination: one of them has 21 points. Episodes are truncated after `max_num_frames_per_episode` frames.

    Initial state: the paddles in the middle; the first ball is served to the rival after a second.

    Args:
        frameskip: the number of frames of a step.
        repeat_action_probability: the probability that a frame repeats the action of the frame before it.
        obs_type: "ram", "rgb" or "grayscale".
        max_num_frames_per_episode: episodes are truncated after so many frames; None for no limit.

    >>> import funcenv
    >>> env = funcenv.make("arcade/Pong-v0")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> timestep.observation.tolist()
    [0, 0, -1, 0, 109, 22, 0, 0, 408, 59]
    """

    action_names = ("NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE")
    memory_bounds = (
        *((0, 208), (0, 208), (-4, 4), (-3, 3), (38, 204), (0, 208)),
        *((0, 21), (0, 21), (27, 790), (0, 63)),
    )
    background_color = BROWN

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the arrows and the space bar, which are held together."""
        keys: dict[Any, Any] = {(): 0, ("space",): 1}
        for up, down in (("up", "down"), ("right", "left")):
            keys |= {(up,): 2, (down,): 3, (up, "space"): 4, (down, "space"): 5}
        return keys

    def start(self) -> PongState:
        """Return the state after a reset."""
        return PongState(
            reward=jnp.zeros((), float),
            **as_state(
                {
                    "knob": KNOB_MIDDLE,
                    "fires": False,
                    "last_action": 0,
                    "frame": 0,
                    "over": False,
                    "paddle": 109,
                    "reading": 109,
                    "rival": 22,
                    "ball_x": 0,
                    "ball_y": 0,
                    "ball_dx": -1,
                    "ball_dy": 0,
                    "wait": FIRST_WAIT,
                    "player_score": 0,
                    "rival_score": 0,
                }
            ),
        )

    def play_frame(self, state: PongState, action: Int[Array, ""]) -> PongState:
        """Return the state one frame later, with the points of this frame as its reward."""
        count = state.frame + 1 + FIRST_COUNT
        knob = self.turned(state.knob, action)
        reading = 38 + 2 * jnp.maximum((knob - 120_400) // 7_990, 0)
        waits = state.wait > 0
        scores = ~waits & ((state.ball_x <= LEFT_END) | (state.ball_x >= RIGHT_END))
        state = state.replace(reward=jnp.zeros_like(state.reward))
        following = _serve(state), _score(state), _fly(state)
        state = jax.tree.map(lambda *each: jnp.where(waits, each[0], jnp.where(scores, each[1], each[2])), *following)
        follows = jnp.where(count % 8 == 1, 0, 2 * jnp.sign(state.ball_y - state.rival))
        return state.replace(
            knob=knob,
            fires=self.is_pressed(action, "FIRE"),
            paddle=state.reading,
            reading=jnp.where(count % 2 == 0, (state.reading + reading) // 2, state.reading),
            rival=state.rival + follows,
        )

    def memory(self, state: PongState) -> tuple[Int[Array, ""], ...]:
        """Return the numbers of an observation."""
        return (
            *(state.ball_x, state.ball_y, state.ball_dx, state.ball_dy, state.paddle, state.rival),
            *(state.player_score, state.rival_score, state.knob // 1000, state.wait),
        )

    def boxes(self, state: PongState) -> tuple[Pixels, ...]:
        """Return the scores, the paddles and the ball; a score is drawn one frame late."""
        just_scored = state.wait == WAIT
        won = just_scored & (state.ball_x <= LEFT_END)
        lost = just_scored & ~won
        scores = state.rival_score - lost.astype(jnp.int32), state.player_score - won.astype(jnp.int32)
        rises = ((state.ball_x >= LATE_X) & (state.ball_y % 2 == 1)).astype(jnp.int32)
        paddle_row = 2 * ((state.paddle + 1) // 2) - 14
        return (
            Pixels(1, 20, 20, 28, ORANGE, number=scores[0], num_digits=2),
            Pixels(1, 100, 20, 28, GREEN, number=scores[1], num_digits=2),
            Pixels(state.rival - 15, 16, 16, 4, ORANGE, window=COURT),
            Pixels(paddle_row, 140, 16, 4, GREEN, window=COURT),
            Pixels(state.ball_y - 14 - rises, state.ball_x - 49, 4, 2, WHITE, state.ball_y > 0, window=COURT),
        )

    def backdrop_boxes(self) -> tuple[Pixels, ...]:
        """Return the walls, and a gap that the console leaves in the first line."""
        return Pixels(0, 0, 1, 8, BLACK), Pixels(24, 0, 10, 160, WHITE), Pixels(COURT[1], 0, 16, 160, WHITE)


def _fly(state: PongState) -> PongState:
    """Move the ball, which may touch a wall or a paddle where it was drawn last."""
    x, y, dx, dy = state.ball_x, state.ball_y, state.ball_dx, state.ball_dy
    off_ceiling, off_floor = y <= CEILING, y >= FLOOR
    off_wall = off_ceiling | off_floor
    rows = y // 2 - (state.paddle + 1) // 2
    off_player = ~off_wall & _is_within(x, PLAYER_COLUMNS) & _is_within(rows, (-1, 7))
    off_rival = ~off_wall & _is_within(x, RIVAL_COLUMNS) & _is_within(y - state.rival, (-4, 14))
    speed = jnp.abs(dx)
    hit_speed = jnp.minimum(speed + state.fires.astype(jnp.int32), MAX_SPEED)
    dx = jnp.where(off_player, -hit_speed, jnp.where(off_rival, speed, dx))
    distance = y - jnp.where(off_player, state.paddle, state.rival)
    dy = jnp.where(off_wall, -dy, jnp.where(off_player | off_rival, (distance + 3) // 4 - 2, dy))
    away = off_ceiling.astype(jnp.int32) - off_floor.astype(jnp.int32)
    return state.replace(ball_x=x + dx, ball_y=y + dy + away, ball_dx=dx, ball_dy=dy)


def _score(state: PongState) -> PongState:
    """Count a point, and take the ball out of play."""
    is_players = state.ball_x <= LEFT_END
    player_score = state.player_score + is_players.astype(jnp.int32)
    rival_score = state.rival_score + (~is_players).astype(jnp.int32)
    return state.replace(
        player_score=player_score,
        rival_score=rival_score,
        reward=jnp.where(is_players, 1, -1).astype(state.reward.dtype),
        wait=jnp.full_like(state.wait, WAIT),
        over=(player_score == WIN) | (rival_score == WIN),
    )


def _serve(state: PongState) -> PongState:
    """Wait, and serve a ball after the last frame of the wait."""
    serves = state.wait == 1
    dx, dy = jnp.where(state.ball_dx > 0, 1, -1), jnp.where(state.ball_dy < 0, -1, 1)
    return state.replace(
        ball_x=jnp.where(serves, MIDDLE + dx, state.ball_x),
        ball_y=jnp.where(serves, MIDDLE + dy, 0),
        ball_dx=jnp.where(serves, dx, state.ball_dx),
        ball_dy=jnp.where(serves, dy, state.ball_dy),
        rival=jnp.where(serves, MIDDLE, state.rival),
        wait=state.wait - 1,
    )


def _is_within(value: Int[Array, ""], bounds: tuple[int, int]) -> Bool[Array, ""]:
    """Return whether a value lies within bounds, both of which are included."""
    return (value >= bounds[0]) & (value <= bounds[1])
