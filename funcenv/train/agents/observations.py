"""What a policy reads in an observation: what the task shows, the mask of legal actions, and the policy's memory."""

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
from funcenv.wrappers.policy_memory import PolicyMemory

OBSERVATION, ACTION_MASK, MEMORY = "observation", "action_mask", "memory"
"""The entries of observations of `ActionMaskObservation` and `PolicyMemory`."""

_WRAPPERS = {ACTION_MASK: ActionMaskObservation, MEMORY: PolicyMemory}


def task_space(space: AnySpace) -> AnySpace:
    """Return the space of what the task itself shows: the entry "observation" beside a mask or a memory.

    >>> from funcenv.spaces import Box, Discrete
    >>> task_space(Discrete(5)), task_space(Dict(observation=Discrete(5), action_mask=Box(0, 1, (2,), "int8")))
    (Discrete(5), Discrete(5))
    """
    return task_space(space[OBSERVATION]) if isinstance(space, Dict) and _addition(space) else space


def task_observation(space: AnySpace, observation: Any) -> Any:
    """Return the part of an observation that `task_space` contains.

    Raises:
        TypeError: The space has a mask or a memory, but the observation has none.
    """
    if not (isinstance(space, Dict) and _addition(space)):
        return observation
    return task_observation(space[OBSERVATION], _entry(space, observation, OBSERVATION))


def legal_actions(space: AnySpace, observation: Any) -> Bool[Array, "num_actions"] | None:
    """Return which actions are legal, or None if observations have no mask.

    All actions count as legal where a mask names none, as it may after the end of an episode.

    >>> from funcenv.spaces import Box, Discrete
    >>> space = Dict(observation=Discrete(5), action_mask=Box(0, 1, (3,), "int8"))
    >>> legal_actions(space, {"observation": 4, "action_mask": jnp.array([0, 1, 0], "int8")}).tolist()
    [False, True, False]
    >>> legal_actions(Discrete(5), 4)
    """
    addition = _addition(space)
    if addition is None or not isinstance(space, Dict):
        return None
    if addition == MEMORY:
        return legal_actions(space[OBSERVATION], _entry(space, observation, OBSERVATION))
    mask = jnp.asarray(_entry(space, observation, ACTION_MASK)) != 0
    return mask | ~mask.any()


def hide_illegal(scores: jax.Array, legal: Bool[Array, "*batch n"] | None) -> jax.Array:
    """Return values or logits of actions, with those of illegal ones so low that none is ever chosen.

    They are finite, because the product of infinity and a probability of 0 would be NaN.

    >>> hide_illegal(jnp.array([3.0, 1.0]), jnp.array([False, True])).argmax().item()
    1
    """
    return scores if legal is None else jnp.where(legal, scores, float(np.finfo(scores.dtype).min) / 4)


def adapt_env(env: AnyEnv, space: AnySpace) -> AnyEnv:
    """Return an environment whose observations are those of a space that a policy was trained on.

    >>> import funcenv
    >>> env = funcenv.make("Taxi-v4")
    >>> list(adapt_env(env, ActionMaskObservation(env).observation_space).observation_space.keys())
    ['action_mask', 'observation']
    """
    addition = _addition(space)
    if addition is None or _addition(env.observation_space) == addition or not isinstance(space, Dict):
        return env
    env = adapt_env(env, space[OBSERVATION])
    if addition == ACTION_MASK:
        return ActionMaskObservation(env)
    (size,) = space[MEMORY].shape or ()
    return PolicyMemory(env, size)


def _addition(space: AnySpace) -> str | None:
    """Return what observations hold beside what the environment inside shows: a mask, a memory, or nothing."""
    names = set(space.spaces) if isinstance(space, Dict) else set()
    return next((name for name in _WRAPPERS if names == {OBSERVATION, name}), None)


def _entry(space: AnySpace, observation: Any, name: str) -> Any:
    addition = _addition(space) or ""
    if not isinstance(observation, dict) or addition not in observation:
        raise TypeError(
            f"the policy takes observations with {addition!r} beside 'observation', got others; put the environment "
            f"into funcenv.wrappers.{_WRAPPERS[addition].__name__}, as policy.adapt_env(env) does, or pass both"
        )
    return observation[name]
