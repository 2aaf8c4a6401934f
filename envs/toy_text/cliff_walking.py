"""Walk along the edge of a cliff to the goal, on ground that may be slippery.

Example 6.6 of Sutton and Barto, "Reinforcement Learning: An Introduction", 2nd edition, 2018:

    . . . . . . . . . . . .
    . . . . . . . . . . . .
    . . . . . . . . . . . .
    S C C C C C C C C C C G

A step moves one tile and stops at the border. A step off the cliff C costs 100 and leads back to the start S. Actions,
the order of outcomes and rewards are those of Gymnasium 1.4.0's `CliffWalking-v1`, where `success_rate` and the rewards
are constants.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_probability
from funcenv.envs.toy_text.cliff_walking_scene import draw_cliff_walking
from funcenv.envs.toy_text.tabular import TabularEnv, TabularState, compass_moves, slip_bounds
from funcenv.func_env import reward_bounds
from funcenv.scene import Scene
from funcenv.spaces import Discrete
from funcenv.struct import field

_ROWS, _COLUMNS = 4, 12
_BOTTOM, _LAST = _ROWS - 1, _COLUMNS - 1


class CliffWalkingState(TabularState):
    """Position of the walker, and whether it has just fallen."""

    row: Int[Array, ""]  # row from the top, 0 to 3
    column: Int[Array, ""]  # column from the left, 0 to 11
    fell: Bool[Array, ""]  # the last step went off the cliff and back to the start


class CliffWalking(TabularEnv[CliffWalkingState]):
    """Cliff Walking.

    Observation: int32 `[]`: `row * 12 + column`. Tiles of the cliff are never observed.

    Action: 0 up, 1 right, 2 down, 3 left. Other integers are taken modulo 4.

    Reward: `cliff_reward` for a step off the cliff, `step_reward` for any other, the one that reaches the goal
        included.

    Termination: at the goal, bottom right. Later steps continue from there.

    Initial state: the start, bottom left.

    Info: `prob`, the probability of the outcome that was drawn (1 after a reset).

    Args:
        is_slippery: whether a step may go to either side, each with half of `1 - success_rate`; if not, `success_rate`
            is ignored.

    Raises:
        ValueError: a `success_rate` outside of [0, 1].

    >>> import funcenv
    >>> env = CliffWalking()
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 1, funcenv.key(1))
    >>> int(timestep.observation), float(timestep.reward), bool(timestep.terminated)
    (36, -100.0, False)
    """

    is_slippery: bool = field(pytree_node=False, default=False)
    success_rate: float = 1 / 3  # probability of the intended direction on slippery ground
    step_reward: float = -1.0  # reward of a step
    cliff_reward: float = -100.0  # reward of a step off the cliff

    fixed_start = True
    action_names = ("up", "right", "down", "left")

    def __post_init__(self) -> None:
        require_probability(success_rate=self.success_rate)

    @property
    def noise_bounds(self) -> tuple[float, ...] | None:
        """The probabilities at which a slip to one side and the intended way end."""
        return slip_bounds(self.success_rate) if self.is_slippery else ()

    def initial(self, key: jax.Array) -> CliffWalkingState:
        """Return the walker at the start."""
        del key
        return self.decode(_BOTTOM * _COLUMNS)

    def outcome_probabilities(self, state: CliffWalkingState, action: Int[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """Return the probabilities of slipping to one side, of the intended way, and of slipping to the other side."""
        del state, action
        if not self.is_slippery:
            return (jnp.ones((), float),)
        straight = jnp.asarray(self.success_rate, float)
        aside = (1 - straight) / 2
        return aside, straight, aside

    def outcome(self, state: CliffWalkingState, action: Int[Array, ""], index: Int[Array, ""]) -> CliffWalkingState:
        """Return the walker one tile further, at most at the border; or back at the start after a fall."""
        turn = index - 1 if self.is_slippery else 0
        down, right = compass_moves(jnp.asarray(action, jnp.int32) + turn, order="URDL")
        row = jnp.clip(state.row + down, 0, _BOTTOM)
        column = jnp.clip(state.column + right, 0, _LAST)
        fell = (row == _BOTTOM) & (column > 0) & (column < _LAST)
        return state.replace(row=row, column=jnp.where(fell, 0, column), fell=fell)

    def reward(
        self, state: CliffWalkingState, action: Int[Array, ""], next_state: CliffWalkingState
    ) -> Float[Array, ""]:
        """Return the reward of a step or of a fall."""
        del state, action
        return jnp.where(next_state.fell, jnp.asarray(self.cliff_reward, float), jnp.asarray(self.step_reward, float))

    def terminal(self, state: CliffWalkingState) -> Bool[Array, ""]:
        """Return whether the walker is at the goal."""
        return (state.row == _BOTTOM) & (state.column == _LAST)

    def encode(self, state: CliffWalkingState) -> Int[Array, ""]:
        """Return the number of the walker's tile, counted row by row."""
        return state.row * _COLUMNS + state.column

    def decode(self, number: int | Int[Array, ""]) -> CliffWalkingState:
        """Return the walker on tile `number`."""
        row, column = jnp.divmod(jnp.asarray(number, jnp.int32), _COLUMNS)
        return CliffWalkingState(row=row, column=column, fell=jnp.zeros((), bool), prob=jnp.ones((), float))

    def text(self, state: CliffWalkingState, action: Any | None = None) -> str:
        """Return the map with the walker x, the cliff C and the goal T, as Gymnasium prints it."""
        del action
        rows = [["o"] * _COLUMNS for _ in range(_ROWS)]
        rows[_BOTTOM][1:] = [*"C" * (_LAST - 1), "T"]
        rows[int(state.row)][int(state.column)] = "x"
        return "\n".join([*map("  ".join, rows), "", ""])

    @property
    def initial_state_distrib(self) -> Float[Array, "48"]:
        """Probability 1 for the start."""
        return jnp.asarray(np.arange(_ROWS * _COLUMNS) == _BOTTOM * _COLUMNS, float)

    @property
    def observation_space(self) -> Discrete:
        """The tiles."""
        return Discrete(_ROWS * _COLUMNS)

    @property
    def action_space(self) -> Discrete:
        """Up, right, down or left."""
        return Discrete(4)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward."""
        return reward_bounds(self.cliff_reward, self.step_reward)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys."""
        return {("up",): 0, ("right",): 1, ("down",): 2, ("left",): 3}

    def scene(self, state: CliffWalkingState) -> Scene:
        """Draw the walker above the cliff, with a red ring after a fall."""
        return draw_cliff_walking(_ROWS, _COLUMNS, state.row, state.column, state.fell)
