"""The dynamics of a finite environment as arrays, for planning methods."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.struct import PyTreeNode


class TransitionTable(PyTreeNode):
    """All outcomes of every action in every state; each array is `[num_states, num_actions, num_outcomes]`.

    States and actions are indexed by observations and actions. Outcomes are in the order of Gymnasium's
    `env.P[state][action]`, and their probabilities sum to 1. Where Gymnasium lists fewer than `num_outcomes`, outcomes
    of probability 0 follow. Two outcomes may lead to the same state.

    The table is a function of the parameters of its environment: it can be built inside `jax.jit`, mapped over a batch
    of environments and differentiated.

    >>> import jax
    >>> from funcenv.envs import FrozenLake
    >>> table = FrozenLake().P
    >>> table.next_state[14, 2], table.reward[14, 2]
    (Array([14, 15, 10], dtype=int32), Array([0., 1., 0.], dtype=float32))
    >>> table
    TransitionTable of shape (16, 4, 3), [num_states, num_actions, num_outcomes]
    """

    probability: Float[Array, "num_states num_actions num_outcomes"]
    next_state: Int[Array, "num_states num_actions num_outcomes"]
    reward: Float[Array, "num_states num_actions num_outcomes"]
    terminated: Bool[Array, "num_states num_actions num_outcomes"]

    def __repr__(self) -> str:
        return f"TransitionTable of shape {jnp.shape(self.probability)}, [num_states, num_actions, num_outcomes]"

    def action_values(
        self, values: Float[Array, "num_states"], discount: float | Float[Array, ""]
    ) -> Float[Array, "num_states num_actions"]:
        """Return one Bellman backup: the expected reward of each action plus the discounted value of the next state.

            q(s, a) = sum_i probability_i (reward_i + discount values[next_state_i] [not terminated_i])

        Args:
            values: value of every state.
            discount: discount factor in `[0, 1]`.

        Value iteration repeats this and a maximum:

        >>> import jax
        >>> from funcenv.envs import FrozenLake
        >>> table = FrozenLake().P
        >>> improve = lambda _, values: table.action_values(values, discount=0.99).max(axis=1)
        >>> values = jax.lax.fori_loop(0, 1000, improve, jnp.zeros(16))
        >>> print(f"{values[0]:.3f}")
        0.542
        """
        future = jnp.where(self.terminated, 0.0, values[self.next_state])
        return jnp.sum(self.probability * (self.reward + discount * future), axis=-1)


def stack_outcomes(outcomes: list[TransitionTable]) -> TransitionTable:
    """Return the outcomes of one state and action, each a table of scalars, as one table of shape `[num_outcomes]`.

    >>> half, no = jnp.float32(0.5), jnp.zeros((), bool)
    >>> outcome = TransitionTable(probability=half, next_state=jnp.int32(3), reward=half, terminated=no)
    >>> stack_outcomes([outcome, outcome]).next_state
    Array([3, 3], dtype=int32)
    """
    return jax.tree.map(lambda *entries: jnp.stack(entries), *outcomes)
