"""The wrappers of a vector's observations that follow the pure wrappers of the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers import observations as single
from funcenv.adapters.wrappers.vector.transformations import VectorizeTransformObservation


class FilterObservation(VectorizeTransformObservation[ObsType, ActType]):
    """A wrapper that keeps chosen entries of observations, as `funcenv.adapters.wrappers.FilterObservation` does.

    Args:
        env: Vector environment with a `Dict` or `Tuple` of observations.
        filter_keys: Keys of a dict, or indices of a tuple, which may be negative.

    Raises:
        TypeError: The observations are neither, or the keys have another type than those of the observations.
        ValueError: There is no key, a key is unknown, or a key is given twice.

    >>> from funcenv import adapters
    >>> envs = FilterObservation(adapters.make_vec("Blackjack-v1", 2), [0, 2])
    >>> envs.single_observation_space
    Tuple(Discrete(32), Discrete(2))
    """

    def __init__(self, env: VectorEnv[Any, Any], filter_keys: Sequence[str | int]) -> None:
        super().__init__(env, single.FilterObservation, filter_keys=filter_keys)


class FlattenObservation(VectorizeTransformObservation[ObsType, ActType]):
    """A wrapper that flattens observations to vectors, as `funcenv.adapters.wrappers.FlattenObservation` does.

    Args:
        env: Vector environment to wrap.

    >>> from funcenv import adapters
    >>> FlattenObservation(adapters.make_vec("Blackjack-v1", 2)).reset(seed=0)[0].shape
    (2, 45)
    """

    def __init__(self, env: VectorEnv[Any, Any]) -> None:
        super().__init__(env, single.FlattenObservation)


class GrayscaleObservation(VectorizeTransformObservation[ObsType, ActType]):
    """A wrapper that converts RGB images to grayscale, as `funcenv.adapters.wrappers.GrayscaleObservation` does.

    Args:
        env: Vector environment whose observations are images, uint8 `[height, width, 3]`.
        keep_dim: Whether images are `[height, width, 1]` rather than `[height, width]`.

    Raises:
        TypeError: The observations are not a `Box`.
        ValueError: The `Box` does not hold RGB images.

    >>> from funcenv import adapters
    >>> GrayscaleObservation(adapters.make_vec("CarRacing-v3", 2)).observation_space.shape
    (2, 96, 96)
    """

    def __init__(self, env: VectorEnv[Any, Any], keep_dim: bool = False) -> None:
        super().__init__(env, single.GrayscaleObservation, keep_dim=keep_dim)


class ResizeObservation(VectorizeTransformObservation[ObsType, ActType]):
    """A wrapper that resizes images by averaging areas, as `funcenv.adapters.wrappers.ResizeObservation` does.

    Args:
        env: Vector environment whose observations are images, uint8 `[height, width]` or `[height, width, channels]`.
        shape: New height and width.

    Raises:
        TypeError: The observations are not a `Box`, or `shape` is not a tuple of integers.
        ValueError: The `Box` does not hold images, or `shape` does not hold two sizes of at least 1.

    >>> from funcenv import adapters
    >>> ResizeObservation(adapters.make_vec("CarRacing-v3", 2), (24, 32)).observation_space.shape
    (2, 24, 32, 3)
    """

    def __init__(self, env: VectorEnv[Any, Any], shape: tuple[int, int]) -> None:
        super().__init__(env, single.ResizeObservation, shape=shape)


class ReshapeObservation(VectorizeTransformObservation[ObsType, ActType]):
    """A wrapper that reshapes observations, as `funcenv.adapters.wrappers.ReshapeObservation` does.

    Args:
        env: Vector environment with a `Box` of observations.
        shape: New shape of one observation, an integer or a tuple of integers, with as many elements as the old one.

    Raises:
        TypeError: The observations are not a `Box`, or the shape is not made of integers.
        ValueError: The shape has another number of elements.

    >>> from funcenv import adapters
    >>> ReshapeObservation(adapters.make_vec("CartPole-v1", 3), (2, 2)).reset(seed=0)[0].shape
    (3, 2, 2)
    """

    def __init__(self, env: VectorEnv[Any, Any], shape: int | tuple[int, ...]) -> None:
        super().__init__(env, single.ReshapeObservation, shape=shape)


class RescaleObservation(VectorizeTransformObservation[ObsType, ActType]):
    """A wrapper that maps observations from the bounds of their `Box` to `[min_obs, max_obs]`.

    Args:
        env: Vector environment with a `Box` of real-valued observations.
        min_obs: Value that the lower bound maps to: a number, or an array of the shape of one observation, infinite
            where the lower bound is.
        max_obs: Value that the upper bound maps to.

    Raises:
        TypeError: The observations are not a `Box` of floats.
        ValueError: The bounds have another shape, or `min_obs > max_obs`, or a finite bound maps to an infinite one.

    >>> from funcenv import adapters
    >>> RescaleObservation(adapters.make_vec("Pendulum-v1", 2), 0.0, 1.0).single_observation_space
    Box(0.0, 1.0, (3,), float32)
    """

    def __init__(self, env: VectorEnv[Any, Any], min_obs: Any, max_obs: Any) -> None:
        super().__init__(env, single.RescaleObservation, min_obs=min_obs, max_obs=max_obs)


class DtypeObservation(VectorizeTransformObservation[ObsType, ActType]):
    """A wrapper that casts observations to a dtype, as `funcenv.adapters.wrappers.DtypeObservation` does.

    Args:
        env: Vector environment whose observations are single arrays between bounds.
        dtype: New dtype.

    Raises:
        TypeError: The observations are not single arrays between bounds.
        ValueError: The space cannot have the dtype.

    >>> from funcenv import adapters
    >>> DtypeObservation(adapters.make_vec("CartPole-v1", 2), "float64").reset(seed=0)[0].dtype
    dtype('float64')
    """

    def __init__(self, env: VectorEnv[Any, Any], dtype: Any) -> None:
        super().__init__(env, single.DtypeObservation, dtype=dtype)
