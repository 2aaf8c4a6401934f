"""Drive a taxi to a passenger, pick them up, and drop them off where they want to go.

Dietterich, "Hierarchical reinforcement learning with the MAXQ value function decomposition", JAIR 13, 2000, on his map:

    +---------+
    |R: | : :G|     R, G, Y, B   stands 0 to 3, where passengers wait and want to go
    | : | : : |     :            open
    | : : : : |     |            wall
    | | : | : |
    |Y| : |B: |
    +---------+

In the rain (his section 7.1) a move sometimes goes to either side. If the road ahead is blocked, the taxi stays where
it is and does not slip either. A fickle passenger changes the destination at most once, at the first move on board;
whether a passenger is fickle is drawn at the start. Rules, the order of outcomes and rewards are those of Gymnasium
1.4.0's `Taxi-v4`, where the rewards are constants.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int8

from funcenv.checks import require_probability
from funcenv.envs.toy_text.ansi_text import colorize
from funcenv.envs.toy_text.tabular import TabularEnv, TabularState
from funcenv.envs.toy_text.taxi_scene import draw_taxi
from funcenv.func_env import reward_bounds
from funcenv.scene import Scene
from funcenv.spaces import Discrete
from funcenv.stateful import StatefulAttribute, constant
from funcenv.struct import field

_STANDS = ((0, 0), (0, 4), (4, 0), (4, 3))  # R G Y B: row, column
_MAP = ("+---------+", "|R: | : :G|", "| : | : : |", "| : : : : |", "| | : | : |", "|Y| : |B: |", "+---------+")
_IN_TAXI = 4  # location of a passenger who is at none of the stands
_SOUTH, _NORTH, _EAST, _WEST, _PICKUP, _DROPOFF = range(6)


class TaxiState(TabularState):
    """Locations of the taxi and the passenger, and the result of the last step."""

    row: Int[Array, ""]  # row of the taxi, from the top, 0 to 4
    column: Int[Array, ""]  # column of the taxi, from the left, 0 to 4
    passenger: Int[Array, ""]  # the stand where the passenger waits, or 4 in the taxi
    destination: Int[Array, ""]  # the stand to which the passenger wants to go
    delivered: Bool[Array, ""]  # the last step dropped the passenger off at the destination
    fickle: Bool[Array, ""]  # the passenger will change the destination at the next move on board


class Taxi(TabularEnv[TaxiState]):
    """Taxi.

    Observation: int32 `[]`: `((row * 5 + column) * 5 + passenger) * 4 + destination`.

    Action: 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off. Other integers have no effect.

    Reward: `delivery_reward` for a drop-off at the destination. `illegal_reward` for a pick-up where nobody waits, and
        for a drop-off without a passenger or away from the stands. `step_reward` for any other step.

    Termination: the step that delivers the passenger. Later steps continue, with the passenger waiting there.

    Initial state: the taxi anywhere, the passenger at a stand, and another stand as destination: 300 states, all
        equally likely.

    Info: `prob`, the probability of the outcome that was drawn, without that of a changed destination (1 after a
        reset); `action_mask`, int8 `[6]`, 1 for each action that has an effect.

    The 500 observations do not tell whether the passenger is fickle, so the table `P` is for passengers who are not.

    Args:
        is_rainy: whether a move may go to either side, each with half of `1 - rainy_probability`.
        fickle_passenger: whether passengers are fickle, with `fickle_probability`.

    Raises:
        ValueError: a probability outside of [0, 1].

    >>> import funcenv
    >>> env = Taxi()
    >>> state = env.decode(16)  # at R, with a passenger on board who wants to go there
    >>> state, timestep = env.step(state, 5, funcenv.key(0))
    >>> float(timestep.reward), bool(timestep.terminated)
    (20.0, True)
    """

    is_rainy: bool = field(pytree_node=False, default=False)
    fickle_passenger: bool = field(pytree_node=False, default=False)
    rainy_probability: float = 0.8  # probability of the intended direction in the rain
    fickle_probability: float = 0.3  # probability that a passenger is fickle
    step_reward: float = -1.0  # reward of a move or a pick-up
    delivery_reward: float = 20.0  # reward of a drop-off at the destination
    illegal_reward: float = -10.0  # reward of a pick-up or drop-off that is not allowed

    action_names = ("south", "north", "east", "west", "pick up", "drop off")

    def __post_init__(self) -> None:
        require_probability(rainy_probability=self.rainy_probability, fickle_probability=self.fickle_probability)

    @property
    def noise_bounds(self) -> tuple[float, ...] | None:
        """The probabilities at which the intended way and a slip to the left end; None for fickle passengers."""
        if self.fickle_passenger:
            return None
        ahead = float(self.rainy_probability)
        return (ahead, (1 + ahead) / 2) if self.is_rainy else ()

    def initial(self, key: jax.Array) -> TaxiState:
        """Return a taxi at a random place, and a passenger at a stand who wants to go to another one."""
        if self.fickle_passenger:
            key, fickle_key = jax.random.split(key)
            fickle = jax.random.uniform(fickle_key, (), float) < self.fickle_probability
        else:
            fickle = jnp.zeros((), bool)
        place, pair = jnp.divmod(Discrete(25 * 4 * 3).sample(key), 4 * 3)
        passenger, beyond = jnp.divmod(pair, 3)
        destination = (passenger + 1 + beyond) % 4
        return self.decode(place * 20 + passenger * 4 + destination).replace(fickle=fickle)

    def transition(self, state: TaxiState, action: Int[Array, ""], key: jax.Array) -> TaxiState:
        """Draw where the taxi goes, and the new destination of a fickle passenger."""
        if not self.fickle_passenger:
            return super().transition(state, action, key)
        key, destination_key = jax.random.split(key)
        next_state = super().transition(state, action, key)
        moved = (next_state.row != state.row) | (next_state.column != state.column)
        changes = state.fickle & (state.passenger == _IN_TAXI) & moved
        other = (state.destination + 1 + Discrete(3).sample(destination_key)) % 4
        return next_state.replace(
            destination=jnp.where(changes, other, next_state.destination), fickle=state.fickle & ~changes
        )

    def outcome_probabilities(self, state: TaxiState, action: Int[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """Return the probabilities of the intended direction, of slipping to the left, and of slipping to the right."""
        del state
        if not self.is_rainy:
            return (jnp.ones((), float),)
        ahead = jnp.asarray(self.rainy_probability, float)
        aside, moves = (1 - ahead) / 2, _is_move(action)
        return jnp.where(moves, ahead, 1.0), jnp.where(moves, aside, 0.0), jnp.where(moves, aside, 0.0)

    def outcome(self, state: TaxiState, action: Int[Array, ""], index: Int[Array, ""]) -> TaxiState:
        """Return the state after a move, a pick-up or a drop-off, if that is possible."""
        down = _as_int(action == _SOUTH) - _as_int(action == _NORTH)
        right = _as_int(action == _EAST) - _as_int(action == _WEST)
        row, column = _drive(state, down, right)
        if self.is_rainy:
            blocked = (row == state.row) & (column == state.column)
            aside = jnp.where(index == 1, 1, -1)  # a quarter turn to the left, or to the right
            row_aside, column_aside = _drive(state, -aside * right, aside * down)
            slips = (index > 0) & ~blocked
            row, column = jnp.where(slips, row_aside, row), jnp.where(slips, column_aside, column)

        stand = _stand_at(state)
        picked_up = (action == _PICKUP) & _can_pick_up(state)
        dropped = (action == _DROPOFF) & _can_drop_off(state)
        return state.replace(
            row=row,
            column=column,
            passenger=jnp.where(picked_up, _IN_TAXI, jnp.where(dropped, stand, state.passenger)),
            delivered=dropped & (stand == state.destination),
        )

    def reward(self, state: TaxiState, action: Int[Array, ""], next_state: TaxiState) -> Float[Array, ""]:
        """Return the reward of a delivery, of an illegal action, or of any other step."""
        delivery, illegal, step = (
            jnp.asarray(reward, float) for reward in (self.delivery_reward, self.illegal_reward, self.step_reward)
        )
        fined = ((action == _PICKUP) & ~_can_pick_up(state)) | ((action == _DROPOFF) & ~_can_drop_off(state))
        return jnp.where(next_state.delivered, delivery, jnp.where(fined, illegal, step))

    def terminal(self, state: TaxiState) -> Bool[Array, ""]:
        """Return whether the last step delivered the passenger."""
        return state.delivered

    def state_info(self, state: TaxiState) -> dict[str, Any]:
        """Return `prob` and `action_mask`."""
        return {**super().state_info(state), "action_mask": self.action_mask(state)}

    def action_mask(self, state: TaxiState) -> Int8[Array, "6"]:
        """Return 1 for each action that has an effect in this state, and 0 for the others."""
        effects = [
            state.row < 4,
            state.row > 0,
            (state.column < 4) & ~_wall_east_of(state.row, state.column),
            (state.column > 0) & ~_wall_east_of(state.row, state.column - 1),
            _can_pick_up(state),
            _can_drop_off(state),
        ]
        return jnp.stack(effects).astype(jnp.int8)

    def encode(self, state: TaxiState) -> Int[Array, ""]:
        """Return the number of a state, 0 to 499, as described for the observation."""
        return ((state.row * 5 + state.column) * 5 + state.passenger) * 4 + state.destination

    def decode(self, number: int | Int[Array, ""]) -> TaxiState:
        """Return the state with a number, in which the passenger is not fickle."""
        place, pair = jnp.divmod(jnp.asarray(number, jnp.int32), 20)
        row, column = jnp.divmod(place, 5)
        passenger, destination = jnp.divmod(pair, 4)
        no = jnp.zeros((), bool)
        return TaxiState(
            row=row,
            column=column,
            passenger=passenger,
            destination=destination,
            delivered=no,
            fickle=no,
            prob=jnp.ones((), float),
        )

    def text(self, state: TaxiState, action: Any | None = None) -> str:
        """Return the map and the last action, as Gymnasium prints them.

        The taxi is yellow, or green with a passenger; a waiting passenger is blue and the destination magenta.
        """
        rows = [list(row) for row in _MAP]

        def paint(place: tuple[int, int], color: str, **style: bool) -> None:
            row, column = 1 + place[0], 2 * place[1] + 1
            rows[row][column] = colorize(rows[row][column], color, **style)

        taxi, passenger = (int(state.row), int(state.column)), int(state.passenger)
        if passenger == _IN_TAXI:
            row, column = 1 + taxi[0], 2 * taxi[1] + 1
            rows[row][column] = rows[row][column].replace(" ", "_")
            paint(taxi, "green", background=True)
        else:
            paint(taxi, "yellow", background=True)
            paint(_STANDS[passenger], "blue", bold=True)
        paint(_STANDS[int(state.destination)], "magenta")
        names = "South", "North", "East", "West", "Pickup", "Dropoff"
        name = "" if action is None else f"  ({names[int(action)]})"
        return "\n".join([*map("".join, rows), name, ""])

    @property
    def initial_state_distrib(self) -> Float[Array, "500"]:
        """Uniform distribution over the 300 states in which a passenger waits away from the destination."""
        passenger, destination = np.divmod(np.arange(500) % 20, 4)
        possible = (passenger != _IN_TAXI) & (passenger != destination)
        return jnp.asarray(possible / possible.sum(), float)

    @property
    def observation_space(self) -> Discrete:
        """25 places of the taxi, 5 of the passenger, and 4 destinations."""
        return Discrete(500)

    @property
    def action_space(self) -> Discrete:
        """Four moves, pick-up and drop-off."""
        return Discrete(6)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward."""
        return reward_bounds(self.step_reward, self.delivery_reward, self.illegal_reward)

    @property
    def stateful_attributes(self) -> dict[str, StatefulAttribute]:
        """The attributes of all environments with numbered states, and the function `action_mask` of such a number."""
        mask = constant(lambda: lambda number: np.asarray(self.action_mask(self.decode(int(number)))))
        return {**super().stateful_attributes, "action_mask": mask}

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the keys: the arrows drive, P picks up, D drops off."""
        return {("down",): 0, ("up",): 1, ("right",): 2, ("left",): 3, "p": 4, "d": 5}

    def scene(self, state: TaxiState) -> Scene:
        """Draw the map, the taxi, and the passenger at a stand or in the taxi."""
        rows, columns = jnp.asarray(_STANDS, jnp.int32).T
        waiting_at = jnp.minimum(state.passenger, 3)
        return draw_taxi(
            (state.row, state.column),
            (rows[waiting_at], columns[waiting_at]),
            (rows[state.destination], columns[state.destination]),
            rides=state.passenger == _IN_TAXI,
            delivered=state.delivered,
            stands=_STANDS,
            is_rainy=self.is_rainy,
        )


def _as_int(flag: Any) -> Int[Array, ""]:
    return jnp.asarray(flag, jnp.int32)


def _is_move(action: Int[Array, ""]) -> Bool[Array, ""]:
    return (jnp.asarray(action) >= _SOUTH) & (jnp.asarray(action) <= _WEST)


def _drive(state: TaxiState, down: Int[Array, ""], right: Int[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Return the row and column one place further in a direction, or the same ones if a wall is in the way."""
    east = (right > 0) & _wall_east_of(state.row, state.column)
    west = (right < 0) & _wall_east_of(state.row, state.column - 1)
    column = jnp.where(east | west, state.column, jnp.clip(state.column + right, 0, 4))
    return jnp.clip(state.row + down, 0, 4), column


def _wall_east_of(row: Int[Array, ""], column: Int[Array, ""]) -> Bool[Array, ""]:
    """Return whether there is a wall within the map, as in the drawing above."""
    return ((row <= 1) & (column == 1)) | ((row >= 3) & ((column == 0) | (column == 2)))


def _stand_at(state: TaxiState) -> Int[Array, ""]:
    """Return the number of the stand where the taxi is, or -1."""
    stand = jnp.full((), -1, jnp.int32)
    for number, (row, column) in enumerate(_STANDS):
        stand = jnp.where((state.row == row) & (state.column == column), number, stand)
    return stand


def _can_pick_up(state: TaxiState) -> Bool[Array, ""]:
    return _stand_at(state) == state.passenger


def _can_drop_off(state: TaxiState) -> Bool[Array, ""]:
    return (_stand_at(state) >= 0) & (state.passenger == _IN_TAXI)
