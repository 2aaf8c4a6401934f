"""Networks whose vectors and weights have length 1, for SimBa.

Lee et al., "Hyperspherical normalization for scalable deep reinforcement learning", 2025 (SimbaV2): no layer can grow,
so that a step of the optimizer changes what a network says as much at the end of a run as at its beginning. What has
to grow is scaled, by numbers that are learned.
"""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.train.agents.networks import ACTIVATIONS, Activation, Dtype
from funcenv.train.updates.learned import UNIT_KERNEL, unit

SHIFT = 3.0  # an element beside the features, so that they keep their size in a vector of length 1


class UnitDense(nn.Module):
    """A linear layer without a bias, each of whose elements has weights of length 1 (`with_unit_kernels`)."""

    size: int
    dtype: Dtype = "float32"

    @nn.compact
    def __call__(self, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch size"]:
        """Return the products, in float32."""
        kernel = self.param(UNIT_KERNEL, nn.initializers.orthogonal(), (x.shape[-1], self.size), float)
        dtype = jnp.bfloat16 if self.dtype == "bfloat16" else kernel.dtype
        return (x.astype(dtype) @ kernel.astype(dtype)).astype(kernel.dtype)


class Scale(nn.Module):
    """A factor for each element, which is learned.

    An optimizer whose steps have one size, such as Adam, changes a factor of a smaller parameter faster.
    """

    initial: float  # the factor at first
    parameter: float  # the parameter at first, which is proportional to the factor

    @nn.compact
    def __call__(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        """Return the scaled vectors."""
        parameter = self.param("scale", nn.initializers.constant(self.parameter), x.shape[-1:], float)
        return x * jnp.broadcast_to(parameter * (self.initial / self.parameter), x.shape)


class HypersphericalTorso(nn.Module):
    """A linear layer and residual blocks, between which vectors have length 1.

    A block takes a vector some way towards what its hidden layer says of it.

    >>> torso = HypersphericalTorso(residual_width=4, hidden_sizes=(8,))
    >>> x, _ = torso.init_with_output(jax.random.key(0), jnp.ones((5, 3)))
    >>> jnp.linalg.norm(x, axis=-1).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    residual_width: int
    hidden_sizes: tuple[int, ...]
    activation: Activation = "relu"
    dtype: Dtype = "float32"

    @nn.compact
    def __call__(self, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch residual_width"]:
        """Return the vector after the last block."""
        x = unit(jnp.concatenate([x, jnp.full((*x.shape[:-1], 1), SHIFT, x.dtype)], axis=-1))
        x = unit(self._scaled(UnitDense(self.residual_width, self.dtype)(x)))
        share = 1 / (len(self.hidden_sizes) + 1)
        for width in self.hidden_sizes:
            hidden = ACTIVATIONS[self.activation](self._scaled(UnitDense(width, self.dtype)(x)))
            change = unit(UnitDense(self.residual_width, self.dtype)(hidden)) - x
            x = unit(x + Scale(share, self.residual_width**-0.5)(change))
        return x

    def _scaled(self, x: jax.Array) -> jax.Array:
        # As published. Lengths are lost later, so it only says how fast factors change.
        scale = (2 / x.shape[-1]) ** 0.5
        return Scale(scale, scale)(x)


class HypersphericalHead(nn.Module):
    """Two linear layers with a factor for each element between them, and a bias after them."""

    size: int

    @nn.compact
    def __call__(self, x: Float[Array, "*batch width"]) -> Float[Array, "*batch size"]:
        """Return the numbers."""
        x = UnitDense(self.size)(Scale(1.0, 1.0)(UnitDense(x.shape[-1])(x)))
        bias = self.param("bias", nn.initializers.zeros, (self.size,), float)
        return x + jnp.broadcast_to(bias, x.shape)
