"""Cross a frozen lake whose map is a parameter, seeing only the ice around.

The rules are those of `FrozenLake`: a step moves one tile and stops at the border, and an episode ends in a hole or at
the goal. `FrozenLake` observes the number of its tile, so a policy fits one map. Here the map is an array, which a
batch of environments and a level may change. The observation is the surroundings, so that one policy can cross lakes
that it has never seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_probability, require_size
from funcenv.envs.toy_text.frozen_lake_maps import MAPS, parse_map
from funcenv.envs.toy_text.lake_maze_scene import draw_lake_maze
from funcenv.envs.toy_text.tabular import compass_moves, slip_bounds
from funcenv.func_env import FuncEnv
from funcenv.levels.design import HasLevels
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import NDArray, PyTreeNode, field

ICE, HOLE, GOAL, START = range(4)  # kinds of tiles
LETTERS = "FHGS"
_EDITS = 3  # tiles that a mutation may turn


class LakeMazeState(PyTreeNode):
    """Position of the walker."""

    row: Int[Array, ""]  # row from the top
    column: Int[Array, ""]  # column from the left


class LakeMaze(HasLevels, FuncEnv[LakeMazeState, Any, Float[Array, "features"]]):
    """Lake Maze.

    Observation: float32 `[52]`: holes around the walker `[25]`, tiles beyond the border `[25]`, rows down to the goal,
        columns right to the goal. The first two show the 5 x 5 tiles around the walker, row by row, as 0 or 1. The way
        to the goal is in parts of the map's size, in [-1, 1]. Another `view` shows `(2 view + 1)^2` tiles.

    Action: 0 left, 1 down, 2 right, 3 up. Other integers are taken modulo 4.

    Reward: 1 for the step onto the goal, else 0.

    Termination: at the goal or in a hole; later steps change nothing and pay 0. `LakeMaze-v0` is truncated after 64
        steps.

    Initial state: the start tile.

    Args:
        tiles: int32 `[rows, columns]`: 0 ice, 1 hole, 2 the goal, 3 the start, of which a map has one each;
            `LakeMaze.from_rows` reads letters. By default Frozen Lake's 8x8 map.
        view: tiles that the walker sees to each side.

    Raises:
        ValueError: tiles of another kind, a map without exactly one start and one goal, a `success_rate` outside of
            [0, 1], or a `view` below 1.

    >>> import funcenv
    >>> env = LakeMaze.from_rows(["SFF", "FHG"])
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> for action in 2, 2, 1:
    ...     state, timestep = env.step(state, action, funcenv.key(0))
    >>> float(timestep.reward), bool(timestep.terminated), env.path_length()
    (1.0, True, 3)
    """

    tiles: Int[Array | NDArray, "rows columns"] = field(ndim=2, default_factory=lambda: tiles_of_rows(MAPS["8x8"]))
    success_rate: float = 1.0  # probability of the intended direction; either side has half of the rest
    view: int = field(pytree_node=False, default=2)

    fixed_start = True
    differentiable = False
    action_names = ("left", "down", "right", "up")

    def __post_init__(self) -> None:
        require_probability(success_rate=self.success_rate)
        require_size("view", self.view)
        if isinstance(self.tiles, (np.ndarray, jax.Array)) and not isinstance(self.tiles, jax.core.Tracer):
            _require_tiles(np.asarray(self.tiles))

    @classmethod
    def from_rows(cls, rows: Sequence[Any], **parameters: Any) -> LakeMaze:
        """Return the lake of a map by letters: F ice, H hole, G goal, S start.

        Raises:
            ValueError: A malformed map.
        """
        return cls(tiles=tiles_of_rows(rows), **parameters)

    @property
    def nrow(self) -> int:
        """Number of rows."""
        return int(np.shape(self.tiles)[-2])

    @property
    def ncol(self) -> int:
        """Number of columns."""
        return int(np.shape(self.tiles)[-1])

    @property
    def noise_bounds(self) -> tuple[float, ...] | None:
        """The probabilities at which a slip to one side and the intended way end."""
        return slip_bounds(self.success_rate) if np.ndim(self.success_rate) == 0 else None

    def initial(self, key: jax.Array) -> LakeMazeState:
        """Return the walker at the start."""
        del key
        return LakeMazeState(*self._place(START))

    def transition(self, state: LakeMazeState, action: Any, key: jax.Array) -> LakeMazeState:
        """Return the walker one tile further, at most at the border."""
        aside, aside_or_straight = (1 - self.success_rate) / 2, (1 + self.success_rate) / 2
        drawn = jax.random.uniform(key, (), float)
        turn = jnp.where(drawn < aside, -1, jnp.where(drawn < aside_or_straight, 0, 1)).astype(jnp.int32)
        down, right = compass_moves(jnp.asarray(action, jnp.int32) + turn, order="LDRU")
        over = self.terminal(state)
        return LakeMazeState(
            row=jnp.where(over, state.row, jnp.clip(state.row + down, 0, self.nrow - 1)),
            column=jnp.where(over, state.column, jnp.clip(state.column + right, 0, self.ncol - 1)),
        )

    def observation(self, state: LakeMazeState, key: jax.Array) -> Float[Array, "features"]:
        """Return the surroundings and the way to the goal."""
        del key
        around = jnp.arange(-self.view, self.view + 1, dtype=jnp.int32)
        rows, columns = state.row + around[:, None], state.column + around[None, :]
        is_beyond = (rows < 0) | (rows >= self.nrow) | (columns < 0) | (columns >= self.ncol)
        kinds = self._tile(jnp.clip(rows, 0, self.nrow - 1), jnp.clip(columns, 0, self.ncol - 1))
        is_hole = (kinds == HOLE) & ~is_beyond
        goal_row, goal_column = self._place(GOAL)
        way = jnp.stack([(goal_row - state.row) / self.nrow, (goal_column - state.column) / self.ncol])
        return jnp.concatenate([plane.astype(jnp.float32).ravel() for plane in (is_hole, is_beyond, way)])

    def reward(self, state: LakeMazeState, action: Any, next_state: LakeMazeState) -> Float[Array, ""]:
        """Return 1 for the step onto the goal."""
        del action
        return (self._is_at(next_state, GOAL) & ~self.terminal(state)).astype(float)

    def terminal(self, state: LakeMazeState) -> Bool[Array, ""]:
        """Return whether the walker is at the goal or in a hole."""
        return self._is_at(state, GOAL) | self._is_at(state, HOLE)

    @property
    def observation_space(self) -> Box:
        """Zeros and ones, and the way to the goal."""
        planes = 2 * (2 * self.view + 1) ** 2
        return Box(np.array([0.0] * planes + [-1.0] * 2), np.ones(planes + 2), dtype=np.float32)

    @property
    def action_space(self) -> Discrete:
        """Left, down, right or up."""
        return Discrete(4)

    @property
    def reward_range(self) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys."""
        return {("left",): 0, ("down",): 1, ("right",): 2, ("up",): 3}

    def draw_level(self, key: jax.Array) -> dict[str, Any]:
        """Return a map of this size: a start, a goal and holes on up to half of the other tiles.

        It need not have a path from start to goal; `path_length` tells.
        """
        share_key, hole_key, place_key = jax.random.split(key, 3)
        size = self.nrow * self.ncol
        share = jax.random.uniform(share_key, (), float, 0.0, 0.5)
        tiles = jnp.where(jax.random.uniform(hole_key, (size,), float) < share, HOLE, ICE).astype(jnp.int32)
        start, goal = jax.random.permutation(place_key, size)[:2]
        return {"tiles": tiles.at[start].set(START).at[goal].set(GOAL).reshape(self.nrow, self.ncol)}

    def mutate_level(self, level: dict[str, Any], key: jax.Array) -> dict[str, Any]:
        """Return a map in which ice and holes have turned into each other on up to three tiles.

        With probability one quarter, the goal also changes places with another tile.
        """
        turn_key, move_key, place_key = jax.random.split(key, 3)
        tiles = jnp.asarray(level["tiles"]).ravel()
        size = tiles.size
        for place in jax.random.randint(turn_key, (_EDITS,), 0, size, jnp.int32):
            turned = jnp.where(tiles[place] == ICE, HOLE, jnp.where(tiles[place] == HOLE, ICE, tiles[place]))
            tiles = tiles.at[place].set(turned.astype(tiles.dtype))
        place, goal = jax.random.randint(place_key, (), 0, size, jnp.int32), jnp.argmax(tiles == GOAL)
        moves = jax.random.bernoulli(move_key, 0.25) & (tiles[place] != START)
        moved = tiles.at[goal].set(tiles[place]).at[place].set(GOAL)
        return {"tiles": jnp.where(moves, moved, tiles).reshape(level["tiles"].shape)}

    def path_length(self) -> int | Int[Array, ""]:
        """Return the number of steps on the shortest way from start to goal, -1 if there is none.

        It can be traced, and is an int for concrete tiles.
        """
        tiles = jnp.asarray(self.tiles)
        num_tiles = tiles.size

        def spread(distance: jax.Array, _: None) -> tuple[jax.Array, None]:
            padded = jnp.pad(distance, 1, constant_values=num_tiles)
            near = jnp.minimum(
                jnp.minimum(padded[:-2, 1:-1], padded[2:, 1:-1]), jnp.minimum(padded[1:-1, :-2], padded[1:-1, 2:])
            )
            reached = jnp.where(tiles == HOLE, num_tiles, jnp.minimum(distance, near + 1))
            return jnp.minimum(reached, num_tiles), None

        distance = jnp.where(tiles == START, 0, num_tiles).astype(jnp.int32)
        distance, _ = jax.lax.scan(spread, distance, None, length=num_tiles)
        length = jnp.sum(jnp.where(tiles == GOAL, distance, 0))
        length = jnp.where(length >= num_tiles, -1, length)
        return length if isinstance(length, jax.core.Tracer) else int(length)

    def scene(self, state: LakeMazeState) -> Scene:
        """Draw the walker on the lake, or in the water after a fall."""
        return draw_lake_maze(self.tiles, self._place(GOAL), state.row, state.column, self._is_at(state, HOLE))

    def _tile(self, row: jax.Array, column: jax.Array) -> jax.Array:
        """Return the kinds of tiles; an index by number is faster than one by row and column."""
        return jnp.asarray(self.tiles).ravel()[row * self.ncol + column]

    def _is_at(self, state: LakeMazeState, kind: int) -> Bool[Array, ""]:
        return self._tile(state.row, state.column) == kind

    def _place(self, kind: int) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Return row and column of the start or the goal."""
        number = jnp.argmax(jnp.asarray(self.tiles).ravel() == kind).astype(jnp.int32)
        row, column = jnp.divmod(number, self.ncol)
        return row, column


def tiles_of_rows(rows: Sequence[Any]) -> NDArray:
    """Return the kinds of tiles of a map by letters, int32 `[rows, columns]`.

    >>> tiles_of_rows(["SF", "HG"]).tolist()
    [[3, 0], [1, 2]]
    """
    return np.array([[LETTERS.index(letter) for letter in row] for row in parse_map(rows)], np.int32)


def _require_tiles(tiles: NDArray) -> None:
    if tiles.ndim not in (2, 3) or tiles.dtype.kind not in "iu" or not np.isin(tiles, (ICE, HOLE, GOAL, START)).all():
        raise ValueError(
            "tiles must be integers [rows, columns] from 0 to 3 (ice, hole, goal, start), got "
            f"{tiles.dtype}{list(tiles.shape)}; LakeMaze.from_rows reads letters"
        )
    for kind, name in (START, "start"), (GOAL, "goal"):
        counts = (tiles == kind).sum((-2, -1))
        if not (counts == 1).all():
            raise ValueError(f"a map needs exactly one {name}, the number {kind}, got {counts}")
