"""Freeway of MinAtar: a chicken crosses a road of eight lanes.

The rules are those of Young and Tian, "MinAtar", arXiv:1903.03176, 2019. Every step was compared with the package
`minatar` 1.0.15.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.envs.arcade.minatar import DOWN, NOOP, SIZE, UP, MinAtarGame, MinAtarState, direction
from funcenv.envs.arcade.minatar_scene import draw_cells
from funcenv.scene import Rectangle, Scene, rgba

LANES = 8  # rows 1 to 8
COLUMN = 4  # column of the chicken
LAST_ROW = SIZE - 1  # start row of the chicken
FASTEST = 5  # steps from one cell to the next, of the slowest car
PATIENCE = 3  # steps from one cell to the next, of the chicken
DURATION = 2500  # steps until the game is over


class FreewayState(MinAtarState):
    """The places of the chicken and the cars."""

    row: Int[Array, ""]  # row of the chicken; 0 is the other side
    wait: Int[Array, ""]  # steps until the chicken can move again
    time_left: Int[Array, ""]  # steps until the game is over
    car_column: Int[Array, "8"]  # column of the car in each lane
    car_wait: Int[Array, "8"]  # steps until it moves
    car_speed: Int[Array, "8"]  # steps from one cell to the next, from 1 to 5; negative for cars to the left


class Freeway(MinAtarGame):
    """Cross the road as often as possible before the time is over.

    Observation: bool `[10, 10, 7]`: the cells of the chicken, of the cars, and behind each car a mark in one of five
    channels that tells its speed.

    Action: int32 `[]`: 0 for nothing, 1 to move up, 2 to move down. The chicken can move at every third step.

    Reward: 1 for each crossing.

    Termination: after 2,501 steps.

    Initial state: the chicken at the bottom, and a car of random speed at the left end of each lane.

    >>> import funcenv
    >>> env = funcenv.make("MinAtar/Freeway-v1", sticky_action_probability=0.0)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> int(state.row), timestep.observation.shape
    (9, (10, 10, 7))
    """

    channels = ("chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5")
    actions = (NOOP, UP, DOWN)

    def start(self, key: jax.Array) -> FreewayState:
        """Return the first state of an episode."""
        speed = self.draw_speeds(key)
        zero = jnp.zeros((), jnp.int32)
        return FreewayState(
            last_action=zero,
            reward=jnp.zeros((), float),
            over=jnp.zeros((), bool),
            row=zero + LAST_ROW,
            wait=zero + PATIENCE,
            time_left=zero + DURATION,
            car_column=jnp.zeros(LANES, jnp.int32),
            car_wait=jnp.abs(speed),
            car_speed=speed,
        )

    def draw_speeds(self, key: jax.Array) -> Int[Array, "8"]:
        """Draw the speed of the car in each lane.

        Each lane takes a decimal digit of one of two words of 32 bits; all digits are equally likely to within three
        millionths. Words for every lane would take two thirds of the time of a step.
        """
        words = jax.random.bits(key, (2,), jnp.uint32)
        digits = words[:, None] // 10 ** jnp.arange(LANES // 2, dtype=jnp.uint32)[None] % 10
        digit = digits.reshape(LANES).astype(jnp.int32)
        return jnp.where(digit < FASTEST, digit + 1, FASTEST - 1 - digit)

    def play(self, state: FreewayState, action: Int[Array, ""], key: jax.Array) -> FreewayState:
        """Move the chicken and the cars; new cars begin where the old ones are."""
        return self.play_with(state, action, self.draw_speeds(key))

    def play_with(self, state: FreewayState, action: Int[Array, ""], speeds: Int[Array, "8"]) -> FreewayState:
        """Return the next state, with the speeds of the cars that come after a crossing."""
        can_move = state.wait == 0
        step = jnp.where(can_move, direction(action, UP, DOWN), 0)
        wait = jnp.where(step != 0, PATIENCE, state.wait)
        row = jnp.clip(state.row + step, 0, LAST_ROW)
        crossed = row == 0
        speed = jnp.where(crossed, speeds, state.car_speed)
        car_wait = jnp.where(crossed, jnp.abs(speeds), state.car_wait)
        row = jnp.where(crossed, LAST_ROW, row)
        rows = jnp.arange(1, LANES + 1, dtype=jnp.int32)

        hit = ((state.car_column == COLUMN) & (rows == row)).any()
        row = jnp.where(hit, LAST_ROW, row)
        drives = car_wait == 0
        column = jnp.where(drives, (state.car_column + jnp.sign(speed)) % SIZE, state.car_column)
        car_wait = jnp.where(drives, jnp.abs(speed), car_wait - 1)
        hit = (drives & (column == COLUMN) & (rows == row)).any()
        row = jnp.where(hit, LAST_ROW, row)

        time_left = state.time_left - 1
        return state.replace(
            reward=crossed.astype(state.reward.dtype),
            over=time_left < 0,
            row=row,
            wait=jnp.maximum(wait - 1, 0),
            time_left=time_left,
            car_column=column,
            car_wait=car_wait,
            car_speed=speed,
        )

    def cells(self, state: FreewayState) -> tuple[Bool[Array, "10 10"], ...]:
        """Return the cells of the chicken, of the cars, and of the marks for each speed."""
        lines = jnp.arange(SIZE, dtype=jnp.int32)
        chicken = (lines[:, None] == state.row) & (lines[None] == COLUMN)
        behind = (state.car_column - jnp.sign(state.car_speed)) % SIZE
        outside = jnp.zeros((1, SIZE), bool)

        def mark(column: Int[Array, "8"], shown: Bool[Array, "8"]) -> Bool[Array, "10 10"]:
            lanes = (lines[None] == column[:, None]) & shown[:, None]
            return jnp.concatenate([outside, lanes, outside])

        car = mark(state.car_column, jnp.ones(LANES, bool))
        speeds = (mark(behind, jnp.abs(state.car_speed) == steps) for steps in range(1, FASTEST + 1))
        return chicken, car, *speeds

    def scene(self, state: FreewayState) -> Scene:
        """Draw the road from above."""
        road = Rectangle((5.0, 5.0), (10.0, 8.0), rgba("#4b5563"))
        lines = [Rectangle((5.0, 1.0 + lane), (10.0, 0.04), rgba("#9ca3af", 0.6)) for lane in range(1, LANES)]
        colors = ("#ffe680", "#e4572e", "#ffd0c2", "#f2a990", "#dd8a72", "#b86b58", "#8f5144")
        return draw_cells(self.cells(state), colors, "#7bb274", (road, *lines))
