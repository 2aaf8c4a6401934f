"""Breakout of MinAtar: a paddle, a ball that flies along diagonals, and three rows of bricks.

The rules are those of Young and Tian, "MinAtar", arXiv:1903.03176, 2019. Every step was compared with the package
`minatar` 1.0.15.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.minatar import LEFT, NOOP, RIGHT, SIZE, MinAtarGame, MinAtarState, direction
from funcenv.envs.arcade.minatar_scene import draw_cells
from funcenv.scene import Scene

LAST = SIZE - 1  # row of the paddle, and the last column


class BreakoutState(MinAtarState):
    """The places of the paddle, the ball and the bricks."""

    paddle: Int[Array, ""]  # column
    ball_column: Int[Array, ""]
    ball_row: Int[Array, ""]
    right: Int[Array, ""]  # direction of the ball: 1 to the right, -1 to the left
    down: Int[Array, ""]  # 1 down, -1 up
    trail_column: Int[Array, ""]  # where the ball was before
    trail_row: Int[Array, ""]
    bricks: Bool[Array, "10 10"]
    in_bricks: Bool[Array, ""]  # whether the ball hit a brick in the last step, and passes the next one


class Breakout(MinAtarGame):
    """Break bricks with a ball that must not fall.

    Observation: bool `[10, 10, 4]`: the cells of the paddle, of the ball, of its trail, and of the bricks.

    Action: int32 `[]`: 0 for nothing, 1 to the left, 2 to the right.

    Reward: 1 for each brick. New bricks come when all are broken and the ball is at the bottom.

    Termination: the ball falls.

    Initial state: three rows of bricks, the paddle in the middle, and the ball at the left or the right wall.

    >>> import funcenv
    >>> env = funcenv.make("MinAtar/Breakout-v1")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> int(state.bricks.sum())
    30
    """

    channels = ("paddle", "ball", "trail", "brick")
    actions = (NOOP, LEFT, RIGHT)

    def start(self, key: jax.Array) -> BreakoutState:
        """Return the first state of an episode."""
        from_right = jax.random.bernoulli(key)
        zero = jnp.zeros((), jnp.int32)
        column = jnp.where(from_right, LAST, 0).astype(jnp.int32)
        return BreakoutState(
            last_action=zero,
            reward=jnp.zeros((), float),
            over=jnp.zeros((), bool),
            paddle=zero + 4,
            ball_column=column,
            ball_row=zero + 3,
            right=jnp.where(from_right, -1, 1).astype(jnp.int32),
            down=zero + 1,
            trail_column=column,
            trail_row=zero + 3,
            bricks=new_bricks(),
            in_bricks=jnp.zeros((), bool),
        )

    def play(self, state: BreakoutState, action: Int[Array, ""], key: jax.Array) -> BreakoutState:
        """Move the paddle, then the ball; the rules draw nothing."""
        del key
        lines = jnp.arange(SIZE, dtype=jnp.int32)
        paddle = jnp.clip(state.paddle + direction(action, LEFT, RIGHT), 0, LAST)
        ahead = state.ball_column + state.right
        column, row = jnp.clip(ahead, 0, LAST), state.ball_row + state.down
        right = jnp.where(column == ahead, state.right, -state.right)

        at_ceiling = row < 0
        entered = (lines[:, None] == row) & (lines[None] == column) & state.bricks
        in_brick = entered.any()  # never at the ceiling, which is above the board
        breaks = in_brick & ~state.in_bricks
        at_bottom = ~in_brick & (row == LAST)
        bricks = state.bricks & ~(breaks & entered)
        bricks = jnp.where(at_bottom & ~bricks.any(), new_bricks(), bricks)

        centre = at_bottom & (state.ball_column == paddle)  # straight from above, reflected
        corner = at_bottom & ~centre & (column == paddle)  # at the near corner, sent back
        down = jnp.where(at_ceiling | breaks | centre | corner, -state.down, state.down)
        right = jnp.where(corner, -right, right)
        row = jnp.where(at_ceiling, 0, jnp.where(breaks | centre | corner, state.ball_row, row))
        return state.replace(
            reward=breaks.astype(state.reward.dtype),
            over=at_bottom & ~centre & ~corner,
            paddle=paddle,
            ball_column=column,
            ball_row=row,
            right=right,
            down=down,
            trail_column=state.ball_column,
            trail_row=state.ball_row,
            bricks=bricks,
            in_bricks=in_brick,
        )

    def cells(self, state: BreakoutState) -> tuple[Bool[Array, "10 10"], ...]:
        """Return the cells of the paddle, the ball, the trail and the bricks."""
        lines = jnp.arange(SIZE, dtype=jnp.int32)

        def cell(row: Int[Array, ""] | int, column: Int[Array, ""]) -> Bool[Array, "10 10"]:
            return (lines[:, None] == row) & (lines[None] == column)

        trail = cell(state.trail_row, state.trail_column)
        return cell(LAST, state.paddle), cell(state.ball_row, state.ball_column), trail, state.bricks

    def scene(self, state: BreakoutState) -> Scene:
        """Draw the court."""
        return draw_cells(self.cells(state), ("#7bdff2", "#fff3b0", "#6b7280", "#f28f6b"), "#1f2a3a")


def new_bricks() -> Bool[Array, "10 10"]:
    """Return three rows of bricks below the first row."""
    rows = jnp.arange(SIZE, dtype=jnp.int32)
    return jnp.broadcast_to(((rows >= 1) & (rows < 4))[:, None], (SIZE, SIZE))
