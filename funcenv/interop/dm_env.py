"""Environments behind the interface of dm_env (Muldal et al., 2019), which the agents of Acme and bsuite take."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcenv.adapters.env import Env
from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.registration import make
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.interop.imported import import_library
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

dm_env = import_library("dm_env", (1, 5))
specs = dm_env.specs


class DmEnv(dm_env.Environment):  # type: ignore[misc, name-defined]  # It is imported by name.
    """A `dm_env.Environment` over a stateful environment, as `to_dm_env` returns it.

    A termination has the discount 0, a truncation 1. The step after the last of an episode begins the next episode and
    ignores its action, as dm_env says.

    Args:
        env: the stateful environment.
        seed: of the first episode; None for entropy of the system.

    Attributes:
        env: the stateful environment.
        info: the extra arrays of the last call.
    """

    def __init__(self, env: Env[Any, Any], seed: int | None = None) -> None:
        self.env = env
        self.info: dict[str, Any] = {}
        self._seed = seed
        self._is_playing = False

    def reset(self) -> Any:
        """Begin an episode, and return its first `dm_env.TimeStep`."""
        observation, self.info = self.env.reset(seed=self._seed)
        self._seed = None
        self._is_playing = True
        return dm_env.restart(_as_specified(self.env.observation_space, observation))

    def step(self, action: Any) -> Any:
        """Perform an action, or begin an episode if there is none, and return a `dm_env.TimeStep`."""
        if not self._is_playing:
            return self.reset()
        observation, reward, terminated, truncated, self.info = self.env.step(action)
        observation = _as_specified(self.env.observation_space, observation)
        self._is_playing = not (terminated or truncated)
        if terminated:
            return dm_env.termination(reward, observation)
        return dm_env.truncation(reward, observation) if truncated else dm_env.transition(reward, observation)

    def observation_spec(self) -> Any:
        """Return the spec of observations, nested as they are."""
        return spec_of(self.env.observation_space, "observation")

    def action_spec(self) -> Any:
        """Return the spec of actions, nested as they are."""
        return spec_of(self.env.action_space, "action")

    def reward_spec(self) -> Any:
        """Return the spec of rewards, with bounds if the environment states them."""
        low, high = self.env.reward_range
        low, high = min(low, float(np.float32(low))), max(high, float(np.float32(high)))  # as float32 rounds rewards
        return _array_spec((), np.dtype(float), low, high, "reward")

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def to_dm_env(env: AnyEnv | Env[Any, Any] | str, *, seed: int | None = None, **arguments: Any) -> DmEnv:
    """Return a `dm_env.Environment` for an environment.

    Args:
        env: a functional or a stateful environment, or an id.
        seed: of the first episode; None for entropy of the system.
        **arguments: those of `funcenv.adapters.make`, if `env` is an id.

    Raises:
        TypeError: `env` is no environment, or a space has no counterpart among the specs.

    >>> env = to_dm_env("CartPole-v1", seed=0)
    >>> env.action_spec()
    DiscreteArray(shape=(), dtype=int32, name=action, minimum=0, maximum=1, num_values=2)
    >>> timestep = env.reset()
    >>> while not timestep.last():
    ...     timestep = env.step(0)
    >>> timestep.step_type, timestep.reward, timestep.discount
    (<StepType.LAST: 2>, 1.0, 0.0)
    """
    if isinstance(env, str):
        env = make(env, **arguments)
    elif arguments:
        raise TypeError(
            f"{', '.join(arguments)}: arguments need an id; got {type(env).__name__}, which is made already"
        )
    converted = DmEnv(FunctionalEnv(env) if isinstance(env, FuncEnv) else env, seed)
    converted.observation_spec()
    converted.action_spec()
    return converted


@functools.singledispatch
def spec_of(space: Any, name: str) -> Any:
    """Return the spec of the members of a space; specs of entries are named after them.

    Raises:
        TypeError: the space has no counterpart.
    """
    del name
    raise TypeError(f"{space!r} has no counterpart among the specs of dm_env; wrap the environment to change it")


@spec_of.register
def _(space: Discrete, name: str) -> Any:
    if space.start == 0:
        return specs.DiscreteArray(space.n, space.dtype, name)
    return specs.BoundedArray((), space.dtype, space.start, space.start + space.n - 1, name)


@spec_of.register
def _(space: Box, name: str) -> Any:
    return _array_spec(space.shape, space.dtype, space.low, space.high, name)


@spec_of.register
def _(space: MultiDiscrete, name: str) -> Any:
    low = np.asarray(space.start)
    return specs.BoundedArray(space.shape, space.dtype, low, low + np.asarray(space.nvec) - 1, name)


@spec_of.register
def _(space: MultiBinary, name: str) -> Any:
    return specs.BoundedArray(space.shape, space.dtype, 0, 1, name)


@spec_of.register
def _(space: Dict, name: str) -> Any:
    del name
    return {key: spec_of(part, str(key)) for key, part in space.spaces.items()}


@spec_of.register
def _(space: Tuple, name: str) -> Any:
    return tuple(spec_of(part, f"{name}_{i}") for i, part in enumerate(space.spaces))


def _as_specified(space: Any, observation: Any) -> Any:
    """Return an observation whose integers have the dtype of their specs, where the stateful interface has Python's."""
    if isinstance(space, Dict):
        return {name: _as_specified(part, observation[name]) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(_as_specified(*pair) for pair in zip(space.spaces, observation, strict=True))
    return space.dtype.type(observation) if isinstance(space, Discrete) else observation


def _array_spec(shape: Any, dtype: Any, low: Any, high: Any, name: str) -> Any:
    """Return a spec with bounds, or without if there are none."""
    if np.all(np.isneginf(low)) and np.all(np.isposinf(high)):
        return specs.Array(shape, dtype, name)
    return specs.BoundedArray(shape, dtype, low, high, name)
