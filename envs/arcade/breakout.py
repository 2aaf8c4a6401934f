"""Breakout of MinAtar: a paddle, a ball that flies along diagonals, and three rows of bricks.

The rules are those of Young and Tian, "MinAtar", arXiv:1903.03176, 2019. What the paper leaves open, such as
corners, was found by observing the package `minatar` 1.0.15 from outside, with which every step was compared.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.minatar import LEFT, NOOP, RIGHT, SIZE, MinAtarGame, MinAtarState, direction
from funcenv.envs.arcade.minatar_scene import draw_cells
from funcenv.scene import Scene

LAST = SIZE - 1  # row of the paddle, and the last column
FULL_WALL = (1 << 3 * SIZE) - 1  # three full rows of bricks


class BreakoutState(MinAtarState):
    """The places of the paddle, the ball and the bricks."""

    paddle: Int[Array, ""]  # column
    ball_column: Int[Array, ""]
    ball_row: Int[Array, ""]
    right: Int[Array, ""]  # direction of the ball: 1 to the right, -1 to the left
    down: Int[Array, ""]  # 1 down, -1 up
    trail_column: Int[Array, ""]  # previous position of the ball
    trail_row: Int[Array, ""]
    wall: Int[Array, ""]  # the bricks of rows 1 to 3, of which each has a bit
    in_bricks: Bool[Array, ""]  # true if the ball hit a brick in the last step, and passes the next one

    @property
    def bricks(self) -> Bool[Array, "10 10"]:
        """Mask of the cells that hold a brick."""
        wall = (jnp.right_shift(self.wall, jnp.arange(3 * SIZE, dtype=jnp.int32)) & 1) > 0
        return jnp.pad(wall.reshape(3, SIZE), ((1, SIZE - 4), (0, 0)))


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
        """Return the first state of an episode, whose ball flies down from the left or the right wall."""
        from_right = jax.random.bernoulli(key)
        zero = jnp.zeros((), jnp.int32)
        column = jnp.where(from_right, LAST, zero)
        return BreakoutState(
            last_action=zero,
            reward=jnp.zeros((), float),
            over=jnp.zeros((), bool),
            paddle=zero + 4,
            ball_column=column,
            ball_row=zero + 3,
            right=jnp.where(from_right, -1, zero + 1),
            down=zero + 1,
            trail_column=column,
            trail_row=zero + 3,
            wall=zero + FULL_WALL,
            in_bricks=jnp.zeros((), bool),
        )

    def play(self, state: BreakoutState, action: Int[Array, ""], key: jax.Array) -> BreakoutState:
        """Move the paddle and the ball; the rules draw nothing."""
        del key
        paddle = jnp.clip(state.paddle + direction(action, LEFT, RIGHT), 0, LAST)

        ahead = state.ball_column + state.right
        column = jnp.clip(ahead, 0, LAST)
        right = jnp.where(ahead == column, state.right, -state.right)

        row = state.ball_row + state.down
        at_ceiling = row < 0
        brick = jnp.where((row >= 1) & (row <= 3), jnp.left_shift(1, SIZE * (row - 1) + column), 0)
        meets_brick = (state.wall & brick) != 0
        breaks = meets_brick & ~state.in_bricks  # a ball that has just broken one passes the next one
        at_bottom = (row == LAST) & ~meets_brick
        wall = jnp.where(breaks, state.wall ^ brick, state.wall)
        wall = jnp.where(at_bottom & (wall == 0), FULL_WALL, wall)

        from_above = at_bottom & (state.ball_column == paddle)
        from_the_side = at_bottom & ~from_above & (column == paddle)  # sends the ball back
        bounces = breaks | from_above | from_the_side
        return state.replace(
            reward=breaks.astype(state.reward.dtype),
            over=at_bottom & ~bounces,
            paddle=paddle,
            ball_column=column,
            ball_row=jnp.where(at_ceiling, 0, jnp.where(bounces, state.ball_row, row)),
            right=jnp.where(from_the_side, -right, right),
            down=jnp.where(at_ceiling | bounces, -state.down, state.down),
            trail_column=state.ball_column,
            trail_row=state.ball_row,
            wall=wall,
            in_bricks=meets_brick,
        )

    def cells(self, state: BreakoutState) -> tuple[Bool[Array, "10 10"], ...]:
        """Return the cells of the paddle, the ball, its trail and the bricks."""
        lines = jnp.arange(SIZE, dtype=jnp.int32)
        rows = jnp.stack([jnp.full_like(state.paddle, LAST), state.ball_row, state.trail_row])
        columns = jnp.stack([state.paddle, state.ball_column, state.trail_column])
        paddle, ball, trail = (rows[:, None] == lines[None])[:, :, None] & (columns[:, None] == lines[None])[:, None]
        return paddle, ball, trail, state.bricks

    def scene(self, state: BreakoutState) -> Scene:
        """Draw the board on a dark wall."""
        return draw_cells(self.cells(state), ("#f4f1de", "#ffd166", "#6d5f3a", "#e07a5f"), "#22223b")
