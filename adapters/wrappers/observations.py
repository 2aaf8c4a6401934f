"""The wrappers of observations that follow the pure wrappers of the same names."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import numpy as np

from funcenv import wrappers as pure
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.member_function import MemberFunction
from funcenv.adapters.wrappers.wrapper import ObservationWrapper, WrapperObsType
from funcenv.spaces import Box, Tuple
from funcenv.struct import NDArray


class PureObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that observes what a pure wrapper makes of the observations; a subclass says which one.

    Args:
        env: Environment to wrap, with spaces of `funcenv.adapters.spaces`.
        **arguments: Those of the pure wrapper.

    Attributes:
        compiled: The function from an observation of `env` to the new one.
    """

    pure_class: ClassVar[Any]

    def __init__(self, env: Env[Any, Any], **arguments: Any) -> None:
        super().__init__(env)
        with jax.enable_x64(True):
            wrapped = self.pure_class(described(self, env), **arguments)
            inside, outside = wrapped.env.observation_space, wrapped.observation_space
        self._pure, self.observation_space = wrapped, outside
        self.compiled = MemberFunction(wrapped.outer_observation, inside, outside)

    def observation(self, observation: Any) -> Any:
        """Change the observation."""
        return self.compiled(observation)


class FlattenObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that flattens observations to vectors, as `funcenv.wrappers.FlattenObservation` does.

    Args:
        env: Environment to wrap.

    >>> from funcenv import adapters
    >>> env = FlattenObservation(adapters.make("Blackjack-v1"))
    >>> env.observation_space.shape, int(env.reset(seed=0)[0].sum())
    ((45,), 3)
    """

    pure_class: ClassVar[Any] = pure.FlattenObservation

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)


class FilterObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that keeps chosen entries of observations, as `funcenv.wrappers.FilterObservation` does.

    Args:
        env: Environment with a `Dict` or `Tuple` of observations.
        filter_keys: Keys of a dict, or indices of a tuple, which may be negative.

    Raises:
        TypeError: The observations are neither, or the keys have another type than those of the observations.
        ValueError: There is no key, a key is unknown, or a key is given twice.

    >>> from funcenv import adapters
    >>> timed = TimeAwareObservation(adapters.make("CartPole-v1"), flatten=False)
    >>> FilterObservation(timed, ["time"]).reset(seed=0)[0]
    {'time': array([0], dtype=int32)}
    """

    pure_class: ClassVar[Any] = pure.FilterObservation

    def __init__(self, env: Env[Any, Any], filter_keys: Sequence[str | int]) -> None:
        super().__init__(env, filter_keys=filter_keys)
        self.filter_keys = filter_keys


class ReshapeObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that reshapes observations, as `funcenv.wrappers.ReshapeObservation` does.

    Args:
        env: Environment with a `Box` of observations.
        shape: New shape, an integer or a tuple of integers, with as many elements as the old one.

    Raises:
        TypeError: The observations are not a `Box`, or the shape is not made of integers.
        ValueError: The shape has another number of elements.

    >>> from funcenv import adapters
    >>> ReshapeObservation(adapters.make("CartPole-v1"), (2, 2)).reset(seed=0)[0].shape
    (2, 2)
    """

    pure_class: ClassVar[Any] = pure.ReshapeObservation

    def __init__(self, env: Env[Any, Any], shape: int | tuple[int, ...]) -> None:
        super().__init__(env, shape=shape)
        self.shape = shape


class RescaleObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that maps observations from the bounds of their `Box` to `[min_obs, max_obs]`.

    It is `funcenv.wrappers.RescaleObservation` for stateful environments.

    Args:
        env: Environment with a `Box` of real-valued observations.
        min_obs: Value that the lower bound maps to: a number, or an array of the shape of an observation, infinite
            where the lower bound is.
        max_obs: Value that the upper bound maps to.

    Raises:
        TypeError: The observations are not a `Box` of floats.
        ValueError: The bounds have another shape, or `min_obs > max_obs`, or a finite bound maps to an infinite one.

    >>> from funcenv import adapters
    >>> RescaleObservation(adapters.make("Pendulum-v1"), 0.0, 1.0).observation_space
    Box(0.0, 1.0, (3,), float32)
    """

    pure_class: ClassVar[Any] = pure.RescaleObservation

    def __init__(self, env: Env[Any, Any], min_obs: Any, max_obs: Any) -> None:
        super().__init__(env, min_obs=min_obs, max_obs=max_obs)


class DtypeObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that casts observations to a dtype, as `funcenv.wrappers.DtypeObservation` does.

    Args:
        env: Environment whose observations are single arrays between bounds: `Box`, `Discrete`, `MultiDiscrete` or
            `MultiBinary`.
        dtype: New dtype; one of 64 bits needs no setting of JAX.

    Raises:
        TypeError: The observations are not single arrays between bounds.
        ValueError: The space cannot have the dtype.

    >>> from funcenv import adapters
    >>> DtypeObservation(adapters.make("CartPole-v1"), "float64").reset(seed=0)[0].dtype
    dtype('float64')
    """

    pure_class: ClassVar[Any] = pure.DtypeObservation

    def __init__(self, env: Env[Any, Any], dtype: Any) -> None:
        super().__init__(env, dtype=dtype)
        self.dtype = dtype


class GrayscaleObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that converts RGB images to grayscale, as `funcenv.wrappers.GrayscaleObservation` does.

    Args:
        env: Environment whose observations are images, uint8 `[height, width, 3]`.
        keep_dim: Whether images are `[height, width, 1]` rather than `[height, width]`.

    Raises:
        TypeError: The observations are not a `Box`, or `keep_dim` is not True or False.
        ValueError: The `Box` does not hold RGB images.

    >>> from funcenv import adapters
    >>> GrayscaleObservation(adapters.make("CarRacing-v3")).observation_space
    Box(0, 255, (96, 96), uint8)
    """

    pure_class: ClassVar[Any] = pure.GrayscaleObservation

    def __init__(self, env: Env[Any, Any], keep_dim: bool = False) -> None:
        super().__init__(env, keep_dim=keep_dim)
        self.keep_dim = keep_dim


class ResizeObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that resizes images by averaging areas, as `funcenv.wrappers.ResizeObservation` does.

    Args:
        env: Environment whose observations are images, uint8 `[height, width]` or `[height, width, channels]`.
        shape: New height and width.

    Raises:
        TypeError: The observations are not a `Box`, or `shape` is not a tuple of integers.
        ValueError: The `Box` does not hold images, or `shape` does not hold two sizes of at least 1.

    >>> from funcenv import adapters
    >>> ResizeObservation(adapters.make("CarRacing-v3"), (24, 32)).observation_space
    Box(0, 255, (24, 32, 3), uint8)
    """

    pure_class: ClassVar[Any] = pure.ResizeObservation

    def __init__(self, env: Env[Any, Any], shape: tuple[int, int]) -> None:
        super().__init__(env, shape=shape)
        self.shape = shape


class DiscretizeObservation(PureObservation[WrapperObsType, ObsType, ActType]):
    """A wrapper that replaces each element of an observation in a bounded `Box` by the number of its bin.

    It is `funcenv.wrappers.DiscretizeObservation` for stateful environments.

    Args:
        env: Environment with a bounded `Box` of observations.
        bins: Number of bins of every element, or a tuple with one number for each, in C order.
        multidiscrete: Whether observations are a `MultiDiscrete` with one number for each element, instead of a single
            `Discrete`.

    Raises:
        TypeError: The observations are not a `Box`, or a number of bins is not an integer.
        ValueError: The box has an open side, a number of bins is below 1, `bins` has a wrong length, or there are more
            combinations than 32 bits can count.

    >>> from funcenv import adapters
    >>> env = DiscretizeObservation(adapters.make("Pendulum-v1"), bins=4)
    >>> env.observation_space, env.observation(np.float32([-1, 0.5, 8])), env.revert_observation(15)[0]
    (Discrete(64), np.int32(15), array([-1. ,  0.5,  4. ], dtype=float32))
    """

    pure_class: ClassVar[Any] = pure.DiscretizeObservation

    def __init__(self, env: Env[Any, Any], bins: int | tuple[int, ...], multidiscrete: bool = False) -> None:
        super().__init__(env, bins=bins, multidiscrete=multidiscrete)
        self.bins, self.multidiscrete = bins, multidiscrete

    def revert_observation(self, obs: Any) -> tuple[NDArray, NDArray]:
        """Return the lower and the upper edges of the bins of an observation, one for each element."""
        with jax.enable_x64(True):
            lower, upper = self._pure.revert_observation(np.asarray(obs))
        return np.asarray(lower), np.asarray(upper)


class TimeAwareObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that adds the number of steps since the episode began to the observation.

    It is `funcenv.wrappers.TimeAwareObservation` for stateful environments.

    Args:
        env: Environment with a time limit.
        flatten: Whether observations are flat vectors.
        normalize_time: Whether the time is in [0, 1] instead of a number of steps.
        dict_time_key: Key of the time in observations that are dicts.

    Attributes:
        timesteps: Number of steps since the episode began.
        max_timesteps: Time limit.

    Raises:
        ValueError: There is no time limit, or the observations have the key `dict_time_key` already.

    >>> from funcenv import adapters
    >>> env = TimeAwareObservation(adapters.make("CartPole-v1"))
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[0].shape, env.step(0)[0][4]
    ((5,), np.float32(2.0))
    """

    def __init__(
        self,
        env: Env[Any, Any],
        flatten: bool = True,
        normalize_time: bool = False,
        *,
        dict_time_key: str = "time",
    ) -> None:
        super().__init__(env)
        limit = env.get_wrapper_attr("max_episode_steps") if env.has_wrapper_attr("max_episode_steps") else None
        if limit is None and env.spec is not None:
            limit = env.spec.max_episode_steps
        if limit is None:
            raise ValueError("TimeAwareObservation needs a TimeLimit inside: TimeAwareObservation(TimeLimit(env, 500))")
        self.max_timesteps, self.timesteps = limit, 0
        with jax.enable_x64(True):
            limited: pure.TimeLimit[Any, Any] = pure.TimeLimit(described(self, env), max_episode_steps=limit)
            aware: pure.TimeAwareObservation[Any] = pure.TimeAwareObservation(
                limited, flatten, normalize_time, dict_time_key=dict_time_key
            )
            self.observation_space = space = aware.observation_space
            source = Tuple((limited.observation_space, Box(0, limit, (), np.int32)))
        self._observe = MemberFunction(functools.partial(_observe_time, aware), source, space)

    def observation(self, observation: Any) -> Any:
        """Add the time."""
        return self._observe((observation, np.int32(self.timesteps)))

    def _after_reset(self, result: Any) -> Any:
        self.timesteps = 0
        return super()._after_reset(result)

    def _after_step(self, result: Any) -> Any:
        self.timesteps += 1
        return super()._after_step(result)


def _observe_time(aware: pure.TimeAwareObservation[Any], observation_and_time: tuple[Any, Any]) -> Any:
    """Return what the pure wrapper observes at a time of an episode."""
    observation, elapsed = observation_and_time
    inside = pure.StepCounterState(env_state=observation, elapsed_steps=elapsed)
    key = jax.random.key(0)  # not used: the observation draws nothing
    return aware.observation(pure.StepCounterState(env_state=inside, elapsed_steps=elapsed), key)
