"""The base class of environments with a finite number of states.

Each action in each state has a few numbered outcomes. A subclass defines the probability and the next state of each
outcome. The dynamics draw one outcome and the transition table lists all of them, so the two cannot disagree.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.envs.toy_text.stateful_attributes import tabular_attributes
from funcenv.envs.toy_text.transition_table import TransitionTable, stack_outcomes
from funcenv.func_env import FuncEnv
from funcenv.spaces import Discrete
from funcenv.stateful import StatefulAttribute
from funcenv.struct import PyTreeNode


class TabularState(PyTreeNode):
    """The field that the state of every tabular environment has."""

    prob: Float[Array, ""]  # probability of the outcome that led here; 1 after a reset


TabularStateT = TypeVar("TabularStateT", bound=TabularState)


class TabularEnv(FuncEnv[TabularStateT, Int[Array, ""], Int[Array, ""]]):
    """An environment with numbered states, actions and outcomes, and a table of all outcomes, `P`.

    A subclass defines both spaces (`Discrete`, starting at 0), `initial`, `reward`, `terminal`, and

        encode(state)                         -> number         the observation
        decode(number)                        -> state          as after a reset
        outcome_probabilities(state, action)  -> probabilities  one per outcome, summing to 1
        outcome(state, action, index)         -> next_state     without its `prob`

    >>> from funcenv.envs import CliffWalking
    >>> env = CliffWalking()
    >>> env.P.probability.shape
    (48, 4, 1)
    """

    render_fps = 4  # Gymnasium's value

    @property
    def observation_space(self) -> Discrete:
        """The numbers of the states; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} must define the property observation_space")

    @property
    def action_space(self) -> Discrete:
        """The numbers of the actions; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} must define the property action_space")

    def encode(self, state: TabularStateT) -> Int[Array, ""]:
        """Return the number of a state, int32."""
        raise NotImplementedError(f"{type(self).__name__} must define encode(state)")

    def decode(self, number: int | Int[Array, ""]) -> TabularStateT:
        """Return the state with a number, as if an episode started there."""
        raise NotImplementedError(f"{type(self).__name__} must define decode(number)")

    def outcome_probabilities(self, state: TabularStateT, action: Int[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """Return the probability of each outcome; every state and action has the same number of outcomes."""
        raise NotImplementedError(f"{type(self).__name__} must define outcome_probabilities(state, action)")

    def outcome(self, state: TabularStateT, action: Int[Array, ""], index: Int[Array, ""]) -> TabularStateT:
        """Return the state that outcome number `index` leads to."""
        raise NotImplementedError(f"{type(self).__name__} must define outcome(state, action, index)")

    def transition(self, state: TabularStateT, action: Int[Array, ""], key: jax.Array) -> TabularStateT:
        """Draw an outcome; a single outcome needs no random number."""
        index, prob = _draw(key, self.outcome_probabilities(state, action))
        return self.outcome(state, action, index).replace(prob=prob)

    def observation(self, state: TabularStateT, key: jax.Array) -> Int[Array, ""]:
        """Return the number of the state."""
        del key
        return self.encode(state)

    def state_info(self, state: TabularStateT) -> dict[str, Any]:
        """Return `prob`, as Gymnasium does: the probability of the outcome that led here, 1 after a reset."""
        return {"prob": state.prob}

    @property
    def P(self) -> TransitionTable:  # Gymnasium's name
        """Table of all outcomes of every action in every state."""

        def row(number: jax.Array, action: jax.Array) -> TransitionTable:
            state = self.decode(number)
            outcomes = []
            for index, probability in enumerate(self.outcome_probabilities(state, action)):
                next_state = self.outcome(state, action, jnp.asarray(index, jnp.int32))
                outcomes.append(
                    TransitionTable(
                        probability=probability,
                        next_state=self.encode(next_state),
                        reward=self.reward(state, action, next_state),
                        terminated=self.terminal(next_state),
                    )
                )
            return stack_outcomes(outcomes)

        numbers = jnp.arange(self.observation_space.n, dtype=jnp.int32)
        actions = jnp.arange(self.action_space.n, dtype=jnp.int32)
        return jax.vmap(jax.vmap(row, in_axes=(None, 0)), in_axes=(0, None))(numbers, actions)

    @property
    def stateful_attributes(self) -> dict[str, StatefulAttribute]:
        """The attributes of Gymnasium's toy text environments, in their form."""
        return tabular_attributes(self)

    @property
    def initial_state_distrib(self) -> Float[Array, "num_states"]:
        """Probability that an episode starts in each state; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} must define the property initial_state_distrib")


def compass_moves(direction: Int[Array, ""], order: str) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Return the steps along rows (down) and columns (right), each -1, 0 or 1, of a direction.

    Args:
        direction: index into `order`, taken modulo 4.
        order: the letters L, D, R and U in the order in which the environment numbers them.

    >>> down, right = compass_moves(jnp.int32(3), "LDRU")
    >>> int(down), int(right)
    (-1, 0)
    """
    direction = direction % 4
    left, down, right, up = ((direction == order.index(letter)).astype(jnp.int32) for letter in "LDRU")
    return down - up, right - left


def slip_bounds(success_rate: float) -> tuple[float, float]:
    """Return the cumulative probabilities of a slip to one side, and of that or the intended way.

    >>> slip_bounds(0.5)
    (0.25, 0.75)
    """
    straight = float(success_rate)
    return (1 - straight) / 2, (1 + straight) / 2


def _draw(key: jax.Array, probabilities: tuple[Float[Array, ""], ...]) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """Return an outcome and its probability: the first whose cumulative probability exceeds a uniform number."""
    index = jnp.zeros((), jnp.int32)
    prob = cumulative = probabilities[0]
    if len(probabilities) == 1:
        del key
        return index, prob
    uniform = jax.random.uniform(key, (), float)
    for number, probability in enumerate(probabilities[1:], start=1):
        beyond: Bool[Array, ""] = uniform >= cumulative
        index, prob = jnp.where(beyond, number, index), jnp.where(beyond, probability, prob)
        cumulative = cumulative + probability
    return index, prob
