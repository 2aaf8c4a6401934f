"""Neural networks for agents: an actor-critic for vectors and images, and the features that it takes.

A network for PPO is any flax module whose call maps features `[*batch, ...]` to a policy, which is a `Distribution`
over raw actions, and a value `[*batch]`. `make_actor_critic` builds the default one. `ppo.Config(network=...)` takes
another function of the same signature.
"""

from __future__ import annotations

from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from funcenv.func_env import AnyEnv
from funcenv.spaces import Box, flatten
from funcenv.spaces.space import AnySpace
from funcenv.train.distributions import Categorical, Distribution, Gaussian, action_size

Activation = Literal["tanh", "relu"]


class ImageEncoder(nn.Module):
    """Convolutions over patches that do not overlap, each followed by ReLU: from an image to a vector.

    A convolution of this form is a single matrix product. It remains one when several networks are trained in
    parallel, where XLA's convolutions on a CPU become very slow. The right and bottom borders are padded with zeros to
    whole patches.

    >>> encoder = ImageEncoder(patch_sizes=(7, 3), patch_channels=(16, 32))
    >>> encoder.init_with_output(jax.random.key(0), jnp.zeros((5, 84, 84, 2), jnp.uint8))[0].shape
    (5, 512)
    """

    patch_sizes: tuple[int, ...]  # height and width of the patches of each layer
    patch_channels: tuple[int, ...]  # output channels of each layer

    @nn.compact
    def __call__(self, image: Any) -> Float[Array, "*batch n"]:
        """Encode images `[*batch, height, width, channels]`; uint8 is scaled to [0, 1], floats are not scaled."""
        x = image.astype(float) / 255 if image.dtype == np.uint8 else image
        for size, channels in zip(self.patch_sizes, self.patch_channels, strict=True):
            layer = nn.Dense(channels, kernel_init=nn.initializers.orthogonal(np.sqrt(2)))
            x = nn.relu(layer(_patches(x, size)))
        return x.reshape(*x.shape[:-3], -1)


class ActorCritic(nn.Module):
    """Separate policy and value networks of the same shape, after an optional encoder that both share.

    The policy is categorical, or for continuous actions Gaussian with a log standard deviation that does not depend on
    the observation. Weights are orthogonal. The policy's last layer is small, so that a new policy is nearly uniform.
    """

    action_size: int
    is_continuous: bool
    hidden_sizes: tuple[int, ...]
    activation: Activation
    initial_log_std: float
    encoder: nn.Module | None = None

    def setup(self) -> None:
        """Create the layers."""

        def dense(width: int, scale: float) -> nn.Dense:
            return nn.Dense(width, kernel_init=nn.initializers.orthogonal(scale))

        def network(size: int, head_scale: float) -> nn.Sequential:
            hidden = [dense(width, np.sqrt(2)) for width in self.hidden_sizes]
            return nn.Sequential([*(part for layer in hidden for part in (layer, activation)), dense(size, head_scale)])

        activation = {"tanh": nn.tanh, "relu": nn.relu}[self.activation]
        self.policy = network(self.action_size, 0.01)
        self.value = network(1, 1.0)
        if self.is_continuous:
            constant = nn.initializers.constant(self.initial_log_std)
            self.log_std = self.param("log_std", constant, (self.action_size,))

    def __call__(self, features: Any) -> tuple[Distribution, Float[Array, "*batch"]]:
        """Return the policy and the value from one forward pass."""
        x = features if self.encoder is None else self.encoder(features)
        head, value = self.policy(x), self.value(x)[..., 0]
        if self.is_continuous:
            return Gaussian(mean=head, log_std=jnp.broadcast_to(self.log_std, head.shape)), value
        return Categorical(head), value


def make_actor_critic(config: Any, env: AnyEnv) -> ActorCritic:
    """Return the default network of PPO for an environment's spaces."""
    encoder = ImageEncoder(config.patch_sizes, config.patch_channels) if is_image(env.observation_space) else None
    return ActorCritic(
        action_size=action_size(env.action_space),
        is_continuous=isinstance(env.action_space, Box),
        hidden_sizes=config.hidden_sizes,
        activation=config.activation,
        initial_log_std=config.initial_log_std,
        encoder=encoder,
    )


def to_features(space: AnySpace, observation: Any) -> jax.Array:
    """Convert an observation to what a network takes: a float vector, or an image `[height, width, channels]`."""
    return channels_last(observation) if is_image(space) else flatten(space, observation).astype(float)


def is_image(space: AnySpace) -> bool:
    """Check whether members are uint8 images: `[height, width]`, `[height, width, channels]`, or stacked frames.

    >>> is_image(Box(0, 255, (84, 84, 3), np.uint8)), is_image(Box(-1, 1, (84, 84)))
    (True, False)
    """
    return isinstance(space, Box) and space.dtype == np.uint8 and 2 <= len(space.shape) <= 4


def channels_last(image: UInt8[Array, "..."]) -> UInt8[Array, "height width channels"]:
    """Return an image with all its colours and frames as channels.

    Three axes are `[height, width, channels]` if the last one is at most 4, and `[frames, height, width]` otherwise.

    >>> shapes = (84, 84), (84, 84, 3), (2, 84, 84), (2, 84, 84, 3)
    >>> [channels_last(jnp.zeros(shape, jnp.uint8)).shape[-1] for shape in shapes]
    [1, 3, 2, 6]
    """
    if image.ndim == 2:
        return image[..., None]
    if image.ndim == 3:
        return image if image.shape[-1] <= 4 else jnp.moveaxis(image, 0, -1)
    return jnp.moveaxis(image, 0, 2).reshape(*image.shape[1:3], -1)


def _patches(x: jax.Array, size: int) -> jax.Array:
    """Cut `[..., height, width, n]` into `[..., height / size, width / size, size * size * n]`."""
    *batch, height, width, channels = x.shape
    rows, columns = -(-height // size), -(-width // size)
    padding = [(0, 0)] * len(batch) + [(0, rows * size - height), (0, columns * size - width), (0, 0)]
    x = jnp.pad(x, padding).reshape(*batch, rows, size, columns, size, channels)
    return jnp.moveaxis(x, -3, -4).reshape(*batch, rows, columns, size * size * channels)
