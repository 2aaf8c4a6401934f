"""What a policy reads in an observation: the observation of the task, and the mask of legal actions beside it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv.func_env import AnyEnv
from funcenv.spaces import Dict
from funcenv.spaces.space import AnySpace
from funcenv.wrappers.action_mask_observation import ActionMaskObservation

OBSERVATION, ACTION_MASK = "observation", "action_mask"
"""The entries of an observation of `ActionMaskObservation`."""


def task_space(space: AnySpace) -> AnySpace:
    """Return the space of what the task itself shows: that of the entry "observation" where there is a mask.

    >>> from funcenv.spaces import Box, Discrete
    >>> task_space(Discrete(5)), task_space(Dict(observation=Discrete(5), action_mask=Box(0, 1, (2,), "int8")))
    (Discrete(5), Discrete(5))
    """
    return space.spaces[OBSERVATION] if _is_masked(space) else space  # type: ignore[attr-defined]  # it is a Dict


def task_observation(space: AnySpace, observation: Any) -> Any:
    """Return the part of an observation that `task_space` contains.

    Raises:
        TypeError: The space has a mask, but the observation has none.
    """
    return _entry(observation, OBSERVATION) if _is_masked(space) else observation


def adapt_env(env: AnyEnv, space: AnySpace) -> AnyEnv:
    """Return an environment whose observations are those of a space that a policy was trained on.

    >>> import funcenv
    >>> env = funcenv.make("Taxi-v4")
    >>> adapt_env(env, ActionMaskObservation(env).observation_space).observation_space.keys()
    KeysView(Dict('action_mask': Box(0, 1, (6,), int8), 'observation': Discrete(500)))
    """
    is_adapted = not _is_masked(space) or _is_masked(env.observation_space)
    return env if is_adapted else ActionMaskObservation(env)


def legal_actions(space: AnySpace, observation: Any) -> Bool[Array, "num_actions"] | None:
    """Return which actions are legal, or None if observations have no mask.

    All actions count as legal where a mask names none, as it may after the end of an episode.

    >>> from funcenv.spaces import Box, Discrete
    >>> space = Dict(observation=Discrete(5), action_mask=Box(0, 1, (3,), "int8"))
    >>> legal_actions(space, {"observation": 4, "action_mask": jnp.array([0, 1, 0], "int8")}).tolist()
    [False, True, False]
    >>> legal_actions(Discrete(5), 4)
    """
    if not _is_masked(space):
        return None
    mask = jnp.asarray(_entry(observation, ACTION_MASK)) != 0
    return mask | ~mask.any()


def hide_illegal(scores: jax.Array, legal: Bool[Array, "*batch n"] | None) -> jax.Array:
    """Return values or logits of actions, with those of illegal ones so low that none is ever chosen.

    They are finite, because the product of infinity and a probability of 0 would be NaN.

    >>> hide_illegal(jnp.array([3.0, 1.0]), jnp.array([False, True])).argmax().item()
    1
    """
    return scores if legal is None else jnp.where(legal, scores, float(np.finfo(scores.dtype).min) / 4)


def _entry(observation: Any, name: str) -> Any:
    if not isinstance(observation, dict):
        raise TypeError(
            "the policy takes observations with an action_mask, got one without; put the environment into "
            "funcenv.wrappers.ActionMaskObservation, or pass {'observation': ..., 'action_mask': ...}"
        )
    return observation[name]


def _is_masked(space: AnySpace) -> bool:
    return isinstance(space, Dict) and set(space.spaces) == {OBSERVATION, ACTION_MASK}
