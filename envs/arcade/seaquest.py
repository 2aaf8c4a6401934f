"""Seaquest of MinAtar: a submarine that rescues divers, shoots at fish and submarines, and must come up for air.

The rules are those of Young and Tian, "MinAtar", arXiv:1903.03176, 2019. Every step was compared with the package
`minatar` 1.0.15. Two of its habits are kept: with six divers on board, surfacing leaves -1 of them, and a submarine
that a bullet hits while it moves may still shoot.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.minatar import (
    DOWN,
    FIRE,
    LEFT,
    NOOP,
    RIGHT,
    SIZE,
    UP,
    MinAtarGame,
    MinAtarState,
    direction,
)
from funcenv.envs.arcade.minatar_scene import draw_cells
from funcenv.scene import Rectangle, Scene, rgba

LAST = SIZE - 1  # the last column, and the row of the gauges
MAX_ENEMIES = 32  # at most 30 are there: one appears in a step, and crosses the board in 30 steps
MAX_DIVERS = 2  # one appears in 30 steps, and crosses the board in 60
MAX_BULLETS = 2  # bullets of the player: one in 5 steps, which leaves the board in 10
FULL_OXYGEN = 200  # steps under water
CREW = 6  # divers that have room on board
SPAWN_INTERVAL = 20  # steps between two enemies at the beginning
DIVER_INTERVAL = 30  # steps between two divers
MOVE_WAIT = 5  # steps that enemies at the beginning, and divers, wait between two moves
LEAST_MOVE_WAIT = 2
SHOT_INTERVAL = 5  # steps between two shots of the player
ENEMY_SHOT_WAIT = 10  # steps that a submarine waits between two shots
SUBMARINE_CHANCE = 1 / 3


class SeaquestState(MinAtarState):
    """The places of the player, the enemies, the divers and the bullets. In each list, later arrivals come first."""

    column: Int[Array, ""]  # column of the player's bow
    row: Int[Array, ""]  # row of the player; 0 is the surface
    faces_right: Bool[Array, ""]  # true if the player's bow points to the right
    oxygen: Int[Array, ""]  # steps that it lasts
    divers_on_board: Int[Array, ""]
    surfaced: Bool[Array, ""]  # true if the player has not dived since the last supply of oxygen
    bullet_present: Bool[Array, "2"]  # the bullets of the player
    bullet_column: Int[Array, "2"]
    bullet_row: Int[Array, "2"]
    bullet_right: Bool[Array, "2"]  # true if the bullet flies to the right
    enemy_present: Bool[Array, "32"]
    enemy_column: Int[Array, "32"]
    enemy_row: Int[Array, "32"]
    enemy_right: Bool[Array, "32"]  # true if it moves to the right
    enemy_is_submarine: Bool[Array, "32"]  # rather than a fish
    enemy_wait: Int[Array, "32"]  # steps until it moves
    enemy_shot_wait: Int[Array, "32"]  # steps until it shoots, if it is a submarine
    left_bullets: Bool[Array, "10 10"]  # bullets of enemies that fly to the left
    right_bullets: Bool[Array, "10 10"]
    diver_present: Bool[Array, "2"]
    diver_column: Int[Array, "2"]
    diver_row: Int[Array, "2"]
    diver_right: Bool[Array, "2"]
    diver_wait: Int[Array, "2"]  # steps until it moves
    shot_wait: Int[Array, ""]  # steps until the player can shoot again
    spawn_interval: Int[Array, ""]  # steps between two enemies
    spawn_wait: Int[Array, ""]  # steps until the next one
    diver_spawn_wait: Int[Array, ""]  # steps until the next diver
    move_wait: Int[Array, ""]  # steps that an enemy waits between two moves
    ramp_index: Int[Array, ""]  # number of times the game has become faster


class Arrivals(NamedTuple):
    """The enemy and the diver that appear next."""

    enemy_right: Bool[Array, ""]
    is_submarine: Bool[Array, ""]
    enemy_row: Int[Array, ""]
    diver_right: Bool[Array, ""]
    diver_row: Int[Array, ""]


class Seaquest(MinAtarGame):
    """Shoot enemies, rescue divers, and surface with a diver on board before the oxygen is used up.

    Observation: bool `[10, 10, 10]`: the cells of the player's bow and stern, of the player's bullets, of a trail
    behind each enemy and diver, of the enemies' bullets, of fish, of submarines, of the gauge of the oxygen, of that of
    the divers on board, and of divers.

    Action: int32 `[]`: 0 for nothing, 1 to the left, 2 up, 3 to the right, 4 down, 5 to fire.

    Reward: 1 for each enemy that a bullet hits. Surfacing with six divers gives the tenths of the oxygen that are left.

    Termination: a fish, a submarine or a bullet reaches the player's bow, the oxygen is used up, or the player surfaces
    without a diver.

    Initial state: the player at the surface of an empty sea.

    >>> import funcenv
    >>> env = funcenv.make("MinAtar/Seaquest-v1")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> int(state.oxygen), int(state.divers_on_board)
    (200, 0)
    """

    channels = (
        *("bow", "stern", "bullet", "trail", "enemy bullet", "fish", "submarine"),
        *("oxygen gauge", "diver gauge", "diver"),
    )
    actions = (NOOP, LEFT, UP, RIGHT, DOWN, FIRE)
    fixed_start = True

    def start(self, key: jax.Array) -> SeaquestState:
        """Return the first state of an episode."""
        del key
        zero, no, nowhere = jnp.zeros((), jnp.int32), jnp.zeros((), bool), jnp.zeros((SIZE, SIZE), bool)

        def many(count: int) -> tuple[Bool[Array, "count"], Int[Array, "count"]]:
            return jnp.zeros(count, bool), jnp.zeros(count, jnp.int32)

        (bullet, bullet_zero), (enemy, enemy_zero), (diver, diver_zero) = map(
            many, (MAX_BULLETS, MAX_ENEMIES, MAX_DIVERS)
        )
        return SeaquestState(
            last_action=zero,
            reward=jnp.zeros((), float),
            over=no,
            column=zero + SIZE // 2,
            row=zero,
            faces_right=no,
            oxygen=zero + FULL_OXYGEN,
            divers_on_board=zero,
            surfaced=~no,
            bullet_present=bullet,
            bullet_column=bullet_zero,
            bullet_row=bullet_zero,
            bullet_right=bullet,
            enemy_present=enemy,
            enemy_column=enemy_zero,
            enemy_row=enemy_zero,
            enemy_right=enemy,
            enemy_is_submarine=enemy,
            enemy_wait=enemy_zero,
            enemy_shot_wait=enemy_zero,
            left_bullets=nowhere,
            right_bullets=nowhere,
            diver_present=diver,
            diver_column=diver_zero,
            diver_row=diver_zero,
            diver_right=diver,
            diver_wait=diver_zero,
            shot_wait=zero,
            spawn_interval=zero + SPAWN_INTERVAL,
            spawn_wait=zero + SPAWN_INTERVAL,
            diver_spawn_wait=zero + DIVER_INTERVAL,
            move_wait=zero + MOVE_WAIT,
            ramp_index=zero,
        )

    def play(self, state: SeaquestState, action: Int[Array, ""], key: jax.Array) -> SeaquestState:
        """Move everything; an enemy and a diver may appear."""
        drawn = jax.random.uniform(key, (5,), jnp.float32)
        rows = 1 + (8 * drawn).astype(jnp.int32)  # rows 1 to 8
        arrivals = Arrivals(drawn[0] < 0.5, drawn[1] < SUBMARINE_CHANCE, rows[2], drawn[3] < 0.5, rows[4])
        return self.play_with(state, action, arrivals)

    def play_with(self, state: SeaquestState, action: Int[Array, ""], arrivals: Arrivals) -> SeaquestState:
        """Return the next state, with what appears if it is time."""
        state = _let_divers_appear(_let_enemies_appear(state, arrivals), arrivals)
        state = _move_bullets(_steer(state.replace(reward=jnp.zeros_like(state.reward)), action))
        state = _move_enemies(_move_divers(state))
        state = state.replace(
            spawn_wait=jnp.maximum(state.spawn_wait - 1, 0),
            diver_spawn_wait=jnp.maximum(state.diver_spawn_wait - 1, 0),
            shot_wait=jnp.maximum(state.shot_wait - 1, 0),
        )
        return self._breathe(state)

    def _breathe(self, state: SeaquestState) -> SeaquestState:
        """Use up oxygen under water; take a new supply at the surface, which costs a diver and makes enemies faster."""
        dives = state.row > 0
        surfaces = ~dives & ~state.surfaced
        rescues = surfaces & (state.divers_on_board != 0)
        full_crew = rescues & (state.divers_on_board == CREW)
        bonus = jnp.where(full_crew, _tenths(state.oxygen), 0)
        slowest = (state.spawn_interval > 1) | (state.move_wait > LEAST_MOVE_WAIT)
        ramps = rescues & slowest & self.difficulty_ramping
        moves_faster = ramps & (state.move_wait > LEAST_MOVE_WAIT) & (state.ramp_index % 2 == 1)
        spawns_faster = ramps & (state.spawn_interval > 1)
        left_on_board = jnp.where(full_crew, 0, state.divers_on_board) - rescues.astype(jnp.int32)
        oxygen = jnp.where(rescues, FULL_OXYGEN, state.oxygen - dives.astype(jnp.int32))
        return state.replace(
            over=state.over | (state.oxygen <= 0) | (surfaces & ~rescues),
            reward=state.reward + bonus.astype(state.reward.dtype),
            oxygen=oxygen,
            divers_on_board=left_on_board,
            surfaced=~dives & (state.surfaced | rescues),
            move_wait=state.move_wait - moves_faster.astype(jnp.int32),
            spawn_interval=state.spawn_interval - spawns_faster.astype(jnp.int32),
            ramp_index=state.ramp_index + ramps.astype(jnp.int32),
        )

    def cells(self, state: SeaquestState) -> tuple[Bool[Array, "10 10"], ...]:
        """Return the cells of all objects."""
        lines = jnp.arange(SIZE, dtype=jnp.int32)
        in_row = (lines == state.row)[:, None]
        stern = jnp.clip(state.column + jnp.where(state.faces_right, -1, 1), 0, LAST)
        bullets = _mark(state.bullet_row, state.bullet_column, state.bullet_present)
        enemies = state.enemy_row, state.enemy_column, state.enemy_present
        fish = _mark(*enemies[:2], state.enemy_present & ~state.enemy_is_submarine)
        submarines = _mark(*enemies[:2], state.enemy_present & state.enemy_is_submarine)
        divers = state.diver_row, state.diver_column, state.diver_present
        trail = _trail(*enemies, state.enemy_right) | _trail(*divers, state.diver_right)
        gauges = (lines == LAST)[:, None]
        oxygen = lines < _tenths(state.oxygen)
        crew = (lines < LAST) & (lines >= LAST - state.divers_on_board)
        return (
            in_row & (lines == state.column)[None],
            in_row & (lines == stern)[None],
            bullets,
            trail,
            state.left_bullets | state.right_bullets,
            fish,
            submarines,
            gauges & oxygen[None],
            gauges & crew[None],
            _mark(*divers),
        )

    def scene(self, state: SeaquestState) -> Scene:
        """Draw the sky, the sea and the bottom with the gauges."""
        colors = (
            *("#ffd166", "#d9982f", "#fff3b0", "#35607f", "#ff9f9f", "#8ee3a1", "#ff6b6b"),
            *("#7bdff2", "#f7b2d9", "#f7b2d9"),
        )
        sky = Rectangle((5.0, 9.5), (10.0, 1.0), rgba("#5d8fb5"))
        bottom = Rectangle((5.0, 0.5), (10.0, 1.0), rgba("#141c26"))
        return draw_cells(self.cells(state), colors, "#1c3f5c", (sky, bottom))


def _let_enemies_appear(state: SeaquestState, arrivals: Arrivals) -> SeaquestState:
    """Add an enemy at its wall if it is time, unless others move through its row in the other direction."""
    is_time = state.spawn_wait == 0
    against = state.enemy_present & (state.enemy_row == arrivals.enemy_row)
    appears = is_time & ~(against & (state.enemy_right != arrivals.enemy_right)).any()
    return state.replace(
        spawn_wait=jnp.where(is_time, state.spawn_interval, state.spawn_wait),
        **_insert(
            state,
            "enemy",
            appears,
            column=jnp.where(arrivals.enemy_right, 0, LAST),
            row=arrivals.enemy_row,
            right=arrivals.enemy_right,
            is_submarine=arrivals.is_submarine,
            wait=state.move_wait,
            shot_wait=jnp.int32(ENEMY_SHOT_WAIT),
        ),
    )


def _let_divers_appear(state: SeaquestState, arrivals: Arrivals) -> SeaquestState:
    """Add a diver at its wall if it is time."""
    appears = state.diver_spawn_wait == 0
    return state.replace(
        diver_spawn_wait=jnp.where(appears, DIVER_INTERVAL, state.diver_spawn_wait),
        **_insert(
            state,
            "diver",
            appears,
            column=jnp.where(arrivals.diver_right, 0, LAST),
            row=arrivals.diver_row,
            right=arrivals.diver_right,
            wait=jnp.int32(MOVE_WAIT),
        ),
    )


def _steer(state: SeaquestState, action: Int[Array, ""]) -> SeaquestState:
    """Move the player, or fire."""
    sideways = direction(action, LEFT, RIGHT)
    fires = (action == FIRE) & (state.shot_wait == 0)
    fired = _insert(state, "bullet", fires, column=state.column, row=state.row, right=state.faces_right)
    return state.replace(
        column=jnp.clip(state.column + sideways, 0, LAST),
        row=jnp.clip(state.row + direction(action, UP, DOWN), 0, LAST - 1),
        faces_right=jnp.where(sideways == 0, state.faces_right, sideways > 0),
        shot_wait=jnp.where(fires, SHOT_INTERVAL, state.shot_wait),
        **fired,
    )


def _move_bullets(state: SeaquestState) -> SeaquestState:
    """Move the bullets of the player; each removes at most one enemy of its cell: a fish first, the oldest first."""
    column = state.bullet_column + jnp.where(state.bullet_right, 1, -1)
    present = state.bullet_present & (column >= 0) & (column < SIZE)
    order = jnp.arange(MAX_ENEMIES, dtype=jnp.int32) + jnp.where(state.enemy_is_submarine, 0, MAX_ENEMIES)
    enemies, hits = state.enemy_present, []
    for bullet in range(MAX_BULLETS):
        here = present[bullet] & enemies & (state.enemy_row == state.bullet_row[bullet])
        here = here & (state.enemy_column == column[bullet])
        rank = jnp.where(here, order, -1)
        hits.append(here.any())
        enemies = enemies & ~(here & (rank == rank.max()))
    hit = jnp.stack(hits)
    return state.replace(
        bullet_column=column,
        bullet_present=present & ~hit,
        enemy_present=enemies,
        reward=state.reward + hit.sum().astype(state.reward.dtype),
    )


def _move_divers(state: SeaquestState) -> SeaquestState:
    """Move the divers; the player takes those that it touches on board, as long as there is room."""
    moves = state.diver_wait == 0
    column = state.diver_column + jnp.where(moves, jnp.where(state.diver_right, 1, -1), 0)
    in_row = state.diver_present & (state.diver_row == state.row)
    touched = in_row & ((state.diver_column == state.column) | (column == state.column))
    on_board, taken = state.divers_on_board, []
    for diver in range(MAX_DIVERS):
        taken.append(touched[diver] & (on_board < CREW))
        on_board = on_board + taken[diver].astype(jnp.int32)
    return state.replace(
        divers_on_board=on_board,
        diver_present=state.diver_present & ~jnp.stack(taken) & (column >= 0) & (column < SIZE),
        diver_column=column,
        diver_wait=jnp.where(moves, MOVE_WAIT, state.diver_wait - 1),
    )


def _move_enemies(state: SeaquestState) -> SeaquestState:
    """Move the enemies, which may run into bullets or the player, and then their bullets."""
    moves = state.enemy_wait == 0
    column = state.enemy_column + jnp.where(moves, jnp.where(state.enemy_right, 1, -1), 0)
    inside = state.enemy_present & (column >= 0) & (column < SIZE)
    in_row = state.enemy_row == state.row
    rams = (state.enemy_present & in_row & (state.enemy_column == state.column)).any()
    meets = inside & in_row & (column == state.column)
    enemies, hits = inside, []
    order = jnp.arange(MAX_ENEMIES, dtype=jnp.int32) + jnp.where(state.enemy_is_submarine, 0, MAX_ENEMIES)
    for bullet in reversed(range(MAX_BULLETS)):  # the oldest first
        here = state.bullet_present[bullet] & enemies & moves & ~meets & (state.enemy_row == state.bullet_row[bullet])
        here = here & (column == state.bullet_column[bullet])
        rank = jnp.where(here, order, 2 * MAX_ENEMIES)  # submarines first, and the youngest first
        hits.append(here.any())
        enemies = enemies & ~(here & (rank == rank.min()))
    hit = jnp.stack(hits[::-1])

    shoots = inside & state.enemy_is_submarine & (state.enemy_shot_wait == 0)  # also if it was hit just now
    left = state.left_bullets | _mark(state.enemy_row, column, shoots & ~state.enemy_right)
    right = state.right_bullets | _mark(state.enemy_row, column, shoots & state.enemy_right)
    lines = jnp.arange(SIZE, dtype=jnp.int32)
    player = (lines == state.row)[:, None] & (lines == state.column)[None]
    shot = player & (left | right)
    left = jnp.roll(left, -1, 1) & (lines < LAST)[None]
    right = jnp.roll(right, 1, 1) & (lines > 0)[None]
    shot = shot | (player & (left | right))
    return state.replace(
        over=rams | meets.any() | shot.any(),
        reward=state.reward + hit.sum().astype(state.reward.dtype),
        bullet_present=state.bullet_present & ~hit,
        enemy_present=enemies,
        enemy_column=column,
        enemy_wait=jnp.where(moves, state.move_wait, state.enemy_wait - 1),
        enemy_shot_wait=jnp.where(state.enemy_shot_wait == 0, ENEMY_SHOT_WAIT, state.enemy_shot_wait - 1),
        left_bullets=left,
        right_bullets=right,
    )


def _insert(state: SeaquestState, kind: str, appears: Bool[Array, ""], **added: Array) -> dict[str, Array]:
    """Return the fields of the things of a kind with another one in front, if it appears and there is room.

    The things before the first gap move on by one place, so that all stay in their order.
    """
    present = getattr(state, f"{kind}_present")
    places = jnp.arange(present.shape[0], dtype=jnp.int32)
    gap = jnp.where(present, present.shape[0], places).min()
    shifts = appears & (places <= gap) & (gap < present.shape[0])
    fields = {}
    for name, value in {"present": jnp.ones((), bool), **added}.items():
        old = getattr(state, f"{kind}_{name}")
        fields[f"{kind}_{name}"] = jnp.where(shifts, jnp.where(places == 0, value, jnp.roll(old, 1)), old)
    return fields


def _mark(
    row: Int[Array, "things"], column: Int[Array, "things"], shown: Bool[Array, "things"]
) -> Bool[Array, "10 10"]:
    """Return the cells of things that are shown, if they are on the board."""
    lines = jnp.arange(SIZE, dtype=jnp.int32)
    on_board = shown & (column >= 0) & (column < SIZE)
    bits = jnp.where(on_board, jnp.left_shift(1, jnp.clip(column, 0, LAST)), 0)
    masks = jnp.where(row[:, None] == lines[None], bits[:, None], 0)  # a bit for each column
    in_row = jax.lax.reduce(masks, jnp.int32(0), jax.lax.bitwise_or, (0,))
    return (jnp.right_shift(in_row[:, None], lines[None]) & 1) > 0


def _trail(
    row: Int[Array, "things"], column: Int[Array, "things"], shown: Bool[Array, "things"], right: Bool[Array, "things"]
) -> Bool[Array, "10 10"]:
    """Return the cells behind things that move to the right, or else to the left."""
    return _mark(row, column + jnp.where(right, -1, 1), shown)


def _tenths(oxygen: Int[Array, ""]) -> Int[Array, ""]:
    """Return how many of ten cells the oxygen fills."""
    return jnp.maximum(oxygen, 0) * SIZE // FULL_OXYGEN
