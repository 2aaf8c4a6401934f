"""Change the dtype of observations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from funcenv.func_env import Action, State
from funcenv.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from funcenv.struct import field
from funcenv.wrappers.single import single
from funcenv.wrappers.transform_observation import ObservationWrapper


class DtypeObservation(ObservationWrapper[State, Action, Shaped[Array, "*shape"]]):
    """Casts observations to a dtype; fractions are cut off where an integer dtype is asked for.

    It has no state. Put it inside `RescaleObservation` where that is to turn integers, such as pixels, into fractions.

    Args:
        env: an environment whose observations are `Box`, `Discrete`, `MultiDiscrete` or `MultiBinary`. All become a
            `Box`, but a `MultiDiscrete` stays one.
        dtype: the new dtype.

    Raises:
        TypeError: another kind of space.
        ValueError: a dtype that the space cannot have, or one that JAX does not compute with.

    >>> import funcenv
    >>> env = DtypeObservation(funcenv.make("CartPole-v1"), "float16")
    >>> env.reset(funcenv.key(0))[1].observation.dtype
    dtype('float16')
    """

    dtype: Any = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        dtype = np.dtype(self.dtype)
        object.__setattr__(self, "dtype", dtype)
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                f'{dtype} needs 64-bit types, which are off; call jax.config.update("jax_enable_x64", True)'
            )
        _with_dtype(single(self.env).observation_space, dtype)

    def outer_observation(self, observation: Any) -> Shaped[Array, "*shape"]:
        """The observation in the new dtype."""
        return jnp.asarray(observation, self.dtype)

    @property
    def observation_space(self) -> Space[Any]:
        """The same values in the new dtype."""
        return _with_dtype(self.env.observation_space, self.dtype)


def _with_dtype(space: Space[Any], dtype: np.dtype[Any]) -> Space[Any]:
    if isinstance(space, Box):
        return Box(space.low, space.high, space.shape, dtype)
    if isinstance(space, Discrete):
        return Box(space.start, space.start + space.n - 1, (), dtype)
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec, dtype=dtype, start=space.start)
    if isinstance(space, MultiBinary):
        return Box(0, 1, space.shape, dtype)
    raise TypeError(
        f"DtypeObservation needs observations that are one array, got {space!r}; put FlattenObservation inside"
    )
