"""Add the mask of legal actions to observations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8

from funcenv.func_env import Action, AnyEnv, State
from funcenv.spaces import Box, Dict, Discrete, MultiDiscrete
from funcenv.spaces._sampling import stack_padded
from funcenv.spaces.space import AnySpace
from funcenv.wrappers._spaces import first_env, info_shapes
from funcenv.wrappers.base import Wrapper


class ActionMaskObservation(Wrapper[State, Action, dict[str, Any]]):
    """Observes which actions are legal: a dict `{"action_mask": ..., "observation": ...}`.

    The mask is that of `info["action_mask"]`: int8, 1 for each legal action. It is `[n]` for a `Discrete` space, in its
    order, and `[elements, n]` for a `MultiDiscrete` space, whose elements come in row-major order; n is the largest
    number of options of an element, and those that an element has not are 0. In `info` it has a form that `sample` of
    the action space takes: for `MultiDiscrete`, a tuple with a mask for each element, nested for several axes, or an
    array `[*shape, n]` where all have n options.

    A policy then sees the mask wherever it sees the observation: in rollouts, in evaluations and in a replay buffer.
    Put it outside wrappers that change observations.

    Args:
        env: an environment that gives a mask in its `info`; see `gives_action_mask`.

    Raises:
        ValueError: The actions are neither `Discrete` nor `MultiDiscrete`, or there is no mask.

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
                "ActionMaskObservation needs Discrete or MultiDiscrete actions and info['action_mask'] with a number "
                f"for each option, which {type(self.env.unwrapped).__name__} has not; return the mask from its "
                "state_info"
            )

    def observation(self, state: State, key: jax.Array) -> dict[str, Any]:
        """Return the inner observation and the mask."""
        mask = to_mask(self.env.state_info(state)["action_mask"], _mask_shape(self.env.action_space))
        return {"action_mask": mask, "observation": self.env.observation(state, key)}

    @property
    def observation_space(self) -> AnySpace:
        """The inner space and a mask with a number for each option."""
        mask = Box(0, 1, _mask_shape(self.env.action_space), np.int8)
        return Dict(action_mask=mask, observation=self.env.observation_space)


def gives_action_mask(env: AnyEnv) -> bool:
    """Return whether `info["action_mask"]` of a state has a number for each option of a discrete action.

    Actions are `Discrete` or `MultiDiscrete`, and the mask has a form that `sample` of the action space takes.

    >>> import funcenv
    >>> [gives_action_mask(funcenv.make(name)) for name in ("Taxi-v4", "CartPole-v1")]
    [True, False]
    """
    env = first_env(env)
    space = env.action_space
    if not isinstance(space, (Discrete, MultiDiscrete)) or "action_mask" not in (info := info_shapes(env)):
        return False
    found = [mask.shape for mask in jax.tree.leaves(info["action_mask"])]
    if isinstance(space, Discrete):
        return found == [(space.n,)]
    counts = space.nvec.reshape(-1).tolist()
    return found == [(n,) for n in counts] or (len(set(counts)) == 1 and found == [(*space.shape, counts[0])])


def to_mask(mask: Any, shape: tuple[int, ...]) -> Int8[Array, "*shape"]:
    """Return a mask that `sample` of an action space takes as the array that `ActionMaskObservation` shows.

    >>> to_mask((jnp.ones(3), jnp.array([True, False])), (2, 3)).tolist()
    [[1, 1, 1], [1, 0, 0]]
    """
    if isinstance(mask, (tuple, list)):
        mask = stack_padded([jnp.asarray(row, jnp.int8) for row in jax.tree.leaves(mask)], shape[-1])
    return jnp.asarray(mask, jnp.int8).reshape(shape)


def _mask_shape(space: AnySpace) -> tuple[int, ...]:
    if isinstance(space, Discrete):
        return (space.n,)
    assert isinstance(space, MultiDiscrete)  # the constructor refuses all other spaces
    return space.nvec.size, int(space.nvec.max())
