"""The rules that the games of MinAtar have in common.

K. Young and T. Tian, "MinAtar: An Atari-Inspired Testbed for Thorough and Reproducible Reinforcement Learning
Experiments", arXiv:1903.03176, 2019. Each game is played on 10 x 10 cells, and its observation has a channel for each
kind of object. The games are written from their rules, and every step was compared with the package `minatar` 1.0.15
from the same state, with the same random numbers. The package itself, which is under the GPL-3.0, is not used.

One thing differs from the package: its `reset` keeps the last action, which a sticky action may repeat in the first
step of the next episode. Here an episode begins with "noop" as the last action.

A game defines `start`, `play`, `cells` and the names of its channels and actions. Sticky actions are here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_below_one
from funcenv.func_env import FuncEnv
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode, field
from funcenv.trees import select

SIZE = 10  # side of the board, in cells
NOOP, LEFT, UP, RIGHT, DOWN, FIRE = range(6)  # MinAtar's actions
_NAMES = ("noop", "left", "up", "right", "down", "fire")
_KEYS = ((), ("left",), ("up",), ("right",), ("down",), ("space",))


def direction(action: Int[Array, ""], back: int, forward: int) -> Int[Array, ""]:
    """Return 1 for the action `forward`, -1 for `back`, else 0.

    >>> int(direction(jnp.int32(LEFT), LEFT, RIGHT))
    -1
    """
    return jnp.where(action == forward, 1, jnp.where(action == back, -1, 0)).astype(jnp.int32)


class MinAtarState(PyTreeNode):
    """The state of a game, which a subclass extends."""

    last_action: Int[Array, ""]  # the action of the last step, which a sticky action repeats
    reward: Float[Array, ""]  # reward of the last step
    over: Bool[Array, ""]  # true if the game is over


class MinAtarGame(FuncEnv[Any, Int[Array, ""], Bool[Array, "10 10 channels"]]):
    """A game on 10 x 10 cells."""

    sticky_action_probability: float = 0.1  # probability that a step repeats the previous action
    difficulty_ramping: bool = field(pytree_node=False, default=True)  # true if the game becomes faster

    channels: ClassVar[tuple[str, ...]] = ()
    actions: ClassVar[tuple[int, ...]] = ()  # MinAtar's numbers of the actions that do something in this game
    differentiable = False
    render_fps = 12

    def __post_init__(self) -> None:
        require_below_one(sticky_action_probability=self.sticky_action_probability)

    def start(self, key: jax.Array) -> Any:
        """Return the first state of an episode."""
        raise NotImplementedError(f"{type(self).__name__} must define start(key)")

    def play(self, state: Any, action: Int[Array, ""], key: jax.Array) -> Any:
        """Return the state after one of MinAtar's actions, given by its number."""
        raise NotImplementedError(f"{type(self).__name__} must define play(state, action, key)")

    def cells(self, state: Any) -> tuple[Bool[Array, "10 10"], ...]:
        """Return where the objects of each channel are."""
        raise NotImplementedError(f"{type(self).__name__} must define cells(state)")

    def initial(self, key: jax.Array) -> Any:
        """Return the first state of an episode."""
        return self.start(key)

    def transition(self, state: Any, action: Int[Array, ""], key: jax.Array) -> Any:
        """Play the action, or the one before it; a game that is over stays as it is."""
        sticky_key, play_key = jax.random.split(key)
        chosen = jnp.asarray(self.actions, jnp.int32)[action]
        sticks = jax.random.bernoulli(sticky_key, jnp.asarray(self.sticky_action_probability, float))
        played = jnp.where(sticks, state.last_action, chosen)
        following = self.play(state, played, play_key).replace(last_action=played)
        stays = state.replace(reward=jnp.zeros_like(state.reward))
        return select(state.over, stays, following)

    def observation(self, state: Any, key: jax.Array) -> Bool[Array, "10 10 channels"]:
        """Return the cells of all channels."""
        del key
        return jnp.stack(self.cells(state), axis=-1)

    def reward(self, state: Any, action: Int[Array, ""], next_state: Any) -> Float[Array, ""]:
        """Return the points of the step."""
        del state, action
        return next_state.reward

    def terminal(self, state: Any) -> Bool[Array, ""]:
        """Return whether the game is over."""
        return state.over

    @property
    def observation_space(self) -> Box:
        """Space of boards, with a mask of cells for each channel."""
        return Box(False, True, (SIZE, SIZE, len(self.channels)), bool)

    @property
    def action_space(self) -> Discrete:
        """The actions that do something."""
        return Discrete(len(self.actions))

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions."""
        return tuple(_NAMES[number] for number in self.actions)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the arrow keys and the space bar."""
        return {_KEYS[number]: action for action, number in enumerate(self.actions)}
