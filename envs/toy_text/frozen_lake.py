"""Cross a frozen lake from start to goal without falling into a hole, on ice that may make you slip.

The map is a grid of letters: S start, F frozen, H hole, G goal. A step moves one tile and stops at the border. On
slippery ice it goes the intended way with probability `success_rate`, and to either side with half the rest.
Parameters, order of outcomes and rewards are Gymnasium 1.4.0's `FrozenLake-v1`, with two differences: maps that are not
rectangular, or without start or goal, are refused, and so is a `success_rate` that is not a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_probability
from funcenv.envs.toy_text.figures import board_camera, checkered, elf, landmarks, many, middle, tiles
from funcenv.envs.toy_text.maps import MAPS, generate_random_map, parse_map
from funcenv.envs.toy_text.tabular import TabularEnv, TabularState, compass_moves
from funcenv.envs.toy_text.terminal import painted
from funcenv.func_env import reward_bounds
from funcenv.scene import Line, Rectangle, Scene, Shape, palette, place, rgba
from funcenv.spaces import Discrete
from funcenv.struct import field

_ICE, _HOLE, _GOAL = range(3)  # what a tile does; a start is ice


class FrozenLakeState(TabularState):
    """Where the walker stands."""

    row: Int[Array, ""]  # from the top
    column: Int[Array, ""]  # from the left


class FrozenLake(TabularEnv[FrozenLakeState]):
    """Frozen Lake.

    Observation: int32 `[]`: `row * ncol + column`.

    Action: 0 left, 1 down, 2 right, 3 up. Other integers are taken modulo 4.

    Reward: `reward_schedule` for stepping onto the goal, into a hole, or onto the ice; 0 after the end.

    Termination: on a goal or in a hole. Later steps change nothing.

    Initial state: the start; each is as likely, where a map has several.

    Info: `prob`, the probability of the outcome that was drawn (1 after a reset).

    Args:
        desc: rows of a map; before `map_name`. With neither, a random 8x8 map is drawn when the object is made and kept
            in this field; `generate_random_map` draws one from a seed.
        map_name: "4x4" or "8x8".
        is_slippery: without it every step goes the intended way, and `success_rate` plays no part.

    The map is static: another one is another program. The rest can be batched.

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
    reward_schedule: tuple[float, float, float] = (1.0, 0.0, 0.0)  # for reaching a goal, a hole, the ice

    def __post_init__(self) -> None:
        if self.desc is not None:
            object.__setattr__(self, "desc", parse_map(self.desc))
        elif self.map_name is None:
            object.__setattr__(self, "desc", tuple(generate_random_map()))
        elif self.map_name not in MAPS:
            raise ValueError(
                f"map_name must be one of {', '.join(MAPS)}, got {self.map_name!r}; pass other maps as desc"
            )
        require_probability(success_rate=self.success_rate)
        if len(self.reward_schedule) != 3:
            raise ValueError(
                f"reward_schedule must hold three rewards, for goal, hole and ice, got {self.reward_schedule!r}"
            )
        object.__setattr__(self, "reward_schedule", tuple(self.reward_schedule))

    @property
    def tiles(self) -> tuple[str, ...]:
        """The map in use, a string for each row."""
        return MAPS[str(self.map_name)] if self.desc is None else tuple(self.desc)

    @property
    def fixed_start(self) -> bool:
        """There is one start tile."""
        return int(self._is_start().sum()) == 1

    @property
    def nrow(self) -> int:
        """Number of rows."""
        return len(self.tiles)

    @property
    def ncol(self) -> int:
        """Number of columns."""
        return len(self.tiles[0])

    def initial(self, key: jax.Array) -> FrozenLakeState:
        """On a start tile."""
        starts = np.flatnonzero(self._is_start()).astype(np.int32)
        if len(starts) == 1:
            del key
            return self.decode(starts[0])
        return self.decode(jnp.asarray(starts)[Discrete(len(starts)).sample(key)])

    def outcome_probabilities(self, state: FrozenLakeState, action: Int[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """Of slipping to one side, going straight on, and slipping to the other; just staying, after the end."""
        del action
        if not self.is_slippery:
            return (jnp.ones((), float),)
        straight = jnp.asarray(self.success_rate, float)
        aside, over = (1 - straight) / 2, self.terminal(state)
        return jnp.where(over, 1.0, aside), jnp.where(over, 0.0, straight), jnp.where(over, 0.0, aside)

    def outcome(self, state: FrozenLakeState, action: Int[Array, ""], index: Int[Array, ""]) -> FrozenLakeState:
        """One tile on, at most to the border."""
        turn = index - 1 if self.is_slippery else 0
        down, right = compass_moves(jnp.asarray(action, jnp.int32) + turn, order="LDRU")
        over = self.terminal(state)
        return state.replace(
            row=jnp.where(over, state.row, jnp.clip(state.row + down, 0, self.nrow - 1)),
            column=jnp.where(over, state.column, jnp.clip(state.column + right, 0, self.ncol - 1)),
        )

    def reward(self, state: FrozenLakeState, action: Int[Array, ""], next_state: FrozenLakeState) -> Float[Array, ""]:
        """What the schedule pays for the tile that was reached; nothing after the end."""
        del action
        goal, hole, ice = (jnp.asarray(reward, float) for reward in self.reward_schedule)
        tile = self._tile(next_state)
        reached = jnp.where(tile == _GOAL, goal, jnp.where(tile == _HOLE, hole, ice))
        return jnp.where(self.terminal(state), 0.0, reached)

    def terminal(self, state: FrozenLakeState) -> Bool[Array, ""]:
        """At the goal or in a hole."""
        return self._tile(state) != _ICE

    def encode(self, state: FrozenLakeState) -> Int[Array, ""]:
        """Tiles are numbered row by row."""
        return state.row * self.ncol + state.column

    def decode(self, number: int | Int[Array, ""]) -> FrozenLakeState:
        """Standing on tile `number`."""
        row, column = jnp.divmod(jnp.asarray(number, jnp.int32), self.ncol)
        return FrozenLakeState(row=row, column=column, prob=jnp.ones((), float))

    def text(self, state: FrozenLakeState, action: Any | None = None) -> str:
        """As Gymnasium prints it: the last action, and the map with the walker's tile in red."""
        told = "" if action is None else f"  ({('Left', 'Down', 'Right', 'Up')[int(action)]})"
        rows = [list(row) for row in self.tiles]
        row, column = int(state.row), int(state.column)
        rows[row][column] = painted(rows[row][column], "red", behind=True)
        return "\n".join([told, *map("".join, rows), ""])

    @property
    def initial_state_distrib(self) -> Float[Array, "num_states"]:
        """Uniform over the start tiles."""
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
        """What the schedule pays for the tiles of this map."""
        goal, hole, ice = self.reward_schedule
        has_hole = any("H" in row for row in self.tiles)
        return reward_bounds(goal, ice, *([hole] if has_hole else []))

    def get_keys_to_action(self) -> dict[Any, Any]:
        """The arrows."""
        return {("left",): 0, ("down",): 1, ("right",): 2, ("up",): 3}

    def scene(self, state: FrozenLakeState) -> Scene:
        """The walker on the lake, in the water after a fall."""
        fell = jnp.float32(self._tile(state) == _HOLE)
        x, y = middle(state.row, state.column)
        return Scene(
            camera=board_camera(self.nrow, self.ncol),
            shapes=(*elf((x, y + 0.06 * fell), shadow=1 - fell), *place(_water(fell), (x, y))),
            backdrop=self._lake(),
            background=palette.PAPER,
        )

    def _lake(self) -> tuple[Shape, ...]:
        found: dict[str, list[tuple[int, int]]] = {letter: [] for letter in "SFHG"}
        for row, letters in enumerate(self.tiles):
            for column, letter in enumerate(letters):
                found[letter].append((row, column))
        holes = [_hole(column + 0.5, -row - 0.5) for row, column in found["H"]]
        ice = tiles(checkered(self.nrow, self.ncol, palette.SKY))
        return ice, *many(holes), *landmarks(found["S"], found["G"])

    def _is_start(self) -> np.ndarray[Any, Any]:
        return np.array([letter == "S" for letter in "".join(self.tiles)])

    def _tile(self, state: FrozenLakeState) -> Int[Array, ""]:
        """What the walker stands on: one look-up by number, which is three times as fast as by row and column."""
        tiles = [{"H": _HOLE, "G": _GOAL}.get(letter, _ICE) for letter in "".join(self.tiles)]
        return jnp.asarray(tiles, jnp.int32)[self.encode(state)]


def _hole(x: float, y: float) -> Rectangle:
    return Rectangle((x, y), (0.8, 0.8), palette.NAVY, corner_radius=0.28, outline=palette.WHITE, outline_width=0.06)


def _water(shown: jax.Array) -> list[Shape]:
    """What is in front of somebody in a hole."""
    return [
        Rectangle((0.0, -0.21), (0.42, 0.26), rgba(palette.NAVY, shown)),
        Line((-0.22, -0.09), (0.22, -0.09), 0.09, rgba(palette.BLUE, shown)),
    ]
