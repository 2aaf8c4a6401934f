"""A wrapper around vector environments that compute with JAX, with an interface of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.wrappers.jax_to_numpy import jax_to_numpy, numpy_to_jax
from funcenv.adapters.wrappers.vector.wrapper import VectorWrapper
from funcenv.struct import NDArray


class JaxToNumpy(VectorWrapper[Any, Any]):
    """A wrapper around a handwritten vector environment whose `step` takes and returns JAX arrays.

    Vectors of `funcenv.adapters.make_vec` have an interface of NumPy already.

    Args:
        env: Vector environment to wrap.

    >>> import jax.numpy as jnp
    >>> from funcenv import adapters
    >>> class Drift(adapters.VectorEnv):
    ...     num_envs = 2
    ...     def reset(self, *, seed=None, options=None):
    ...         return jnp.zeros((2, 1)), {}
    ...     def step(self, actions):
    ...         no = jnp.zeros(2, bool)
    ...         return actions, actions.sum(-1), no, no, {}
    >>> JaxToNumpy(Drift()).step(np.float32([[1], [2]]))[1]
    array([1., 2.], dtype=float32)
    """

    def step(self, actions: Any) -> tuple[Any, NDArray, NDArray, NDArray, dict[str, Any]]:
        """Play one action in each environment."""
        return super().step(numpy_to_jax(actions))

    def _after_step(self, result: Any) -> Any:
        observations, rewards, terminations, truncations, infos = result
        flags = np.asarray(terminations, bool), np.asarray(truncations, bool)
        return jax_to_numpy(observations), np.asarray(rewards), *flags, jax_to_numpy(infos)

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        return jax_to_numpy(result)

    def render(self) -> Any:
        """Render the vector inside."""
        return jax_to_numpy(super().render())
