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

LAST_ROW = SIZE - 1  # of the cannon
CANNON_INTERVAL = 5  # steps between two shots of the cannon
ALIEN_SHOT_INTERVAL = 10  # steps between two shots of the aliens
MOVE_INTERVAL = 12  # steps between two moves of the first formation, as long as it has that many aliens
LEAST_MOVE_INTERVAL = 6  # of later formations


class SpaceInvadersState(MinAtarState):
    """The places of the cannon, the aliens and the bullets."""

    column: Int[Array, ""]  # of the cannon
    bullets: Bool[Array, "10 10"]  # of the cannon
    alien_bullets: Bool[Array, "10 10"]  # of the aliens
    aliens: Bool[Array, "10 10"]  # the formation
    to_right: Bool[Array, ""]  # whether the formation moves to the right
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
    >>> int(state.aliens.sum())
    24
    """

    channels = ("cannon", "alien", "alien to the left", "alien to the right", "bullet", "alien bullet")
    actions = (NOOP, LEFT, RIGHT, FIRE)
    fixed_start = True

    def start(self, key: jax.Array) -> SpaceInvadersState:
        """Return the first state of an episode."""
        del key
        zero, nowhere = jnp.zeros((), jnp.int32), jnp.zeros((SIZE, SIZE), bool)
        return SpaceInvadersState(
            last_action=zero,
            reward=jnp.zeros((), float),
            over=jnp.zeros((), bool),
            column=zero + SIZE // 2,
            bullets=nowhere,
            alien_bullets=nowhere,
            aliens=formation(),
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
        lines = jnp.arange(SIZE, dtype=jnp.int32)
        fires = (action == FIRE) & (state.shot_wait == 0)
        bullets = state.bullets | (fires & (lines[:, None] == LAST_ROW) & (lines[None] == state.column))
        shot_wait = jnp.where(fires, CANNON_INTERVAL, state.shot_wait)
        column = jnp.clip(state.column + direction(action, LEFT, RIGHT), 0, LAST_ROW)
        cannon = (lines[:, None] == LAST_ROW) & (lines[None] == column)
        bullets, alien_bullets = _shift(bullets, -1, 0), _shift(state.alien_bullets, 1, 0)
        over = (alien_bullets & cannon).any() | (state.aliens & cannon).any()

        aliens, count = state.aliens, state.aliens.sum(dtype=jnp.int32)
        moves = state.move_wait == 0
        at_wall = jnp.where(state.to_right, aliens[:, -1].any(), aliens[:, 0].any())
        sideways = jnp.where(state.to_right, jnp.roll(aliens, 1, 1), jnp.roll(aliens, -1, 1))
        moved = jnp.where(at_wall, jnp.roll(aliens, 1, 0), sideways)
        over = over | (moves & at_wall & aliens[-1].any()) | (moves & (moved & cannon).any())
        aliens = jnp.where(moves, moved, aliens)
        to_right = state.to_right ^ (moves & at_wall)
        move_wait = jnp.where(moves, jnp.minimum(count, state.move_interval), state.move_wait)

        shoots = state.alien_shot_wait == 0
        alien_bullets = alien_bullets | (shoots & _nearest(aliens, column))
        alien_shot_wait = jnp.where(shoots, ALIEN_SHOT_INTERVAL, state.alien_shot_wait)

        hit = aliens & bullets
        aliens, bullets = aliens & ~hit, bullets & ~hit
        cleared = ~aliens.any()
        faster = cleared & (state.move_interval > LEAST_MOVE_INTERVAL) & self.difficulty_ramping
        return state.replace(
            reward=hit.sum().astype(state.reward.dtype),
            over=over,
            column=column,
            bullets=bullets,
            alien_bullets=alien_bullets,
            aliens=jnp.where(cleared, formation(), aliens),
            to_right=to_right,
            move_interval=state.move_interval - faster.astype(jnp.int32),
            move_wait=move_wait - 1,
            alien_shot_wait=alien_shot_wait - 1,
            shot_wait=jnp.maximum(shot_wait - 1, 0),
            ramp_index=state.ramp_index + faster.astype(jnp.int32),
        )

    def cells(self, state: SpaceInvadersState) -> tuple[Bool[Array, "10 10"], ...]:
        """Return the cells of the cannon, the aliens, the aliens by their direction, and the bullets."""
        lines = jnp.arange(SIZE, dtype=jnp.int32)
        cannon = (lines[:, None] == LAST_ROW) & (lines[None] == state.column)
        directed = state.aliens & ~state.to_right, state.aliens & state.to_right
        return cannon, state.aliens, *directed, state.bullets, state.alien_bullets

    def scene(self, state: SpaceInvadersState) -> Scene:
        """Draw the sky and the ground."""
        colors = ("#7bdff2", "#b2f7a1", "#b2f7a1", "#b2f7a1", "#fff3b0", "#ff6b6b")
        ground = Rectangle((5.0, 0.08), (10.0, 0.16), rgba("#47586b"))
        return draw_cells(self.cells(state), colors, "#131a26", (ground,))


def formation() -> Bool[Array, "10 10"]:
    """Return a new formation: 4 rows of 6 aliens."""
    lines = jnp.arange(SIZE, dtype=jnp.int32)
    return (lines < 4)[:, None] & ((lines >= 2) & (lines < 8))[None]


def _shift(cells: Bool[Array, "10 10"], step: int, axis: int) -> Bool[Array, "10 10"]:
    """Move cells along an axis; those that leave the board are lost."""
    lines = jnp.arange(SIZE, dtype=jnp.int32)
    inside = (lines > 0) if step > 0 else (lines < SIZE - 1)
    return jnp.roll(cells, step, axis) & (inside[:, None] if axis == 0 else inside[None])


def _nearest(aliens: Bool[Array, "10 10"], column: Int[Array, ""]) -> Bool[Array, "10 10"]:
    """Return the cell of the lowest alien in the column that is nearest to the cannon; the left one of two."""
    lines = jnp.arange(SIZE, dtype=jnp.int32)
    lowest = jnp.where(aliens, lines[:, None], -1).max(axis=0)  # row in each column
    distance = 2 * jnp.abs(lines - column) + (lines > column).astype(jnp.int32)  # no two columns have the same
    distance = jnp.where(lowest >= 0, distance, 4 * SIZE)
    return (lines[:, None] == lowest[None]) & (distance == distance.min())[None]
