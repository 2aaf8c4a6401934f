"""The base of all wrappers: an environment around an environment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import jax
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, FuncEnv, Obs, State
from funcenv.scene import Scene
from funcenv.spaces import Space


class Wrapper(FuncEnv[State, Action, Obs]):
    """Forwards every function to the environment inside; a subclass overrides only what it changes.

    A wrapper without state of its own passes the inner state through. One with state declares a state class with a
    field `env_state`, builds it in `initial` and `transition`, and returns `state.env_state` from `inner`; everything
    else is then forwarded as before.

    A subclass that checks its own arguments in `__post_init__` calls `super().__post_init__()` first.

    Raises:
        TypeError: `env` is not a `FuncEnv`.
        ValueError: a wrapper with state of its own around one that begins new episodes by itself (`Autoreset`).

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

    resets_itself: ClassVar[bool] = False  # whether `transition` may begin a new episode

    def __post_init__(self) -> None:
        name = type(self).__name__
        if isinstance(self.env, type):
            raise TypeError(f"{name} wraps an environment, got the class {self.env.__name__}: call it first")
        if not isinstance(self.env, FuncEnv):
            raise TypeError(
                f"{name} wraps a FuncEnv, such as funcenv.make gives, got {type(self.env).__name__}; "
                "a vector environment is built last, around the wrapped one"
            )
        if type(self).inner is Wrapper.inner:
            return
        for layer in layers(self.env):
            if isinstance(layer, Wrapper) and layer.resets_itself:
                other = type(layer).__name__
                raise ValueError(
                    f"{name} keeps a state for each episode and does not see where {other} begins a new one; "
                    f"put {other} outside of it: {other}({name}(env, ...))"
                )

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
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward of a step; unbounded where `reward` is overridden and this is not."""
        if type(self).reward is not Wrapper.reward:
            return -math.inf, math.inf
        return self.env.reward_range

    @property
    def unwrapped(self) -> FuncEnv[Any, Any, Any]:
        """The environment beneath every wrapper."""
        return self.env.unwrapped

    @property
    def render_fps(self) -> float:
        """How many steps a second a window or a video shows."""
        return self.env.render_fps

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

    def scene(self, state: State) -> Scene:
        """A picture of the state."""
        return self.env.scene(self.inner(state))

    def text(self, state: State, action: Action | None = None) -> str:
        """The state in a terminal."""
        return self.env.text(self.inner(state), action)


def layers(env: FuncEnv[Any, Any, Any]) -> Iterator[FuncEnv[Any, Any, Any]]:
    """The environment, what it wraps, and so on to the innermost.

    >>> import funcenv
    >>> [type(layer).__name__ for layer in layers(funcenv.make("CartPole-v1"))]
    ['TimeLimit', 'CartPole']
    """
    yield env
    while isinstance(env, Wrapper):
        env = env.env
        yield env
