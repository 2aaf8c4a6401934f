"""Parts of an observation: what the task shows the agent, and beside it a mask, a memory, or what critics see."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv.func_env import AnyEnv
from funcenv.spaces import Dict
from funcenv.spaces.space import AnySpace
from funcenv.wrappers.action_mask_observation import ActionMaskObservation, to_mask
from funcenv.wrappers.critic_observation import CriticObservation
from funcenv.wrappers.filter_observation import FilterObservation
from funcenv.wrappers.policy_memory import PolicyMemory

OBSERVATION, ACTION_MASK, MEMORY, CRITIC = "observation", "action_mask", "memory", "critic_observation"
"""The entries of observations of `ActionMaskObservation`, `PolicyMemory` and `CriticObservation`."""

_WRAPPERS = {ACTION_MASK: ActionMaskObservation, MEMORY: PolicyMemory, CRITIC: CriticObservation}


def task_space(space: AnySpace) -> AnySpace:
    """Return the space of what the task itself shows the agent: the entry "observation" beside any other.

    >>> from funcenv.spaces import Box, Discrete
    >>> task_space(Discrete(5)), task_space(Dict(observation=Discrete(5), action_mask=Box(0, 1, (2,), "int8")))
    (Discrete(5), Discrete(5))
    """
    return task_space(space[OBSERVATION]) if isinstance(space, Dict) and _addition(space) else space


def task_observation(space: AnySpace, observation: Any) -> Any:
    """Return the part of an observation that `task_space` contains.

    What critics see may be missing, because the agent does not need it.

    Raises:
        TypeError: The space has a mask or a memory, but the observation has none.
    """
    if not (isinstance(space, Dict) and _addition(space)):
        return observation
    return task_observation(space[OBSERVATION], _entry(space, observation, OBSERVATION))


def critic_space(space: AnySpace) -> AnySpace | None:
    """Return the space of what only critics see, or None if there is no such thing.

    >>> from funcenv.spaces import Box, Discrete
    >>> critic_space(Dict(observation=Discrete(5), critic_observation=Box(-1, 1, (2,))))
    Box(-1.0, 1.0, (2,), float32)
    """
    addition = _addition(space)
    if addition is None or not isinstance(space, Dict):
        return None
    return space[CRITIC] if addition == CRITIC else critic_space(space[OBSERVATION])


def critic_observation(space: AnySpace, observation: Any) -> Any | None:
    """Return the part of an observation that `critic_space` contains, or None if it is missing."""
    addition = _addition(space)
    if addition is None or not isinstance(space, Dict):
        return None
    if addition == CRITIC:
        return observation[CRITIC] if _is_complete(observation) else None
    return critic_observation(space[OBSERVATION], _entry(space, observation, OBSERVATION))


def acting_space(space: AnySpace) -> AnySpace:
    """Return the space of what an agent needs in order to act: everything but what only critics see.

    >>> from funcenv.spaces import Box, Discrete
    >>> acting_space(Dict(observation=Discrete(5), critic_observation=Box(-1, 1, (2,))))
    Discrete(5)
    """
    addition = _addition(space)
    if addition is None or not isinstance(space, Dict):
        return space
    inner = acting_space(space[OBSERVATION])
    return inner if addition == CRITIC else Dict({addition: space[addition], OBSERVATION: inner})


def legal_actions(space: AnySpace, observation: Any) -> Bool[Array, "*elements num_actions"] | None:
    """Return which actions are legal, or None if observations have no mask; "actions" are an element's options.

    The mask is that of `ActionMaskObservation`, or as it is in `info`. All actions count as legal where a mask names
    none, as it may after the end of an episode.

    >>> from funcenv.spaces import Box, Discrete
    >>> space = Dict(observation=Discrete(5), action_mask=Box(0, 1, (3,), "int8"))
    >>> legal_actions(space, {"observation": 4, "action_mask": jnp.array([0, 1, 0], "int8")}).tolist()
    [False, True, False]
    >>> legal_actions(Discrete(5), 4)
    """
    addition = _addition(space)
    if addition is None or not isinstance(space, Dict):
        return None
    if addition != ACTION_MASK:
        return legal_actions(space[OBSERVATION], _entry(space, observation, OBSERVATION))
    mask = to_mask(_entry(space, observation, ACTION_MASK), space[ACTION_MASK].shape or ()) != 0
    return mask | ~mask.any(-1, keepdims=True)


def hide_illegal(scores: jax.Array, legal: Bool[Array, "*batch n"] | None) -> jax.Array:
    """Return values or logits of actions, with those of illegal ones so low that none is ever chosen.

    They are finite, because the product of infinity and a probability of 0 would be NaN.

    >>> hide_illegal(jnp.array([3.0, 1.0]), jnp.array([False, True])).argmax().item()
    1
    """
    return scores if legal is None else jnp.where(legal, scores, float(np.finfo(scores.dtype).min) / 4)


def adapt_env(env: AnyEnv, space: AnySpace) -> AnyEnv:
    """Return an environment whose observations are those of a space that a policy was trained on.

    What only critics see is left out.

    >>> import funcenv
    >>> env = funcenv.make("Taxi-v4")
    >>> list(adapt_env(env, ActionMaskObservation(env).observation_space).observation_space.keys())
    ['action_mask', 'observation']
    """
    addition = _addition(space)
    if addition is None or _addition(env.observation_space) == addition or not isinstance(space, Dict):
        return env
    inside = space[OBSERVATION]
    if addition == CRITIC:
        return _without_further_entries(adapt_env(env, inside), inside)
    env = adapt_env(env, inside)
    if addition == ACTION_MASK:
        return ActionMaskObservation(env)
    (size,) = space[MEMORY].shape or ()
    return PolicyMemory(env, size)


def _without_further_entries(env: AnyEnv, space: AnySpace) -> AnyEnv:
    """Return an environment without the entries of its observations that a space of an agent's observations lacks."""
    found = env.observation_space
    if not (isinstance(space, Dict) and isinstance(found, Dict)) or set(space.spaces) == set(found.spaces):
        return env
    return FilterObservation(env, list(space.spaces))


def _addition(space: AnySpace) -> str | None:
    """Return what observations hold beside what the environment inside shows, or None if they hold nothing else."""
    names = set(space.spaces) if isinstance(space, Dict) else set()
    return next((name for name in _WRAPPERS if names == {OBSERVATION, name}), None)


def _is_complete(observation: Any) -> bool:
    """Return whether an observation holds what critics see beside what the agent sees."""
    return isinstance(observation, dict) and set(observation) == {OBSERVATION, CRITIC}


def _entry(space: AnySpace, observation: Any, name: str) -> Any:
    addition = _addition(space) or ""
    if addition == CRITIC and not _is_complete(observation):
        return observation
    if not isinstance(observation, dict) or addition not in observation:
        raise TypeError(
            f"the policy takes observations with {addition!r} beside 'observation', got others; put the environment "
            f"into funcenv.wrappers.{_WRAPPERS[addition].__name__}, as policy.adapt_env(env) does, or pass both"
        )
    return observation[name]
