"""Reset the environment at the step after the end of an episode."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, Obs, first_state, next_state, reward_bounds
from funcenv.struct import PyTreeNode
from funcenv.trees import select
from funcenv.wrappers.base import StatefulWrapper


class AutoresetState(PyTreeNode):
    """The inner state, and whether it is the first of an episode."""

    env_state: Any
    fresh: Bool[Array, ""]


class Autoreset(StatefulWrapper[AutoresetState, Action, Obs]):
    """Resets the environment at the step that follows the end of an episode.

    That step ignores its action. It returns the first observation of the new episode, reward 0, zeros for the entries
    of `transition_info`, and both flags False. A loop thus observes every episode completely, and never resets.

    Put it outermost. A wrapper with state around it is refused, because its counts and frames would continue from one
    episode to the next; wrappers without state may be outside. `FuncVectorEnv` resets environments without `Autoreset`.

    The first episode is that of the environment inside with the same keys. A new episode begins with
    `env.initial(extra_key(k))`, where k is the key that `transition` receives. `FuncVectorEnv` derives its keys
    differently, so with the same key the two produce different episodes.

    Args:
        env: the environment, with all its wrappers.

    Raises:
        ValueError: There is another `Autoreset` inside.

    >>> import funcenv
    >>> env = Autoreset(funcenv.make("CartPole-v1", max_episode_steps=1))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, last = env.step(state, 0, funcenv.key(1))
    >>> state, first = env.step(state, 0, funcenv.key(2))
    >>> bool(last.truncated), float(last.reward), bool(first.truncated), float(first.reward)
    (True, 1.0, False, 0.0)
    """

    resets_itself: ClassVar[bool] = True

    def initial(self, key: jax.Array) -> AutoresetState:
        """Return the first state of the first episode."""
        return AutoresetState(env_state=self.env.initial(key), fresh=jnp.ones((), bool))

    def transition(self, state: AutoresetState, action: Action, key: jax.Array) -> AutoresetState:
        """Perform an inner step, or a reset after the end of an episode."""
        ended = self.terminal(state) | self.truncated(state)
        stepped = next_state(self.env, state.env_state, action, key)

        def fresh() -> Any:
            return first_state(self.env, self.extra_key(key), state.env_state)

        # A simulator on the host may take long to reset.
        env_state = jax.lax.cond(ended, fresh, lambda: stepped) if self.calls_host else select(ended, fresh(), stepped)
        return AutoresetState(env_state=env_state, fresh=ended)

    def reward(self, state: AutoresetState, action: Action, next_state: AutoresetState) -> Float[Array, ""]:
        """Return the inner reward, or 0 for a reset."""
        reward = jnp.asarray(self.env.reward(state.env_state, action, next_state.env_state))
        return jnp.where(next_state.fresh, jnp.zeros_like(reward), reward)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The range of the inner rewards and the 0 of a reset."""
        return reward_bounds(0.0, *self.env.reward_range)

    def terminal(self, state: AutoresetState) -> Bool[Array, ""]:
        """Return whether the MDP ended in this state; never in the first state of an episode."""
        return self.env.terminal(state.env_state) & ~state.fresh

    def truncated(self, state: AutoresetState) -> Bool[Array, ""]:
        """Return whether the episode is stopped here; never in its first state."""
        return self.env.truncated(state.env_state) & ~state.fresh

    def transition_info(self, state: AutoresetState, action: Action, next_state: AutoresetState) -> dict[str, Any]:
        """Return extra arrays about a transition, or zeros for a reset."""
        info = self.env.transition_info(state.env_state, action, next_state.env_state)
        return jax.tree.map(lambda leaf: jnp.where(next_state.fresh, jnp.zeros_like(leaf), leaf), info)

    def text(self, state: AutoresetState, action: Action | None = None) -> str:
        """Return a text rendering of the state, without an action after a reset."""
        return self.env.text(state.env_state, None if state.fresh else action)
