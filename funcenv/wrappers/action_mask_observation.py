"""Add the mask of legal actions to observations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.func_env import Action, AnyEnv, State
from funcenv.spaces import Box, Dict, Discrete
from funcenv.spaces.space import AnySpace
from funcenv.wrappers._spaces import first_env, info_shapes
from funcenv.wrappers.base import Wrapper


class ActionMaskObservation(Wrapper[State, Action, dict[str, Any]]):
    """Observes which actions are legal: a dict `{"action_mask": ..., "observation": ...}`.

    The mask is that of `info["action_mask"]`: int8 `[n]`, 1 for each legal action of a `Discrete` space, in its order.
    A policy then sees the mask wherever it sees the observation: in rollouts, in evaluations and in a replay buffer.
    Put it outside wrappers that change observations.

    Args:
        env: an environment with discrete actions that gives a mask in its `info`; see `gives_action_mask`.

    Raises:
        ValueError: The actions are not discrete, or there is no mask.

    >>> import funcenv
    >>> env = ActionMaskObservation(funcenv.make("Taxi-v4"))
    >>> _, timestep = env.reset(funcenv.key(0))
    >>> {name: leaf.shape for name, leaf in timestep.observation.items()}
    {'action_mask': (6,), 'observation': ()}
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not gives_action_mask(self.env):
            raise ValueError(
                "ActionMaskObservation needs Discrete actions and info['action_mask'] with a number for each, which "
                f"{type(self.env.unwrapped).__name__} has not; return the mask from its state_info"
            )

    def observation(self, state: State, key: jax.Array) -> dict[str, Any]:
        """Return the inner observation and the mask."""
        mask = self.env.state_info(state)["action_mask"]
        return {"action_mask": jnp.asarray(mask, jnp.int8), "observation": self.env.observation(state, key)}

    @property
    def observation_space(self) -> AnySpace:
        """The inner space and a mask with a number for each action."""
        mask = Box(0, 1, (_num_actions(self.env),), np.int8)
        return Dict(action_mask=mask, observation=self.env.observation_space)


def gives_action_mask(env: AnyEnv) -> bool:
    """Return whether actions are `Discrete`, and `info["action_mask"]` of a state has a number for each of them.

    >>> import funcenv
    >>> [gives_action_mask(funcenv.make(name)) for name in ("Taxi-v4", "CartPole-v1")]
    [True, False]
    """
    env = first_env(env)
    if not isinstance(env.action_space, Discrete):
        return False
    info = info_shapes(env)
    return "action_mask" in info and info["action_mask"].shape == (_num_actions(env),)


def _num_actions(env: AnyEnv) -> int:
    space = env.action_space
    assert isinstance(space, Discrete)  # the constructor refuses all other spaces
    return space.n
