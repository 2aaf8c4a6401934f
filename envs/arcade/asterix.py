"""Asterix of MinAtar: gather gold and avoid enemies that run through the lanes of the board.

The rules are those of Young and Tian, "MinAtar", arXiv:1903.03176, 2019. Every step was compared with the package
`minatar` 1.0.15.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.minatar import DOWN, LEFT, NOOP, RIGHT, SIZE, UP, MinAtarGame, MinAtarState, direction
from funcenv.envs.arcade.minatar_scene import draw_cells
from funcenv.scene import Rectangle, Scene, rgba

LANES = 8  # rows 1 to 8, each with at most one enemy or piece of gold
SPAWN_INTERVAL = 10  # steps between two that appear
MOVE_INTERVAL = 5  # steps in which they move by one cell
RAMP_INTERVAL = 100  # steps after which the game becomes faster
ONE_IN_GOLD = 3  # one in so many of the things that appear is gold


class AsterixState(MinAtarState):
    """The places of the player, the enemies and the gold."""

    column: Int[Array, ""]  # column of the player
    row: Int[Array, ""]  # row of the player
    present: Bool[Array, "8"]  # true where a lane holds something
    thing_column: Int[Array, "8"]  # column of the thing in each lane
    to_right: Bool[Array, "8"]  # true where that thing moves to the right
    is_gold: Bool[Array, "8"]  # true for gold, false for an enemy
    spawn_interval: Int[Array, ""]  # steps between two that appear
    spawn_wait: Int[Array, ""]  # steps until the next one
    move_interval: Int[Array, ""]  # steps in which they move by one cell
    move_wait: Int[Array, ""]  # steps until they move
    ramp_wait: Int[Array, ""]  # steps until the game becomes faster
    ramp_index: Int[Array, ""]  # number of times the game has become faster


class Arrival(NamedTuple):
    """The enemy or the gold that appears next."""

    lane: Int[Array, ""]  # the number of its lane among the empty ones
    to_right: Bool[Array, ""]
    is_gold: Bool[Array, ""]


class Asterix(MinAtarGame):
    """Touch gold, and no enemy.

    Observation: bool `[10, 10, 4]`: the cells of the player, of enemies, of a trail behind each of them and behind each
    piece of gold, and of the gold.

    Action: int32 `[]`: 0 for nothing, 1 to the left, 2 up, 3 to the right, 4 down.

    Reward: 1 for each piece of gold.

    Termination: the player touches an enemy.

    Initial state: the player in the middle of an empty board.

    >>> import funcenv
    >>> env = funcenv.make("MinAtar/Asterix-v1")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> int(timestep.observation.sum())
    1
    """

    channels = ("player", "enemy", "trail", "gold")
    actions = (NOOP, LEFT, UP, RIGHT, DOWN)
    fixed_start = True

    def start(self, key: jax.Array) -> AsterixState:
        """Return the first state of an episode."""
        del key
        zero = jnp.zeros((), jnp.int32)
        return AsterixState(
            last_action=zero,
            reward=jnp.zeros((), float),
            over=jnp.zeros((), bool),
            column=zero + SIZE // 2,
            row=zero + SIZE // 2,
            present=jnp.zeros(LANES, bool),
            thing_column=jnp.zeros(LANES, jnp.int32),
            to_right=jnp.zeros(LANES, bool),
            is_gold=jnp.zeros(LANES, bool),
            spawn_interval=zero + SPAWN_INTERVAL,
            spawn_wait=zero + SPAWN_INTERVAL,
            move_interval=zero + MOVE_INTERVAL,
            move_wait=zero + MOVE_INTERVAL,
            ramp_wait=zero + RAMP_INTERVAL,
            ramp_index=zero,
        )

    def play(self, state: AsterixState, action: Int[Array, ""], key: jax.Array) -> AsterixState:
        """Move the player, the enemies and the gold; one more may appear in an empty lane."""
        place, kind = jax.random.bits(key, (2,), jnp.uint32)  # remainders of 32 bits are as good as even
        num_empty = jnp.maximum((~state.present).sum(dtype=jnp.uint32), 1)
        arrival = Arrival(
            lane=(place % num_empty).astype(jnp.int32), to_right=kind % 2 == 0, is_gold=kind // 2 % ONE_IN_GOLD == 0
        )
        return self.play_with(state, action, arrival)

    def play_with(self, state: AsterixState, action: Int[Array, ""], arrival: Arrival) -> AsterixState:
        """Return the next state, with what appears if it is time and a lane is empty."""
        lanes = jnp.arange(LANES, dtype=jnp.int32)
        empty = ~state.present
        appears = (state.spawn_wait == 0) & empty & (jnp.cumsum(empty, dtype=jnp.int32) - 1 == arrival.lane)
        present = state.present | appears
        thing_column = jnp.where(appears, jnp.where(arrival.to_right, 0, SIZE - 1), state.thing_column)
        to_right = jnp.where(appears, arrival.to_right, state.to_right)
        is_gold = jnp.where(appears, arrival.is_gold, state.is_gold)
        spawn_wait = jnp.where(state.spawn_wait == 0, state.spawn_interval, state.spawn_wait)

        column = jnp.clip(state.column + direction(action, LEFT, RIGHT), 0, SIZE - 1)
        row = jnp.clip(state.row + direction(action, UP, DOWN), 1, SIZE - 2)

        touched = present & (thing_column == column) & (lanes + 1 == row)
        reward = (touched & is_gold).any()
        over = (touched & ~is_gold).any()
        present = present & ~(touched & is_gold)

        moves = state.move_wait == 0
        thing_column = thing_column + jnp.where(moves, jnp.where(to_right, 1, -1), 0)
        present = present & (thing_column >= 0) & (thing_column < SIZE)
        touched = moves & present & (thing_column == column) & (lanes + 1 == row)
        reward = reward | (touched & is_gold).any()
        over = over | (touched & ~is_gold).any()
        present = present & ~(touched & is_gold)
        move_wait = jnp.where(moves, state.move_interval, state.move_wait)

        spawn_interval, move_interval = state.spawn_interval, state.move_interval
        ramp_wait, ramp_index = state.ramp_wait, state.ramp_index
        if self.difficulty_ramping:
            can_ramp = (spawn_interval > 1) | (move_interval > 1)
            ramps = can_ramp & (ramp_wait < 0)
            faster = ramps & (move_interval > 1) & (ramp_index % 2 == 1)
            move_interval = move_interval - faster.astype(jnp.int32)
            spawn_interval = spawn_interval - (ramps & (spawn_interval > 1)).astype(jnp.int32)
            ramp_index = ramp_index + ramps.astype(jnp.int32)
            ramp_wait = jnp.where(ramps, RAMP_INTERVAL, jnp.where(can_ramp, ramp_wait - 1, ramp_wait))
        return state.replace(
            reward=reward.astype(state.reward.dtype),
            over=over,
            column=column,
            row=row,
            present=present,
            thing_column=thing_column,
            to_right=to_right,
            is_gold=is_gold,
            spawn_interval=spawn_interval,
            spawn_wait=spawn_wait - 1,
            move_interval=move_interval,
            move_wait=move_wait - 1,
            ramp_wait=ramp_wait,
            ramp_index=ramp_index,
        )

    def cells(self, state: AsterixState) -> tuple[Bool[Array, "10 10"], ...]:
        """Return the cells of the player, the enemies, the trails and the gold."""
        lines = jnp.arange(SIZE, dtype=jnp.int32)
        player = (lines[:, None] == state.row) & (lines[None] == state.column)
        behind = state.thing_column + jnp.where(state.to_right, -1, 1)
        outside = jnp.zeros((1, SIZE), bool)

        def mark(column: Int[Array, "8"], shown: Bool[Array, "8"]) -> Bool[Array, "10 10"]:
            return jnp.concatenate([outside, (lines[None] == column[:, None]) & shown[:, None], outside])

        enemy = mark(state.thing_column, state.present & ~state.is_gold)
        return player, enemy, mark(behind, state.present), mark(state.thing_column, state.present & state.is_gold)

    def scene(self, state: AsterixState) -> Scene:
        """Draw the lanes from above."""
        lanes = [Rectangle((5.0, 1.5 + lane), (10.0, 0.86), rgba("#3a4a63")) for lane in range(LANES)]
        return draw_cells(self.cells(state), ("#8ee3a1", "#ff6b6b", "#71809b", "#ffd166"), "#26324a", tuple(lanes))
