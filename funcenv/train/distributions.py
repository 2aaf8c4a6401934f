"""What a policy network says: a distribution over actions, for each kind of action space."""

from __future__ import annotations

import math
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from funcenv.spaces import Box, Discrete, Space
from funcenv.struct import PyTreeNode


class Distribution(Protocol):
    """A distribution over raw actions; leading axes are a batch."""

    def sample(self, key: jax.Array) -> jax.Array: ...  # noqa: D102  (the protocol says it)
    def mode(self) -> jax.Array: ...  # noqa: D102
    def log_prob(self, action: jax.Array) -> Float[Array, "..."]: ...  # noqa: D102
    def entropy(self) -> Float[Array, "..."]: ...  # noqa: D102


class Categorical(PyTreeNode):
    """One of n actions, given unnormalised log-probabilities `[..., n]`.

    >>> round(float(Categorical(jnp.zeros(4)).entropy()), 4)  # ln 4
    1.3863
    """

    logits: Float[Array, "... n"]

    def sample(self, key: jax.Array) -> Int[Array, "..."]:
        """Draw an index."""
        return jax.random.categorical(key, self.logits).astype(jnp.int32)

    def mode(self) -> Int[Array, "..."]:
        """The likeliest index."""
        return jnp.argmax(self.logits, axis=-1).astype(jnp.int32)

    def log_prob(self, action: jax.Array) -> Float[Array, "..."]:
        """Log-probability of an index."""
        chosen = jax.nn.one_hot(
            action, self.logits.shape[-1], dtype=self.logits.dtype
        )  # cheaper than a gather, both ways
        return (jax.nn.log_softmax(self.logits) * chosen).sum(-1)

    def entropy(self) -> Float[Array, "..."]:
        """In nats."""
        log_probs = jax.nn.log_softmax(self.logits)
        return -(jnp.exp(log_probs) * log_probs).sum(-1)


class Gaussian(PyTreeNode):
    """Independent normals with means `[..., n]` and log standard deviations of the same shape.

    >>> standard = Gaussian(mean=jnp.zeros(1), log_std=jnp.zeros(1))
    >>> round(float(standard.log_prob(jnp.zeros(1))), 4)  # -ln(2 pi) / 2
    -0.9189
    """

    mean: Float[Array, "... n"]
    log_std: Float[Array, "... n"]

    def sample(self, key: jax.Array) -> Float[Array, "... n"]:
        """Draw a vector."""
        return self.mean + jnp.exp(self.log_std) * jax.random.normal(key, self.mean.shape, self.mean.dtype)

    def mode(self) -> Float[Array, "... n"]:
        """The mean."""
        return self.mean

    def log_prob(self, action: jax.Array) -> Float[Array, "..."]:
        """Log-density of a vector."""
        z = (action - self.mean) * jnp.exp(-self.log_std)
        return -(0.5 * z**2 + self.log_std + 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self) -> Float[Array, "..."]:
        """Differential entropy in nats."""
        return (self.log_std + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)


def action_size(space: Space[Any]) -> int:
    """How many outputs a policy head needs: one for each action, or for each element of a vector.

    Raises:
        ValueError: an action space that these distributions do not cover.
    """
    if isinstance(space, Discrete):
        return space.n
    if isinstance(space, Box) and space.dtype.kind == "f" and len(space.shape) == 1:
        return space.shape[0]
    raise ValueError(
        f"the policy takes Discrete actions or one-dimensional float Box actions, got {space!r}; "
        "wrap the environment with TransformAction"
    )


def distribution(space: Space[Any], head: Float[Array, "... n"], log_std: Float[Array, "n"] | None) -> Distribution:
    """The distribution that a policy head describes."""
    if log_std is None or isinstance(space, Discrete):
        return Categorical(head)
    return Gaussian(mean=head, log_std=jnp.broadcast_to(log_std, head.shape))


def to_env_action(space: Space[Any], action: jax.Array) -> jax.Array:
    """The member of the space that a raw action stands for.

    A discrete action counts from the space's start. A vector is in units of the box: -1 is `low` and 1 is `high`, what
    lies beyond is clipped; open boxes take it as it is.
    """
    if isinstance(space, Discrete):
        return action.astype(space.dtype) + jnp.asarray(space.start, space.dtype)
    assert isinstance(space, Box)  # action_size has refused everything else
    if not space.is_bounded():
        return jnp.clip(action, space.low, space.high).astype(space.dtype)
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    return (middle + half * jnp.clip(action, -1.0, 1.0)).astype(space.dtype)
