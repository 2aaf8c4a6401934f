"""The Coin Game, a social dilemma on a grid.

A. Lerer and A. Peysakhovich, "Maintaining cooperation in complex social dilemmas using deep reinforcement learning",
arXiv:1707.01068, 2017. The grid of 3 x 3 cells, the coins of alternating colours and the observations are those of
J. Foerster et al., "Learning with Opponent-Learning Awareness", AAMAS 2018, section 5.2.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_at_least
from funcenv.envs.multi_agent.coin_game_scene import draw_coin_game
from funcenv.multi_agent import MultiAgentEnv
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode, field

_STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))  # left, right, up, down, as rows and columns


class CoinGameState(PyTreeNode):
    """The places of the players and of the coin, and the colour of the coin."""

    places: Int[Array, "2 2"]  # row and column of red and of blue
    coin: Int[Array, "2"]  # its row and column
    coin_is_red: Bool[Array, ""]


class CoinGame(MultiAgentEnv[CoinGameState]):
    """Two players, red and blue, collect coins, which are red or blue in turn.

    Observation: for each player bool `[4, 3, 3]`: the cells of the player, of the other player, of a coin of the
    player's colour, and of a coin of the other's colour.

    Action: for each player int32 `[]`: 0 to the left, 1 to the right, 2 up, 3 down; opposite sides of the grid are
    joined.

    Reward: for each player 1 for collecting a coin, and -2 when the other player collects a coin of this player's
    colour. Players who collect only coins of their own colour do best together.

    Termination: never. `funcenv.make` truncates after 150 steps.

    Initial state: players and the coin in random cells; the coin is not in the cell of a player.

    Args:
        size: rows and columns of the grid; at least 2. Observations have the shape `[4, size, size]`.

    >>> import funcenv, jax.numpy as jnp
    >>> from funcenv.envs.multi_agent import CoinGame, CoinGameState
    >>> env = CoinGame()
    >>> state = CoinGameState(jnp.array([[0, 0], [2, 2]]), jnp.array([0, 1]), jnp.array(False))
    >>> next_state, timestep = env.step(state, {"red": 1, "blue": 0}, funcenv.key(0))  # red takes a blue coin
    >>> {agent: float(reward) for agent, reward in timestep.info["rewards"].items()}
    {'blue': -2.0, 'red': 1.0}
    """

    size: int = field(pytree_node=False, default=3)  # side of the board [cells]

    agents = ("red", "blue")
    differentiable = False
    render_fps = 4

    def __post_init__(self) -> None:
        require_at_least(2, "size", self.size, remedy="the original has 3")

    @property
    def observation_spaces(self) -> dict[str, Box]:
        """The four planes of each player."""
        return dict.fromkeys(self.agents, Box(False, True, (4, self.size, self.size), bool))

    @property
    def action_spaces(self) -> dict[str, Discrete]:
        """The four directions."""
        return dict.fromkeys(self.agents, Discrete(4))

    @property
    def reward_range(self) -> tuple[float, float]:
        """The sum of both rewards: 1 if only the right player collects a coin, -1 if only the wrong one does."""
        return -1.0, 1.0

    def initial(self, key: jax.Array) -> CoinGameState:
        """Return the first state of an episode."""
        place_key, color_key, coin_key = jax.random.split(key, 3)
        places = jax.random.randint(place_key, (2, 2), 0, self.size, jnp.int32)
        return CoinGameState(places, self._free_cell(coin_key, places), jax.random.bernoulli(color_key))

    def transition(self, state: CoinGameState, action: dict[str, Any], key: jax.Array) -> CoinGameState:
        """Move both players; a coin that is collected is followed by one of the other colour."""
        steps = jnp.asarray(_STEPS, jnp.int32)[jnp.stack([action[agent] for agent in self.agents])]
        places = (state.places + steps) % self.size
        collected = (places == state.coin[None]).all(-1).any()
        coin = jnp.where(collected, self._free_cell(key, places), state.coin)
        return CoinGameState(places, coin, state.coin_is_red ^ collected)

    def observation(self, state: CoinGameState, key: jax.Array) -> dict[str, Bool[Array, "4 size size"]]:
        """Return the planes of each player."""
        del key
        red, blue = (self._plane(place) for place in state.places)
        coin = self._plane(state.coin)
        red_coin, blue_coin = coin & state.coin_is_red, coin & ~state.coin_is_red
        return {"red": jnp.stack([red, blue, red_coin, blue_coin]), "blue": jnp.stack([blue, red, blue_coin, red_coin])}

    def rewards(
        self, state: CoinGameState, action: dict[str, Any], next_state: CoinGameState
    ) -> dict[str, Float[Array, ""]]:
        """Return 1 for a coin, and -2 for a coin of one's own colour that the other player collects."""
        del action
        red, blue = (next_state.places == state.coin[None]).all(-1).astype(float)
        is_red = state.coin_is_red.astype(float)
        return {"red": red - 2.0 * is_red * blue, "blue": blue - 2.0 * (1.0 - is_red) * red}

    def scene(self, state: CoinGameState) -> Scene:
        """Draw the grid with the players and the coin."""
        return draw_coin_game(self.size, state.places, state.coin, state.coin_is_red)

    def _plane(self, place: Int[Array, "2"]) -> Bool[Array, "size size"]:
        line = jnp.arange(self.size, dtype=jnp.int32)
        return (line[:, None] == place[0]) & (line[None] == place[1])

    def _free_cell(self, key: jax.Array, places: Int[Array, "2 2"]) -> Int[Array, "2"]:
        """Draw a cell in which there is no player."""
        taken = self._plane(places[0]) | self._plane(places[1])
        cell = jax.random.categorical(key, jnp.where(taken, -jnp.inf, 0.0).ravel())
        return jnp.stack(jnp.divmod(cell.astype(jnp.int32), self.size))
