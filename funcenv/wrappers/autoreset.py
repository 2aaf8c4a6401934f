"""Begin the next episode by itself, at the step after the last one's end."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, Obs, reward_bounds
from funcenv.struct import PyTreeNode
from funcenv.wrappers._placeholders import zeros_of
from funcenv.wrappers.base import Wrapper


class AutoresetState(PyTreeNode):
    """The inner state and whether it is an episode's first."""

    env_state: Any
    fresh: Bool[Array, ""]


class Autoreset(Wrapper[AutoresetState, Action, Obs]):
    """Resets the environment at the step that follows the end of an episode.

    That step ignores its action, shows the first observation of the new episode, has reward 0, zeros for what
    `transition_info` adds, and both flags False. So nothing of an episode is lost, and a loop never resets.

    Put it outermost: a wrapper with state around it would carry its counts and frames from one episode to the next,
    and is refused. Wrappers without state may stand outside. `FuncVectorEnv` resets by itself and needs no `Autoreset`.

    Keys: the key that `step` passes on to `transition` is split into two, k for resets and l for steps; the step leads
    to the state that `env.reset(k)` or `env.step(state, action, l)` of the environment inside gives. The law of keys of
    `FuncVectorEnv`, which counts calls, is another one: with the same keys the two live different lives.

    Args:
        env: the environment, with all its wrappers.

    Raises:
        ValueError: another `Autoreset` inside.

    >>> import funcenv
    >>> env = Autoreset(funcenv.make("CartPole-v1", max_episode_steps=1))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, last = env.step(state, 0, funcenv.key(1))
    >>> state, first = env.step(state, 0, funcenv.key(2))
    >>> bool(last.truncated), float(last.reward), bool(first.truncated), float(first.reward)
    (True, 1.0, False, 0.0)
    """

    resets_itself: ClassVar[bool] = True

    def inner(self, state: AutoresetState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> AutoresetState:
        """The first state of the first episode."""
        return AutoresetState(env_state=self.env.initial(key), fresh=jnp.ones((), bool))

    def transition(self, state: AutoresetState, action: Action, key: jax.Array) -> AutoresetState:
        """The inner step, or a reset after the end of an episode."""
        reset_key, step_key = jax.random.split(key)
        ended = self.terminal(state) | self.truncated(state)
        fresh, _ = self.env.reset(reset_key)
        stepped, _ = self.env.step(state.env_state, action, step_key)
        env_state = jax.tree.map(lambda new, old: jax.lax.select(ended, new, old), fresh, stepped)
        return AutoresetState(env_state=env_state, fresh=ended)

    def reward(self, state: AutoresetState, action: Action, next_state: AutoresetState) -> Float[Array, ""]:
        """The reward inside, and 0 for a reset."""
        reward = jnp.asarray(self.env.reward(state.env_state, action, next_state.env_state))
        return jnp.where(next_state.fresh, jnp.zeros_like(reward), reward)

    @property
    def reward_range(self) -> tuple[float, float]:
        """That of the environment inside, and the 0 of a reset."""
        return reward_bounds(0.0, *self.env.reward_range)

    def terminal(self, state: AutoresetState) -> Bool[Array, ""]:
        """Whether the MDP ended here; never at an episode's first state."""
        return self.env.terminal(state.env_state) & ~state.fresh

    def truncated(self, state: AutoresetState) -> Bool[Array, ""]:
        """Whether the episode is stopped here; never at its first state."""
        return self.env.truncated(state.env_state) & ~state.fresh

    def transition_info(self, state: AutoresetState, action: Action, next_state: AutoresetState) -> dict[str, Any]:
        """Extra facts about a transition, and zeros for a reset."""
        info = self.env.transition_info(state.env_state, action, next_state.env_state)
        return jax.tree.map(
            lambda nothing, fact: jnp.where(next_state.fresh, nothing, fact),
            zeros_of(jax.tree.map(jnp.asarray, info)),
            info,
        )

    def text(self, state: AutoresetState, action: Action | None = None) -> str:
        """The state in a terminal, without an action where a reset led there."""
        return self.env.text(state.env_state, None if state.fresh else action)
