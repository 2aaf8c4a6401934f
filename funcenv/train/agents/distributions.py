"""Probability distributions over actions, one for each kind of action space that policies support."""

from __future__ import annotations

import functools
import math
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode
from funcenv.train.agents.observations import hide_illegal


class Distribution(Protocol):
    """A distribution over raw actions, with any leading batch axes. `to_env_action` converts its samples."""

    def sample(self, key: jax.Array) -> jax.Array:
        """Draw an action."""

    def mode(self) -> jax.Array:
        """Return the most likely action."""

    def log_prob(self, action: jax.Array) -> Float[Array, "..."]:
        """Return the log-probability or log-density of an action."""

    def entropy(self) -> Float[Array, "..."]:
        """Return the entropy in nats; for a density, the differential entropy."""


class Categorical(PyTreeNode):
    """A categorical distribution over n actions with unnormalized log-probabilities `[..., n]`.

    >>> round(float(Categorical(jnp.zeros(4)).entropy()), 4)  # ln 4
    1.3863
    """

    logits: Float[Array, "... n"]

    def sample(self, key: jax.Array) -> Int[Array, "..."]:
        """Draw an index."""
        return jax.random.categorical(key, self.logits).astype(jnp.int32)

    def mode(self) -> Int[Array, "..."]:
        """Return the most likely index."""
        return jnp.argmax(self.logits, axis=-1).astype(jnp.int32)

    def log_prob(self, action: jax.Array) -> Float[Array, "..."]:
        """Return the log-probability of an index."""
        # A product with a one-hot vector is cheaper than a gather, forwards and backwards.
        one_hot = jax.nn.one_hot(action, self.logits.shape[-1], dtype=self.logits.dtype)
        return (jax.nn.log_softmax(self.logits) * one_hot).sum(-1)

    def entropy(self) -> Float[Array, "..."]:
        """Return the entropy in nats."""
        log_probs = jax.nn.log_softmax(self.logits)
        return -(jnp.exp(log_probs) * log_probs).sum(-1)


class Independent(PyTreeNode):
    """Independent distributions over the elements of a vector; `each` has the elements as its last batch axis.

    >>> round(float(Independent(Categorical(jnp.zeros((2, 4)))).entropy()), 4)  # 2 ln 4
    2.7726
    """

    each: Distribution

    def sample(self, key: jax.Array) -> Array:
        """Draw a vector."""
        return self.each.sample(key)

    def mode(self) -> Array:
        """Return the most likely vector."""
        return self.each.mode()

    def log_prob(self, action: jax.Array) -> Float[Array, "..."]:
        """Return the log-probability of a vector."""
        return self.each.log_prob(action).sum(-1)

    def entropy(self) -> Float[Array, "..."]:
        """Return the entropy in nats."""
        return self.each.entropy().sum(-1)


class Gaussian(PyTreeNode):
    """Independent normal distributions with means `[..., n]` and log standard deviations of the same shape.

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
        """Return the mean."""
        return self.mean

    def log_prob(self, action: jax.Array) -> Float[Array, "..."]:
        """Return the log-density of a vector."""
        z = (action - self.mean) * jnp.exp(-self.log_std)
        return -(0.5 * z**2 + self.log_std + 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self) -> Float[Array, "..."]:
        """Return the differential entropy in nats."""
        return (self.log_std + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)


class SquashedGaussian(PyTreeNode):
    """The hyperbolic tangent of a `Gaussian`: vectors in (-1, 1). Their entropy has no closed form.

    >>> policy = SquashedGaussian(mean=jnp.zeros(1), log_std=jnp.zeros(1))
    >>> action, log_prob = policy.transform(jnp.zeros(1))
    >>> float(action[0]), round(float(log_prob), 4)  # tanh'(0) = 1, so the density is that of the Gaussian
    (0.0, -0.9189)
    """

    mean: Float[Array, "... n"]  # of the Gaussian
    log_std: Float[Array, "... n"]

    def transform(self, noise: Float[Array, "... n"]) -> tuple[Float[Array, "... n"], Float[Array, "..."]]:
        """Return the action that standard normal noise leads to, and its log-density."""
        raw = self.mean + jnp.exp(self.log_std) * noise
        # log tanh'(x) = log(1 - tanh(x)^2), in a form that does not round to log 0
        log_slope = 2 * (math.log(2) - raw - jax.nn.softplus(-2 * raw))
        log_density = -(0.5 * noise**2 + self.log_std + 0.5 * math.log(2 * math.pi))  # of the Gaussian, at `raw`
        return jnp.tanh(raw), (log_density - log_slope).sum(-1)

    def sample(self, key: jax.Array) -> tuple[Float[Array, "... n"], Float[Array, "..."]]:
        """Draw a vector, and return it with its log-density."""
        return self.transform(jax.random.normal(key, self.mean.shape, self.mean.dtype))

    def mode(self) -> Float[Array, "... n"]:
        """Return the transformed mean."""
        return jnp.tanh(self.mean)


def restrict(policy: Distribution, legal: Bool[Array, "*batch n"] | None) -> Distribution:
    """Return a policy that never takes illegal actions.

    Args:
        policy: A `Categorical` distribution or `Independent` ones, or any other if there is no mask.
        legal: Which actions are legal, or None if all are.

    Raises:
        TypeError: There is a mask, but the policy is neither.

    >>> policy = restrict(Categorical(jnp.zeros(3)), jnp.array([True, False, True]))
    >>> round(float(policy.entropy()), 4)  # ln 2
    0.6931
    """
    if legal is None:
        return policy
    if isinstance(policy, Independent):
        return policy.replace(each=restrict(policy.each, legal))
    if not isinstance(policy, Categorical):
        raise TypeError(
            f"action masks need a network that returns a Categorical policy, got {type(policy).__name__}; "
            "return one, or set mask_actions=False"
        )
    return policy.replace(logits=hide_illegal(policy.logits, legal))


def option_counts(space: AnySpace) -> tuple[int, ...]:
    """Return the number of options of each element of a `MultiDiscrete` or `MultiBinary` action; () for other spaces.

    >>> option_counts(MultiDiscrete([3, 2])), option_counts(MultiBinary(2)), option_counts(Discrete(5))
    ((3, 2), (2, 2), ())
    """
    if isinstance(space, MultiDiscrete):
        return tuple(space.nvec.reshape(-1).tolist())
    return (2,) * math.prod(space.shape) if isinstance(space, MultiBinary) else ()


def policy_over_options(scores: Float[Array, "*batch n"], counts: tuple[int, ...]) -> Categorical | Independent:
    """Return the policy with unnormalized log-probabilities `scores`.

    Args:
        scores: One for each action of a `Discrete` space; or, for each element of a vector, as many as the largest of
            `counts`. Those beyond the options of an element count for nothing.
        counts: What `option_counts` returns for the action space.

    >>> policy = policy_over_options(jnp.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0]), counts=(3, 2))
    >>> policy.mode().tolist()
    [2, 1]
    """
    if not counts:
        return Categorical(scores)
    logits = scores.reshape(*scores.shape[:-1], len(counts), max(counts))
    exists = np.arange(max(counts)) < np.asarray(counts)[:, None]
    return Independent(restrict(Categorical(logits), None if exists.all() else jnp.broadcast_to(exists, logits.shape)))


def action_size(space: AnySpace) -> int:
    """Return the number of outputs of a policy network: the scores of `policy_over_options`, or the size of a vector.

    >>> action_size(Discrete(5)), action_size(MultiDiscrete([3, 2])), action_size(Box(-1, 1, (2, 2)))
    (5, 6, 4)

    Raises:
        ValueError: No distribution here covers the action space.
    """
    if isinstance(space, Discrete):
        return space.n
    if counts := option_counts(space):
        return len(counts) * max(counts)
    if isinstance(space, Box) and space.dtype.kind == "f":
        return math.prod(space.shape)
    raise ValueError(
        f"the policy takes Discrete, MultiDiscrete, MultiBinary or float Box actions, got {space!r}; "
        "wrap the environment with TransformAction"
    )


def to_env_action(space: AnySpace, action: jax.Array) -> jax.Array:
    """Convert a raw action to a member of the action space.

    An index counts from the start of a discrete space. A vector is scaled so that -1 is `low` and 1 is `high` of a
    bounded box, and is clipped to the box; it is not scaled for a box without bounds. Members with several axes are
    filled in row-major order.
    """
    action = action.reshape(space.shape)
    if isinstance(space, MultiBinary):
        return action.astype(space.dtype)
    if isinstance(space, (Discrete, MultiDiscrete)):
        return action.astype(space.dtype) + jnp.asarray(space.start, space.dtype)
    assert isinstance(space, Box)  # action_size refuses all other spaces
    if not space.is_bounded():
        return jnp.clip(action, space.low, space.high).astype(space.dtype)
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    return (middle + half * jnp.clip(action, -1.0, 1.0)).astype(space.dtype)


def to_env_actions(space: AnySpace, actions: jax.Array) -> jax.Array:
    """Convert raw actions with a leading axis, as `to_env_action` converts one."""
    return jax.vmap(functools.partial(to_env_action, space))(actions)


def from_env_action(space: AnySpace, action: jax.Array) -> jax.Array:
    """Convert a member of the action space to a raw action, the inverse of `to_env_action`.

    >>> space = Box(-2, 2, (1,))
    >>> from_env_action(space, to_env_action(space, jnp.array([-0.25]))).tolist()
    [-0.25]
    """
    if isinstance(space, Discrete):
        return action - jnp.asarray(space.start, action.dtype)
    if isinstance(space, MultiDiscrete):
        action = action - jnp.asarray(space.start, action.dtype)
    elif isinstance(space, Box) and space.is_bounded():
        middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
        action = (action - middle) / half
    return action.reshape(-1)


def from_env_actions(space: AnySpace, actions: jax.Array) -> jax.Array:
    """Convert actions with a leading axis, as `from_env_action` converts one."""
    return jax.vmap(functools.partial(from_env_action, space))(actions)


def to_vectors(space: AnySpace, actions: jax.Array) -> Float[Array, "batch action_size"]:
    """Return what a critic sees of raw actions with a leading axis: the one-hot vectors of options, end to end.

    >>> to_vectors(Discrete(3), jnp.array([1, 2])).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if isinstance(space, Box):
        return actions
    num_options = space.n if isinstance(space, Discrete) else max(option_counts(space))
    return jax.nn.one_hot(actions, num_options).reshape(len(actions), -1)
