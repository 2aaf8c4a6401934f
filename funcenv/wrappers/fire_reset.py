"""Press the button that starts a game."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import Action, Obs, State, first_state, next_state
from funcenv.spaces import Discrete
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import Wrapper


class FireReset(Wrapper[State, Action, Obs]):
    """Plays the actions 1 ("FIRE") and 2 at the start of every episode, for games that wait for the button.

    It does what `FireResetEnv` does in OpenAI Baselines and Stable-Baselines3, and "fire reset" in ALE: if an action
    ends the episode, a new one begins. Put it directly around the game, or around `AtariPreprocessing`, whose
    steps repeat an action; inside `TimeLimit`, so that the two steps do not count.

    Raises:
        TypeError: The actions are not `Discrete`.
        ValueError: There are fewer than 3 actions, or action 1 is not called "FIRE" in `action_names`.

    >>> import funcenv
    >>> class Shooter(funcenv.Wrapper):
    ...     action_names = ("NOOP", "FIRE", "RIGHT")
    >>> env = FireReset(Shooter(funcenv.make("MountainCar-v0").unwrapped))
    >>> env.action_space
    Discrete(3)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        env = first_env(self.env)
        if not isinstance(env.action_space, Discrete):
            raise TypeError(f"FireReset needs Discrete actions, got {env.action_space!r}; leave it out")
        names = env.action_names
        if len(names) < 3 or names[1].upper() != "FIRE":
            raise ValueError(
                f"FireReset needs 3 or more actions, of which number 1 is called 'FIRE', got action_names={names!r}; "
                "leave it out for games that begin by themselves"
            )

    def initial(self, key: jax.Array) -> State:
        """Return the state after both actions."""
        env_state: Any = first_state(self.env, key)
        space: Any = self.env.action_space
        for action, action_key in enumerate(jax.random.split(self.extra_key(key), 2), start=1):
            step_key, restart_key = jax.random.split(action_key)
            following = next_state(self.env, env_state, jnp.asarray(space.start + action, space.dtype), step_key)
            is_over = self.env.terminal(following) | self.env.truncated(following)
            env_state = jax.lax.cond(
                is_over, lambda key: first_state(self.env, key), lambda _, kept=following: kept, restart_key
            )
        return env_state
