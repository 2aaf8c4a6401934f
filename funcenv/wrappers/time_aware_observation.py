"""Tell the agent how old the episode is."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from funcenv.func_env import Action
from funcenv.spaces import Box, Dict, Space, Tuple, flatten, flatten_space
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import Wrapper, layers
from funcenv.wrappers.single import single
from funcenv.wrappers.time_limit import TimeLimit


class TimeAwareObservationState(PyTreeNode):
    """The inner state and the age of the episode."""

    env_state: Any
    elapsed_steps: Int[Array, ""]


class TimeAwareObservation(Wrapper[TimeAwareObservationState, Action, Any]):
    """Adds the number of steps played to the observation.

    It joins a `Dict` under `dict_time_key`, a `Tuple` as its last entry, and anything else as `{"obs": ..., "time":
    ...}`; all of that is then flattened, unless `flatten=False`.

    Put it outside `TimeLimit`, whose limit it needs. It counts the steps it sees: outside `RepeatAction` those of the
    agent, inside those of the environment. Steps beyond the limit show the limit.

    Args:
        env: an environment with a `TimeLimit` somewhere inside; the outermost one counts.
        flatten: one flat vector instead of a dict or tuple.
        normalize_time: the time as float32 in [0, 1], instead of a number of steps (int32; float32 when flattened,
            where Gymnasium has float64, which JAX leaves off by default).
        dict_time_key: where a `Dict` holds the time.

    Raises:
        ValueError: no `TimeLimit` inside, or `dict_time_key` is taken.

    >>> import funcenv
    >>> env = TimeAwareObservation(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 0, funcenv.key(1))
    >>> timestep.observation[4]
    Array(1., dtype=float32)
    """

    flatten: bool = field(pytree_node=False, default=True)
    normalize_time: bool = field(pytree_node=False, default=False)
    dict_time_key: str = field(pytree_node=False, default="time", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(isinstance(layer, TimeLimit) for layer in layers(self.env)):
            raise ValueError("TimeAwareObservation needs a TimeLimit inside: TimeAwareObservation(TimeLimit(env, 500))")
        space = single(self.env).observation_space
        if isinstance(space, Dict) and self.dict_time_key in space.spaces:
            raise ValueError(f"dict_time_key={self.dict_time_key!r} is a key of {space!r} already; choose another")

    def inner(self, state: TimeAwareObservationState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> TimeAwareObservationState:
        """The first state, at age 0."""
        return TimeAwareObservationState(env_state=self.env.initial(key), elapsed_steps=jnp.zeros((), jnp.int32))

    def transition(self, state: TimeAwareObservationState, action: Action, key: jax.Array) -> TimeAwareObservationState:
        """The inner transition, one step older."""
        env_state = self.env.transition(state.env_state, action, key)
        return TimeAwareObservationState(env_state=env_state, elapsed_steps=state.elapsed_steps + 1)

    def observation(self, state: TimeAwareObservationState, key: jax.Array) -> Any:
        """The inner observation and the time."""
        limit = jnp.asarray(self.max_timesteps, jnp.int32)
        time = jnp.minimum(state.elapsed_steps, limit).reshape(1).astype(self._time_space.dtype)
        if self.normalize_time:
            time /= limit.astype(time.dtype)
        observation = self.env.observation(state.env_state, key)
        space = self.env.observation_space
        if isinstance(space, Dict):
            timed: Any = {**observation, self.dict_time_key: time}
        elif isinstance(space, Tuple):
            timed = (*observation, time)
        else:
            timed = {"obs": observation, "time": time}
        return flatten(self._timed_space, timed) if self.flatten else timed

    @property
    def max_timesteps(self) -> int:
        """The limit of the outermost `TimeLimit` inside."""
        return next(layer.max_episode_steps for layer in layers(self.env) if isinstance(layer, TimeLimit))

    @property
    def observation_space(self) -> Space[Any]:
        """The space inside and the time; flat, unless `flatten=False`."""
        return flatten_space(self._timed_space) if self.flatten else self._timed_space

    @property
    def _timed_space(self) -> Space[Any]:
        space = self.env.observation_space
        if isinstance(space, Dict):
            return Dict({self.dict_time_key: self._time_space, **space.spaces}, sort_keys=space.sort_keys)
        if isinstance(space, Tuple):
            return Tuple((*space.spaces, self._time_space))
        return Dict(obs=space, time=self._time_space)

    @property
    def _time_space(self) -> Box:
        if self.normalize_time:
            return Box(0.0, 1.0, (1,))
        return Box(0, self.max_timesteps, (1,), np.float32 if self.flatten else np.int32)
