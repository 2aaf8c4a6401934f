"""The base of all wrappers: an environment around an environment."""

from __future__ import annotations

from typing import Any

import jax
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, FuncEnv, Obs, State
from funcenv.spaces import Space


class Wrapper(FuncEnv[State, Action, Obs]):
    """Forwards every function to the environment inside; a subclass overrides only what it changes.

    A wrapper without state of its own passes the inner state through. One with state declares a state class with a
    field `env_state`, builds it in `initial` and `transition`, and returns `state.env_state` from `inner`; everything
    else is then forwarded as before.

    >>> import funcenv
    >>> class HalfReward(Wrapper):
    ...     def reward(self, state, action, next_state):
    ...         return 0.5 * self.env.reward(self.inner(state), action, self.inner(next_state))
    >>> env = HalfReward(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 1, funcenv.key(1))[1].reward)
    0.5
    """

    env: FuncEnv[Any, Any, Any]

    def inner(self, state: Any) -> Any:
        """The state of the environment inside."""
        return state

    @property
    def observation_space(self) -> Space[Obs]:
        """The set that every observation lies in."""
        return self.env.observation_space

    @property
    def action_space(self) -> Space[Action]:
        """The set of actions that the dynamics are defined for."""
        return self.env.action_space

    @property
    def unwrapped(self) -> FuncEnv[Any, Any, Any]:
        """The environment beneath every wrapper."""
        return self.env.unwrapped

    def initial(self, key: jax.Array) -> State:
        """The first state of an episode."""
        return self.env.initial(key)

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """The state that follows."""
        return self.env.transition(self.inner(state), action, key)

    def observation(self, state: State, key: jax.Array) -> Obs:
        """What the agent sees of a state."""
        return self.env.observation(self.inner(state), key)

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """The reward of a transition."""
        return self.env.reward(self.inner(state), action, self.inner(next_state))

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Whether the MDP ended here."""
        return self.env.terminal(self.inner(state))

    def truncated(self, state: State) -> Bool[Array, ""]:
        """Whether the episode is stopped here from outside the MDP."""
        return self.env.truncated(self.inner(state))

    def state_info(self, state: State) -> dict[str, Any]:
        """Extra facts about a state."""
        return self.env.state_info(self.inner(state))

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Extra facts about a transition."""
        return self.env.transition_info(self.inner(state), action, self.inner(next_state))

    def scene(self, state: State) -> Any:
        """A picture of the state."""
        return self.env.scene(self.inner(state))
