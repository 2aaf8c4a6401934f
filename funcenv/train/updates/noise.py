"""Exploration noise for continuous actions that may be correlated in time."""

from __future__ import annotations

import jax
from jaxtyping import Array, Float

from funcenv.train.devices import replicate_if_deterministic


def correlated_noise(
    noise: Float[Array, "*shape"], key: jax.Array, num_steps: int, correlation: float
) -> Float[Array, "num_steps *shape"]:
    """Continue a process of standard normal noise of the correlation `correlation` between consecutive steps.

    Every element is standard normal by itself, so the distribution of a single action does not change. But actions that
    are alike for many steps in a row go further, for example up a hill: Eberhard et al., "Pink noise is all you need",
    2023.

    Args:
        noise: The latest noise; standard normal at the beginning.
        key: A random key.
        num_steps: The number of steps.
        correlation: 0 for independent noise; below 1.

    >>> import jax.numpy as jnp
    >>> noise = correlated_noise(jnp.zeros(1000), jax.random.key(0), num_steps=100, correlation=0.9)
    >>> bool(jnp.abs((noise[-1] * noise[-2]).mean() - 0.9) < 0.1), bool(jnp.abs(noise[-1].std() - 1) < 0.1)
    (True, True)
    """
    fresh = jax.random.normal(key, (num_steps, *noise.shape), noise.dtype)

    def step(noise: jax.Array, fresh: jax.Array) -> tuple[jax.Array, jax.Array]:
        noise = correlation * noise + (1 - correlation**2) ** 0.5 * fresh
        return noise, noise

    return replicate_if_deterministic(jax.lax.scan(step, noise, fresh)[1])
