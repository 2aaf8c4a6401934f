"""Cast observations to another dtype."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from funcenv.func_env import Action, State
from funcenv.spaces import Box, MultiDiscrete
from funcenv.spaces._dtypes import read_dtype
from funcenv.spaces.space import AnySpace
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.transform_observation import ObservationWrapper


class DtypeObservation(ObservationWrapper[State, Action, Shaped[Array, "*shape"]]):
    """Casts observations to a dtype; an integer dtype truncates fractions.

    Put it inside `RescaleObservation` to convert integers, such as pixels, to fractions.

    Args:
        env: an environment whose observations are single arrays between bounds: `Box`, `Discrete`, `MultiDiscrete` or
            `MultiBinary`. The new space is a `Box`, or a `MultiDiscrete` for a `MultiDiscrete`.
        dtype: the new dtype.

    Raises:
        TypeError: The observations are not single arrays between bounds, or `dtype` names none.
        ValueError: The space cannot have the dtype, or JAX does not support it.

    >>> import funcenv
    >>> env = DtypeObservation(funcenv.make("CartPole-v1"), "float16")
    >>> env.reset(funcenv.key(0))[1].observation.dtype
    dtype('float16')
    """

    dtype: Any = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        dtype = read_dtype("DtypeObservation", self.dtype)
        object.__setattr__(self, "dtype", dtype)
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                f'{dtype} needs 64-bit types, which are off; call jax.config.update("jax_enable_x64", True)'
            )
        _with_dtype(first_env(self.env).observation_space, dtype)

    def outer_observation(self, observation: Any) -> Shaped[Array, "*shape"]:
        """Cast the observation."""
        return jnp.asarray(observation, self.dtype)

    @property
    def observation_space(self) -> AnySpace:
        """The same values in the new dtype."""
        return _with_dtype(self.env.observation_space, self.dtype)


def _with_dtype(space: AnySpace, dtype: np.dtype[Any]) -> AnySpace:
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec, dtype=dtype, start=space.start)
    bounds = (space.low, space.high) if isinstance(space, Box) else space.bounds  # bounds of a Box may be traced
    if bounds is None:
        raise TypeError(
            f"DtypeObservation needs observations that are one array, got {space!r}; put FlattenObservation inside"
        )
    return Box(*bounds, space.shape, dtype)
