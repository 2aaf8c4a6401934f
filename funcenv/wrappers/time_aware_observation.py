"""Add the time since the episode began to observations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.func_env import Action
from funcenv.spaces import Box, Dict, Tuple
from funcenv.spaces.space import AnySpace
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import layers
from funcenv.wrappers.time_limit import StepCounter, StepCounterState, TimeLimit


class TimeAwareObservation(StepCounter[Action, Any]):
    """Adds the number of steps since the episode began to the observation.

    The time becomes an entry `dict_time_key` of a `Dict`, the last entry of a `Tuple`, and with any other observation
    a dict `{"obs": ..., "time": ...}`. The result is flattened unless `flatten=False`.

    Put it outside `TimeLimit`, whose limit it needs. Outside `RepeatAction` it counts the agent's actions, inside the
    environment's steps. Steps beyond the limit show the limit.

    Args:
        env: an environment with a `TimeLimit` inside; the outermost one counts.
        flatten: whether observations are flat vectors.
        normalize_time: whether the time is a float32 in [0, 1]. Otherwise it is a number of steps: int32, or float32
            when flattened, where Gymnasium has float64.
        dict_time_key: the key of the time in a `Dict`.

    Raises:
        ValueError: There is no `TimeLimit` inside, or the observations have the key `dict_time_key` already.

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
        space = first_env(self.env).observation_space
        if isinstance(space, Dict) and self.dict_time_key in space.spaces:
            raise ValueError(f"dict_time_key={self.dict_time_key!r} is a key of {space!r} already; choose another")

    def observation(self, state: StepCounterState, key: jax.Array) -> Any:
        """Return the inner observation and the time."""
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
        return self._timed_space.flatten(timed) if self.flatten else timed

    @property
    def max_timesteps(self) -> int:
        """The limit of the outermost `TimeLimit` inside."""
        return next(layer.max_episode_steps for layer in layers(self.env) if isinstance(layer, TimeLimit))

    @property
    def observation_space(self) -> AnySpace:
        """The inner space with the time, flat unless `flatten=False`."""
        return self._timed_space.flattened if self.flatten else self._timed_space

    @property
    def _timed_space(self) -> AnySpace:
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
