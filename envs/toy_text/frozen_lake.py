"""Cross a frozen lake from start to goal without falling into a hole, on ice that may make you slip.

The map is a grid of letters: S start, F frozen, H hole, G goal. A step moves one tile and stops at the border. On
slippery ice it goes the intended way with probability `success_rate`, and to either side with half of the rest.
Parameters, the order of outcomes and rewards are those of Gymnasium 1.4.0's `FrozenLake-v1`. Two things differ: a map
must be rectangular and have a start and a goal, and `success_rate` must be a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_one_of, require_probability
from funcenv.envs.toy_text.ansi_text import colorize
from funcenv.envs.toy_text.frozen_lake_maps import MAPS, generate_random_map, parse_map
from funcenv.envs.toy_text.frozen_lake_scene import draw_frozen_lake
from funcenv.envs.toy_text.tabular import TabularEnv, TabularState, compass_moves, slip_bounds
from funcenv.func_env import reward_bounds
from funcenv.scene import Scene
from funcenv.spaces import Discrete
from funcenv.stateful import StatefulAttribute, constant
from funcenv.struct import NDArray, field

_ICE, _HOLE, _GOAL = range(3)  # kinds of tiles; a start is ice


class FrozenLakeState(TabularState):
    """Position of the walker."""

    row: Int[Array, ""]  # row from the top
    column: Int[Array, ""]  # column from the left


class FrozenLake(TabularEnv[FrozenLakeState]):
    """Frozen Lake.

    Observation: int32 `[]`: `row * ncol + column`.

    Action: 0 left, 1 down, 2 right, 3 up. Other integers are taken modulo 4.

    Reward: one of `reward_schedule`, for a step onto a goal, into a hole, or onto the ice. Steps after the end pay 0.

    Termination: at a goal or in a hole. Later steps change nothing.

    Initial state: a start tile; all of them are equally likely.

    Info: `prob`, the probability of the outcome that was drawn (1 after a reset).

    The map is static, so another map is another compiled program. All other parameters can be batched.

    Args:
        desc: rows of a map; takes precedence over `map_name`. If both are None, the constructor draws a random 8x8 map
            and keeps it in this field; `generate_random_map` draws one from a seed.
        map_name: "4x4" or "8x8".
        is_slippery: whether the walker may slip; if not, `success_rate` is ignored.

    Raises:
        TypeError: a map that is not a list of rows.
        ValueError: a malformed map (see `parse_map`), an unknown name, a `success_rate` outside of [0, 1], or a
            schedule that does not have three rewards.

    >>> import funcenv
    >>> env = FrozenLake(desc=["SFF", "FHG"], is_slippery=False)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> for action in 2, 2, 1:
    ...     state, timestep = env.step(state, action, funcenv.key(0))
    >>> int(timestep.observation), float(timestep.reward), bool(timestep.terminated)
    (5, 1.0, True)
    """

    desc: Sequence[Any] | None = field(pytree_node=False, default=None)
    map_name: str | None = field(pytree_node=False, default="4x4")
    is_slippery: bool = field(pytree_node=False, default=True)
    success_rate: float = 1 / 3  # probability of the intended direction on slippery ice
    reward_schedule: tuple[float, float, float] = (1.0, 0.0, 0.0)  # rewards of a step onto a goal, a hole, the ice

    action_names = ("left", "down", "right", "up")

    def __post_init__(self) -> None:
        if self.desc is not None:
            object.__setattr__(self, "desc", parse_map(self.desc))
        elif self.map_name is None:
            object.__setattr__(self, "desc", tuple(generate_random_map()))
        else:
            require_one_of("map_name", self.map_name, MAPS, remedy="pass other maps as desc")
        require_probability(success_rate=self.success_rate)
        if len(self.reward_schedule) != 3:
            raise ValueError(
                f"reward_schedule must hold three rewards, for goal, hole and ice, got {self.reward_schedule!r}"
            )
        object.__setattr__(self, "reward_schedule", tuple(self.reward_schedule))

    @property
    def tiles(self) -> tuple[str, ...]:
        """The map in use, one string per row."""
        return MAPS[str(self.map_name)] if self.desc is None else tuple(self.desc)

    @property
    def fixed_start(self) -> bool:
        """True if the map has a single start tile."""
        return int(self._is_start().sum()) == 1

    @property
    def noise_bounds(self) -> tuple[float, ...] | None:
        """The probabilities at which a slip to one side and the intended way end."""
        return slip_bounds(self.success_rate) if self.is_slippery else ()

    @property
    def nrow(self) -> int:
        """Number of rows."""
        return len(self.tiles)

    @property
    def ncol(self) -> int:
        """Number of columns."""
        return len(self.tiles[0])

    def initial(self, key: jax.Array) -> FrozenLakeState:
        """Return the walker on a start tile."""
        starts = np.flatnonzero(self._is_start()).astype(np.int32)
        if len(starts) == 1:
            del key
            return self.decode(starts[0])
        return self.decode(jnp.asarray(starts)[Discrete(len(starts)).sample(key)])

    def outcome_probabilities(self, state: FrozenLakeState, action: Int[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """Return the probabilities of slipping to one side, of the intended way, and of slipping to the other side.

        After the end, the first outcome has probability 1.
        """
        del action
        if not self.is_slippery:
            return (jnp.ones((), float),)
        straight = jnp.asarray(self.success_rate, float)
        aside, over = (1 - straight) / 2, self.terminal(state)
        return jnp.where(over, 1.0, aside), jnp.where(over, 0.0, straight), jnp.where(over, 0.0, aside)

    def outcome(self, state: FrozenLakeState, action: Int[Array, ""], index: Int[Array, ""]) -> FrozenLakeState:
        """Return the walker one tile further, at most at the border."""
        turn = index - 1 if self.is_slippery else 0
        down, right = compass_moves(jnp.asarray(action, jnp.int32) + turn, order="LDRU")
        over = self.terminal(state)
        return state.replace(
            row=jnp.where(over, state.row, jnp.clip(state.row + down, 0, self.nrow - 1)),
            column=jnp.where(over, state.column, jnp.clip(state.column + right, 0, self.ncol - 1)),
        )

    def reward(self, state: FrozenLakeState, action: Int[Array, ""], next_state: FrozenLakeState) -> Float[Array, ""]:
        """Return the reward of the tile that was reached, 0 after the end."""
        del action
        goal, hole, ice = (jnp.asarray(reward, float) for reward in self.reward_schedule)
        tile = self._tile(next_state)
        reached = jnp.where(tile == _GOAL, goal, jnp.where(tile == _HOLE, hole, ice))
        return jnp.where(self.terminal(state), 0.0, reached)

    def terminal(self, state: FrozenLakeState) -> Bool[Array, ""]:
        """Return whether the walker is at a goal or in a hole."""
        return self._tile(state) != _ICE

    def encode(self, state: FrozenLakeState) -> Int[Array, ""]:
        """Return the number of the walker's tile, counted row by row."""
        return state.row * self.ncol + state.column

    def decode(self, number: int | Int[Array, ""]) -> FrozenLakeState:
        """Return the walker on tile `number`."""
        row, column = jnp.divmod(jnp.asarray(number, jnp.int32), self.ncol)
        return FrozenLakeState(row=row, column=column, prob=jnp.ones((), float))

    def text(self, state: FrozenLakeState, action: Any | None = None) -> str:
        """Return the last action and the map with the walker's tile in red, as Gymnasium prints them."""
        name = "" if action is None else f"  ({('Left', 'Down', 'Right', 'Up')[int(action)]})"
        rows = [list(row) for row in self.tiles]
        row, column = int(state.row), int(state.column)
        rows[row][column] = colorize(rows[row][column], "red", background=True)
        return "\n".join([name, *map("".join, rows), ""])

    @property
    def initial_state_distrib(self) -> Float[Array, "num_states"]:
        """Uniform distribution over the start tiles."""
        starts = self._is_start()
        return jnp.asarray(starts / starts.sum(), float)

    @property
    def observation_space(self) -> Discrete:
        """The tiles."""
        return Discrete(self.nrow * self.ncol)

    @property
    def action_space(self) -> Discrete:
        """Left, down, right or up."""
        return Discrete(4)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the rewards for the tiles of this map."""
        goal, hole, ice = self.reward_schedule
        has_hole = any("H" in row for row in self.tiles)
        return reward_bounds(goal, ice, *([hole] if has_hole else []))

    @property
    def stateful_attributes(self) -> dict[str, StatefulAttribute]:
        """The attributes of all environments with numbered states, and Gymnasium's map `desc`, bytes `[nrow, ncol]`."""
        desc = constant(lambda: np.array([list(row) for row in self.tiles], "S1"))
        return {**super().stateful_attributes, "desc": desc}

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys."""
        return {("left",): 0, ("down",): 1, ("right",): 2, ("up",): 3}

    def scene(self, state: FrozenLakeState) -> Scene:
        """Draw the walker on the lake, or in the water after a fall."""
        return draw_frozen_lake(self.tiles, state.row, state.column, fell=self._tile(state) == _HOLE)

    def _is_start(self) -> NDArray:
        return np.array([letter == "S" for letter in "".join(self.tiles)])

    def _tile(self, state: FrozenLakeState) -> Int[Array, ""]:
        """Return the kind of the walker's tile; an index by number is faster than one by row and column."""
        tiles = [{"H": _HOLE, "G": _GOAL}.get(letter, _ICE) for letter in "".join(self.tiles)]
        return jnp.asarray(tiles, jnp.int32)[self.encode(state)]
