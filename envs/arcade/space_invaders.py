"""Space Invaders of MinAtar: a cannon against a formation of aliens.

The rules are those of Young and Tian, "MinAtar", arXiv:1903.03176, 2019. Every step was compared with the package
`minatar` 1.0.15.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.minatar import FIRE, LEFT, NOOP, RIGHT, SIZE, MinAtarGame, MinAtarState, direction
from funcenv.envs.arcade.minatar_scene import draw_cells
from funcenv.scene import Rectangle, Scene, rgba

LAST = SIZE - 1  # row of the cannon, and the last column
ROWS, COLUMNS = 4, 6  # rows and columns of aliens in a formation
WHOLE_FORMATION = (1 << ROWS * COLUMNS) - 1
FIRST_COLUMN = 2  # first column of a new formation
CANNON_INTERVAL = 5  # steps between two shots of the cannon
ALIEN_SHOT_INTERVAL = 10  # steps between two shots of the aliens
MOVE_INTERVAL = 12  # steps between two moves of the first formation, as long as it has that many aliens
LEAST_MOVE_INTERVAL = 6  # the same of later formations


class SpaceInvadersState(MinAtarState):
    """The places of the cannon, the aliens and the bullets.

    A bullet leaves the board before it can be the third of the cannon, or the second of the aliens.
    """

    column: Int[Array, ""]  # column of the cannon
    bullet_row: Int[Array, ""]  # row of the cannon's last bullet; -1 if it is gone
    bullet_column: Int[Array, ""]
    old_bullet_row: Int[Array, ""]  # row of the bullet before
    old_bullet_column: Int[Array, ""]
    alien_bullet_row: Int[Array, ""]  # 10 if it is gone
    alien_bullet_column: Int[Array, ""]
    aliens: Int[Array, ""]  # one bit for each alien that is left; see `_bit`
    formation_row: Int[Array, ""]  # top row of the formation
    formation_column: Int[Array, ""]
    to_right: Bool[Array, ""]  # true if the formation moves to the right
    move_interval: Int[Array, ""]  # steps between two moves of the formation
    move_wait: Int[Array, ""]  # steps until its next move
    alien_shot_wait: Int[Array, ""]  # steps until the next shot of an alien
    shot_wait: Int[Array, ""]  # steps until the cannon can shoot again
    ramp_index: Int[Array, ""]  # number of formations that were faster than the one before


class SpaceInvaders(MinAtarGame):
    """Shoot aliens, and avoid their bullets.

    Observation: bool `[10, 10, 6]`: the cells of the cannon, of the aliens, of the aliens again in one of two channels
    for their direction (left, right), of the bullets of the cannon, and of those of the aliens.

    Action: int32 `[]`: 0 for nothing, 1 to the left, 2 to the right, 3 to fire.

    Reward: 1 for each alien.

    Termination: a bullet or an alien reaches the cannon, or the formation has to descend from the last row.

    Initial state: a formation of 24 aliens at the top, which moves to the left, and the cannon at the bottom.

    >>> import funcenv
    >>> env = funcenv.make("MinAtar/SpaceInvaders-v1")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> int(timestep.observation[..., 1].sum())  # aliens
    24
    """

    channels = ("cannon", "alien", "alien to the left", "alien to the right", "bullet", "alien bullet")
    actions = (NOOP, LEFT, RIGHT, FIRE)
    fixed_start = True

    def start(self, key: jax.Array) -> SpaceInvadersState:
        """Return the first state of an episode."""
        del key
        zero = jnp.zeros((), jnp.int32)
        return SpaceInvadersState(
            last_action=zero,
            reward=jnp.zeros((), float),
            over=jnp.zeros((), bool),
            column=zero + SIZE // 2,
            bullet_row=zero - 1,
            bullet_column=zero,
            old_bullet_row=zero - 1,
            old_bullet_column=zero,
            alien_bullet_row=zero + SIZE,
            alien_bullet_column=zero,
            aliens=zero + WHOLE_FORMATION,
            formation_row=zero,
            formation_column=zero + FIRST_COLUMN,
            to_right=jnp.zeros((), bool),
            move_interval=zero + MOVE_INTERVAL,
            move_wait=zero + MOVE_INTERVAL,
            alien_shot_wait=zero + ALIEN_SHOT_INTERVAL,
            shot_wait=zero,
            ramp_index=zero,
        )

    def play(self, state: SpaceInvadersState, action: Int[Array, ""], key: jax.Array) -> SpaceInvadersState:
        """Move everything; the rules draw nothing."""
        del key
        aliens, top, left = state.aliens, state.formation_row, state.formation_column
        fires = (action == FIRE) & (state.shot_wait == 0)
        shot_wait = jnp.where(fires, CANNON_INTERVAL, state.shot_wait)
        row = jnp.maximum(jnp.where(fires, LAST, state.bullet_row) - 1, -1)
        old_row = jnp.maximum(jnp.where(fires, state.bullet_row, state.old_bullet_row) - 1, -1)
        bullet_column = jnp.where(fires, state.column, state.bullet_column)
        old_bullet_column = jnp.where(fires, state.bullet_column, state.old_bullet_column)

        column = jnp.clip(state.column + direction(action, LEFT, RIGHT), 0, LAST)
        alien_row, alien_bullet_column = jnp.minimum(state.alien_bullet_row + 1, SIZE), state.alien_bullet_column
        over = (alien_row == LAST) & (alien_bullet_column == column)
        over = over | ((aliens & _bit(LAST - top, column - left)) != 0)

        moves = state.move_wait == 0
        edge = jnp.where(state.to_right, LAST, 0)
        at_wall = (_occupied_columns(aliens) & _bit(0, edge - left)) != 0
        over = over | (moves & at_wall & ((aliens & _row_bits(LAST - top)) != 0))
        top = top + (moves & at_wall).astype(jnp.int32)
        left = left + jnp.where(moves & ~at_wall, jnp.where(state.to_right, 1, -1), 0)
        over = over | (moves & ((aliens & _bit(LAST - top, column - left)) != 0))
        to_right = state.to_right ^ (moves & at_wall)
        count = jax.lax.population_count(aliens)
        move_wait = jnp.where(moves, jnp.minimum(count, state.move_interval), state.move_wait)

        shoots = state.alien_shot_wait == 0
        from_row, from_column = _nearest(aliens, top, left, column)
        alien_row = jnp.where(shoots, from_row, alien_row)
        alien_bullet_column = jnp.where(shoots, from_column, alien_bullet_column)
        alien_shot_wait = jnp.where(shoots, ALIEN_SHOT_INTERVAL, state.alien_shot_wait)

        hit = aliens & jnp.where(row >= 0, _bit(row - top, bullet_column - left), 0)
        old_hit = aliens & jnp.where(old_row >= 0, _bit(old_row - top, old_bullet_column - left), 0)
        aliens = aliens ^ hit ^ old_hit
        cleared = aliens == 0
        faster = cleared & (state.move_interval > LEAST_MOVE_INTERVAL) & self.difficulty_ramping
        return state.replace(
            reward=(hit != 0).astype(state.reward.dtype) + (old_hit != 0).astype(state.reward.dtype),
            over=over,
            column=column,
            bullet_row=jnp.where(hit != 0, -1, row),
            bullet_column=bullet_column,
            old_bullet_row=jnp.where(old_hit != 0, -1, old_row),
            old_bullet_column=old_bullet_column,
            alien_bullet_row=alien_row,
            alien_bullet_column=alien_bullet_column,
            aliens=jnp.where(cleared, WHOLE_FORMATION, aliens),
            formation_row=jnp.where(cleared, 0, top),
            formation_column=jnp.where(cleared, FIRST_COLUMN, left),
            to_right=to_right,
            move_interval=state.move_interval - faster.astype(jnp.int32),
            move_wait=move_wait - 1,
            alien_shot_wait=alien_shot_wait - 1,
            shot_wait=jnp.maximum(shot_wait - 1, 0),
            ramp_index=state.ramp_index + faster.astype(jnp.int32),
        )

    def cells(self, state: SpaceInvadersState) -> tuple[Bool[Array, "10 10"], ...]:
        """Return the cells of the cannon, the aliens, the aliens by their direction, and the bullets."""
        rows, columns = jnp.arange(SIZE, dtype=jnp.int32)[:, None], jnp.arange(SIZE, dtype=jnp.int32)[None]
        cannon = (rows == LAST) & (columns == state.column)
        aliens = (state.aliens & _bit(rows - state.formation_row, columns - state.formation_column)) != 0
        bullets = (rows == state.bullet_row) & (columns == state.bullet_column)
        bullets = bullets | ((rows == state.old_bullet_row) & (columns == state.old_bullet_column))
        alien_bullet = (rows == state.alien_bullet_row) & (columns == state.alien_bullet_column)
        return cannon, aliens, aliens & ~state.to_right, aliens & state.to_right, bullets, alien_bullet

    def scene(self, state: SpaceInvadersState) -> Scene:
        """Draw the sky and the ground."""
        colors = ("#7bdff2", "#b2f7a1", "#b2f7a1", "#b2f7a1", "#fff3b0", "#ff6b6b")
        ground = Rectangle((5.0, 0.08), (10.0, 0.16), rgba("#47586b"))
        return draw_cells(self.cells(state), colors, "#131a26", (ground,))


def _bit(row: int | Int[Array, "..."], column: Int[Array, "..."]) -> Int[Array, "..."]:
    """Return the bit of the alien in a row and a column of the formation; 0 outside of it.

    Rows are counted modulo 10, because aliens that descend from the last row of the board appear in the first.
    """
    row = jnp.asarray(row, jnp.int32) % SIZE
    inside = (row < ROWS) & (column >= 0) & (column < COLUMNS)
    return jnp.where(inside, jnp.left_shift(1, COLUMNS * row + column), 0)


def _row_bits(row: Int[Array, ""]) -> Int[Array, ""]:
    """Return the bits of the aliens in a row of the formation."""
    return jnp.where((row >= 0) & (row < ROWS), jnp.left_shift((1 << COLUMNS) - 1, COLUMNS * row), 0)


def _occupied_columns(aliens: Int[Array, ""]) -> Int[Array, ""]:
    """Return a bit for each column of the formation in which aliens are left."""
    two_rows = aliens | jnp.right_shift(aliens, 2 * COLUMNS)
    return (two_rows | jnp.right_shift(two_rows, COLUMNS)) & ((1 << COLUMNS) - 1)


def _nearest(
    aliens: Int[Array, ""], top: Int[Array, ""], left: Int[Array, ""], column: Int[Array, ""]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Return the cell of the lowest alien in the column that is nearest to the cannon; the left one of two."""
    occupied, least = _occupied_columns(aliens), jnp.full_like(column, 8 * 4 * SIZE)
    for place in range(COLUMNS):
        away = left + place - column
        rank = 8 * (2 * jnp.abs(away) + (away > 0).astype(jnp.int32)) + place  # no two columns have the same
        least = jnp.where((occupied >> place) & 1 > 0, jnp.minimum(least, rank), least)
    nearest, lowest = least % 8, jnp.full_like(column, -1)
    for row in range(ROWS):
        is_there = (jnp.right_shift(aliens, COLUMNS * row + nearest) & 1) > 0
        lowest = jnp.where(is_there, jnp.maximum(lowest, (top + row) % SIZE), lowest)
    return lowest, left + nearest
