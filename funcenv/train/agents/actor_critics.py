"""Actors and critics over continuous actions, for SAC, TQC, SimBa and TD3.

An actor maps features to a policy in (-1, 1), the range that `to_env_action` scales to the bounds of the action space.
Critics map features and such an action to values `[num_critics, *batch]`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.checks import require_size
from funcenv.func_env import AnyEnv
from funcenv.train.agents.agent import NetworkAgent
from funcenv.train.agents.distributions import SquashedGaussian, action_size
from funcenv.train.agents.hyperspherical import HypersphericalHead, HypersphericalTorso
from funcenv.train.agents.networks import (
    ACTIVATIONS,
    Activation,
    Compressed,
    Dtype,
    encode,
    hidden_layer,
    join_critic_view,
    make_critic_encoder,
    make_encoder,
)

MIN_LOG_STD, MAX_LOG_STD = -5.0, 2.0
"""Bounds of the log standard deviation of a policy; outside, its density would over- or underflow."""


class ActorCritics(NamedTuple):
    """The networks of an algorithm for continuous actions."""

    actor: nn.Module
    critics: nn.Module


class Torso(nn.Module):
    """Hidden layers, with layer normalization or without it.

    With a `residual_width`, each of them is the middle of a residual block (Lee et al., "SimBa: simplicity bias for
    scaling up parameters in deep reinforcement learning", 2025): a linear layer leads to a vector of this width, each
    block adds to it what its hidden layer says of it, and blocks and caller see the vector normalized.
    """

    hidden_sizes: tuple[int, ...]
    activation: Activation
    layer_norm: bool
    dtype: Dtype = "float32"
    residual_width: int = 0

    @nn.compact
    def __call__(self, x: Any) -> jax.Array:
        """Return the last hidden layer, or the vector after the last block."""
        return self._residual(x) if self.residual_width else self._plain(x)

    def _residual(self, x: Any) -> jax.Array:
        he = nn.initializers.he_normal()
        x = hidden_layer(self.residual_width, self.dtype, nn.initializers.orthogonal())(x).astype(float)
        for width in self.hidden_sizes:
            hidden = hidden_layer(width, self.dtype, he)(self._normalized(x)).astype(float)
            hidden = ACTIVATIONS[self.activation](hidden)
            x += hidden_layer(self.residual_width, self.dtype, he)(hidden).astype(float)
        return self._normalized(x)

    def _normalized(self, x: jax.Array) -> jax.Array:
        return nn.LayerNorm()(x) if self.layer_norm else x

    def _plain(self, x: Any) -> jax.Array:
        for width in self.hidden_sizes:
            x = hidden_layer(width, self.dtype)(x).astype(float)
            x = ACTIVATIONS[self.activation](self._normalized(x))
        return jnp.asarray(x)


class GaussianActor(nn.Module):
    """A squashed Gaussian policy whose mean and deviation depend on the features."""

    action_size: int
    torso: nn.Module
    encoder: nn.Module | None = None
    head: type[nn.Module] = nn.Dense

    @nn.compact
    def __call__(self, features: Any) -> SquashedGaussian:
        """Return the policy."""
        x, head = self.torso(encode(self.encoder, features)), functools.partial(self.head, self.action_size)
        log_std = jnp.tanh(head()(x))  # smooth, so that a bound stops no gradient
        log_std = MIN_LOG_STD + (MAX_LOG_STD - MIN_LOG_STD) * (log_std + 1) / 2
        return SquashedGaussian(mean=head()(x), log_std=log_std)


class DeterministicActor(nn.Module):
    """A policy that returns an action in (-1, 1)."""

    action_size: int
    torso: nn.Module
    encoder: nn.Module | None = None

    @nn.compact
    def __call__(self, features: Any) -> Float[Array, "*batch action_size"]:
        """Return the action."""
        x = self.torso(encode(self.encoder, features))
        return jnp.tanh(nn.Dense(self.action_size, kernel_init=nn.initializers.orthogonal(0.01))(x))


class Critic(nn.Module):
    """The value of an action, or several numbers about the return that follows it, such as its quantiles.

    With a `critic_encoder`, it also takes what only critics see (`Views`).
    """

    torso: nn.Module
    encoder: nn.Module | None = None
    num_outputs: int | None = None  # None for the value
    critic_encoder: nn.Module | None = None
    head: type[nn.Module] = nn.Dense

    @nn.compact
    def __call__(self, features: Any, action: jax.Array) -> Float[Array, "*batch_outputs"]:
        """Return the value `[*batch]`, or the numbers `[*batch, num_outputs]`."""
        x = join_critic_view(encode(self.encoder, features), self.critic_encoder, features)
        if x is None:
            raise TypeError("critics need what only they see beside the agent's observation; pass both")
        x = self.torso(jnp.concatenate([x, action], axis=-1))
        return self.head(1)(x)[..., 0] if self.num_outputs is None else self.head(self.num_outputs)(x)


class Critics(nn.Module):
    """Several critics of the same form with parameters of their own, which run as one.

    >>> critics = Critics(2, Critic(Torso((8,), "relu", layer_norm=False)))
    >>> critics.init_with_output(jax.random.key(0), jnp.zeros((5, 4)), jnp.zeros((5, 1)))[0].shape
    (2, 5)
    """

    num_critics: int
    critic: nn.Module

    @nn.compact
    def __call__(self, features: Any, action: jax.Array) -> Float[Array, "num_critics *batch_outputs"]:
        """Return what each critic says of an action."""
        several: Any = nn.vmap(
            lambda critic, *inputs: critic(*inputs),
            in_axes=None,
            axis_size=self.num_critics,
            variable_axes={"params": 0},
            split_rngs={"params": True},
        )
        values: jax.Array = several(self.critic, features, action)
        return values


def make_gaussian_actor_critics(config: Any, env: AnyEnv) -> ActorCritics:
    """Return the default networks of SAC: a stochastic actor and two critics."""
    return _actor_critics(config, env, GaussianActor)


def make_quantile_actor_critics(config: Any, env: AnyEnv) -> ActorCritics:
    """Return the default networks of TQC: a stochastic actor, and critics that return quantiles."""
    return _actor_critics(config, env, GaussianActor, config.num_critics, config.num_quantiles)


def make_categorical_actor_critics(config: Any, env: AnyEnv) -> ActorCritics:
    """Return networks for SimBa: a stochastic actor, and two critics that return logits of bins."""
    return _actor_critics(config, env, GaussianActor, num_outputs=config.num_bins)


def make_compressed_actor_critics(config: Any, env: AnyEnv) -> ActorCritics:
    """Return the default networks of SimBa: those with categorical critics, which see `Compressed` observations."""
    return _actor_critics(config, env, GaussianActor, num_outputs=config.num_bins, compresses=True)


def make_hyperspherical_actor_critics(config: Any, env: AnyEnv) -> ActorCritics:
    """Return networks for SimBa as its default ones, in which vectors and weights have length 1.

    Raises:
        ValueError: The configuration has no `residual_width`.
    """
    require_size("residual_width", config.residual_width)
    torso = HypersphericalTorso(config.residual_width, config.hidden_sizes, config.activation, config.dtype)
    return _actor_critics(
        config,
        env,
        functools.partial(GaussianActor, head=HypersphericalHead),
        num_outputs=config.num_bins,
        compresses=True,
        torso=torso,
        critic_head=HypersphericalHead,
    )


def make_deterministic_actor_critics(config: Any, env: AnyEnv) -> ActorCritics:
    """Return the default networks of TD3: a deterministic actor and two critics."""
    return _actor_critics(config, env, DeterministicActor)


def _actor_critics(
    config: Any,
    env: AnyEnv,
    actor: Callable[..., nn.Module],
    num_critics: int = 2,
    num_outputs: int | None = None,
    compresses: bool = False,
    torso: nn.Module | None = None,
    critic_head: type[nn.Module] = nn.Dense,
) -> ActorCritics:
    if torso is None:
        torso = Torso(config.hidden_sizes, config.activation, config.layer_norm, config.dtype, config.residual_width)
    encoder, critic_encoder = make_encoder(config, env), make_critic_encoder(config, env)
    if compresses:
        encoder, critic_encoder = Compressed(encoder), critic_encoder and Compressed(critic_encoder)
    critic = Critic(torso, encoder, num_outputs, critic_encoder, critic_head)
    return ActorCritics(actor(action_size(env.action_space), torso, encoder), Critics(num_critics, critic))


class GaussianActorAgent(NetworkAgent):
    """A policy whose network is an actor that returns a squashed Gaussian: `agent(observation, key) -> action`."""

    def policy(self, features: Any) -> SquashedGaussian:
        """Return the distribution over actions in (-1, 1)."""
        policy: Any = self.network.apply(self.params, features)
        return policy

    def act(self, features: Any, legal: Any, key: jax.Array) -> jax.Array:
        """Return an action in (-1, 1)."""
        policy = self.policy(features)
        return policy.sample(key)[0] if self.explore else policy.mode()


class DeterministicActorAgent(NetworkAgent):
    """A policy whose network is an actor that returns an action; noise of deviation `noise` is added if it explores."""

    noise: Float[Array, ""] | float = 0.0

    def mode(self, features: Any) -> Float[Array, "*batch action_size"]:
        """Return the action in (-1, 1), without noise."""
        action: Any = self.network.apply(self.params, features)
        return action

    def act(self, features: Any, legal: Any, key: jax.Array) -> jax.Array:
        """Return an action; with noise it may lie outside of (-1, 1), and is clipped later."""
        mode = self.mode(features)
        return mode + self.noise * jax.random.normal(key, mode.shape, mode.dtype) if self.explore else mode
