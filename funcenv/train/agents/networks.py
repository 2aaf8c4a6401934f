"""Neural networks for agents, the features that they take, and the settings that choose a network.

A network is a flax module whose call maps features (`funcenv.train.agents.features`) with any batch axes in front.
`Config(network=...)` takes a function of the configuration and the environment that returns what the algorithm needs:

    ppo, reinforce   features -> policy, a `Distribution` over raw actions, and value `[*batch]` (`make_actor_critic`)
    pqn, dqn         features -> action values `[*batch, num_actions]` (`make_q_network`)
    ars              features -> preferences `[*batch, num_actions]`, or raw actions (`ars.make_policy`)
    sac, td3, ...    an actor, features -> policy, and critics, features and action -> values `[num_critics, *batch]`,
                     or for tqc and simba quantiles or logits of bins, which are a last axis more;
                     `funcenv.train.agents.actor_critics` defines the default ones
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.func_env import AnyEnv
from funcenv.names import import_object, require_builder
from funcenv.spaces import Box, Discrete, flatdim
from funcenv.spaces.space import AnySpace
from funcenv.train.agents.distributions import Distribution, Gaussian, action_size, option_counts, policy_over_options
from funcenv.train.agents.features import Views, is_image, is_picture, picture_spaces
from funcenv.train.agents.observations import critic_space, task_space
from funcenv.train.config import TrainConfig
from funcenv.train.updates.collector import CollectorConfig
from funcenv.wrappers.action_mask_observation import ActionMaskObservation, gives_action_mask
from funcenv.wrappers.critic_observation import CriticObservation

Activation = Literal["tanh", "relu"]
ACTIVATIONS = {"tanh": nn.tanh, "relu": nn.relu}

Dtype = Literal["float32", "bfloat16"]

if TYPE_CHECKING:
    NetworkFunction = str | Callable[[Any, AnyEnv], Any]
else:
    NetworkFunction = str  # the type of the command line's flag


@dataclasses.dataclass(frozen=True)
class NetworkConfig(CollectorConfig):
    """The settings of every algorithm whose agents have a network."""

    network: NetworkFunction = "funcenv.train.agents.networks:make_actor_critic"
    """function (config, env) that returns the network, as "module:function\""""
    hidden_sizes: tuple[int, ...] = (64, 64)
    """hidden layer widths; omit the numbers for a linear model"""
    activation: Activation = "tanh"
    """activation function of the hidden layers"""
    dtype: Dtype = "float32"
    """dtype in which hidden layers compute; parameters, last layers, losses and the optimizer keep float32"""
    patch_sizes: tuple[int, ...] = (7, 3)
    """for image observations: patch size of each convolution before the hidden layers; patches do not overlap"""
    patch_channels: tuple[int, ...] = (16, 32)
    """for image observations: output channels of each convolution"""
    board_channels: tuple[int, ...] = (16,)
    """for boards, boolean `[height, width, planes]`: output channels of each 3 x 3 convolution; none flattens boards"""
    board_strides: tuple[int, ...] = (2,)
    """for boards: cells from one window of each convolution to the next"""
    mask_actions: bool = True
    """take legal actions only, where the `info` of the environment has an `action_mask`"""
    critic_observation: Annotated[str, "NAME"] = ""
    """what critics see beside the agent's observation: an entry of it, which the agent then does not see, an entry of
    info, or else "state" for the whole state"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hidden_sizes", "patch_sizes", "patch_channels", "board_channels", "board_strides"):
            if any(size < 1 for size in getattr(self, name)):
                raise ValueError(f"{name} must hold numbers of at least 1, got {getattr(self, name)}")
        if len(self.patch_sizes) != len(self.patch_channels):
            raise ValueError(
                "patch_sizes and patch_channels must have one number for each convolution, "
                f"got {self.patch_sizes} and {self.patch_channels}"
            )
        if len(self.board_channels) != len(self.board_strides):
            raise ValueError(
                "board_channels and board_strides must have one number for each convolution, "
                f"got {self.board_channels} and {self.board_strides}"
            )

    @property
    def has_critic(self) -> bool:
        """True unless a subclass makes the setting `critic_observation` a constant, because it learns no critic."""
        return any(setting.name == "critic_observation" for setting in dataclasses.fields(self))

    def make_env(self) -> AnyEnv:
        """Return the environment of the run as the agent sees it, and check that a network can be made for its spaces.

        It is in a `CriticObservation` if critics see more than the agent, and in an `ActionMaskObservation` if it gives
        a mask of legal actions.

        Raises:
            ValueError: As in `TrainConfig`; or there is nothing of the name `critic_observation`; or an entry of the
                observation is for critics, and the algorithm has none.
        """
        env = super().make_env()
        if self.critic_observation:
            env = CriticObservation(env, self.critic_observation)
        if critic_space(env.observation_space) is not None and not self.has_critic:
            raise ValueError(
                f"{type(self).__module__.rpartition('.')[2]} has no critic, and observations of {self.env_id} have an "
                "entry for critics; take an algorithm with the setting critic_observation, or filter the entry out"
            )
        if self.shows_mask(env):
            env = ActionMaskObservation(env)
        flatdim(env.observation_space)
        self.make_network(env)
        return env

    def shows_mask(self, env: AnyEnv) -> bool:
        """Return whether the agent sees the mask of legal actions that an environment gives."""
        return self.mask_actions and gives_action_mask(env)

    def make_network(self, env: AnyEnv) -> Any:
        """Return the network of the agent; `funcenv.train.agents.networks` says what it must compute."""
        make = import_object(self.network) if isinstance(self.network, str) else self.network
        if isinstance(self.network, str):
            require_builder(self.network, make, "network")
        return make(self, env)


@dataclasses.dataclass(frozen=True)
class QNetworkConfig(TrainConfig):
    """The settings of a network of action values; name it before `NetworkConfig`, whose defaults it replaces."""

    network: NetworkFunction = "funcenv.train.agents.networks:make_q_network"
    """function (config, env) that returns the network, as "module:function\""""
    activation: Activation = "relu"
    """activation function of the hidden layers"""
    layer_norm: bool = False
    """normalize the inputs of each activation function"""
    is_dueling: bool = False
    """learn the value of a state and the advantages of its actions apart"""
    num_quantiles: ClassVar[int] = 0  # a setting of DQN alone
    critic_observation: ClassVar[str] = ""  # action values choose the actions, and see what the agent sees


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
    dtype: Dtype = "float32"

    @nn.compact
    def __call__(self, image: Any) -> Float[Array, "*batch n"]:
        """Encode images `[*batch, height, width, channels]`; uint8 is scaled to [0, 1], floats are not scaled."""
        x = image.astype(float) / 255 if image.dtype == np.uint8 else image
        for size, channels in zip(self.patch_sizes, self.patch_channels, strict=True):
            layer = hidden_layer(channels, self.dtype, nn.initializers.orthogonal(np.sqrt(2)))
            x = nn.relu(layer(_patches(x, size)).astype(float))
        return x.reshape(*x.shape[:-3], -1)


class BoardEncoder(nn.Module):
    """Convolutions with windows of 3 x 3 cells, each followed by ReLU: from a board to a vector.

    The board is padded with zeros, so that the windows lie around its cells: around each of them with stride 1, around
    every other one in both directions with stride 2. Like those of `ImageEncoder`, each convolution is a matrix
    product.

    >>> encoder = BoardEncoder(channels=(16,), strides=(2,))
    >>> encoder.init_with_output(jax.random.key(0), jnp.zeros((5, 10, 10, 4), bool))[0].shape
    (5, 400)
    """

    channels: tuple[int, ...]  # output channels of each layer
    strides: tuple[int, ...]  # cells from one window of each layer to the next
    dtype: Dtype = "float32"

    @nn.compact
    def __call__(self, board: Any) -> Float[Array, "*batch n"]:
        """Encode boards `[*batch, height, width, planes]`."""
        x = board.astype(float)
        for channels, stride in zip(self.channels, self.strides, strict=True):
            layer = hidden_layer(channels, self.dtype, nn.initializers.orthogonal(np.sqrt(2)))
            x = nn.relu(layer(_windows(x, stride)).astype(float))
        return x.reshape(*x.shape[:-3], -1)


class PartsEncoder(nn.Module):
    """Encoders of images and boards, whose vectors are joined to that of all other entries of an observation.

    >>> from funcenv.train.agents.features import Parts
    >>> encoder = PartsEncoder(("camera",), (ImageEncoder((2,), (8,)),))
    >>> parts = Parts(jnp.zeros((5, 3)), {"camera": jnp.zeros((5, 4, 4, 1), jnp.uint8)})
    >>> encoder.init_with_output(jax.random.key(0), parts)[0].shape
    (5, 35)
    """

    names: tuple[str, ...]
    encoders: tuple[nn.Module, ...]

    @nn.compact
    def __call__(self, parts: Any) -> Float[Array, "*batch n"]:
        """Encode `Parts`."""
        encoded = [encoder(parts.pictures[name]) for name, encoder in zip(self.names, self.encoders, strict=True)]
        return jnp.concatenate([parts.vector, *encoded], axis=-1)


class ActorCritic(nn.Module):
    """Separate policy and value networks of the same shape, after an optional encoder that both share.

    With a `critic_encoder`, the value network also takes what only critics see (`Views`). Without it in the features,
    the value is NaN.

    The policy is categorical, over each element alone where actions are vectors of options (`num_options`). For
    continuous actions it is Gaussian, with a log standard deviation that does not depend on the observation. Weights
    are orthogonal. The policy's last layer is small, so that a new policy is nearly uniform.
    """

    action_size: int
    is_continuous: bool
    hidden_sizes: tuple[int, ...]
    activation: Activation
    initial_log_std: float
    encoder: nn.Module | None = None
    dtype: Dtype = "float32"
    critic_encoder: nn.Module | None = None
    num_options: tuple[int, ...] = ()  # for each element of an action

    def setup(self) -> None:
        """Create the layers."""

        def network(size: int, head_scale: float) -> nn.Sequential:
            init = nn.initializers.orthogonal(np.sqrt(2))
            layers = [hidden_layer(width, self.dtype, init) for width in self.hidden_sizes]
            head = nn.Dense(size, kernel_init=nn.initializers.orthogonal(head_scale))
            return nn.Sequential([*(part for layer in layers for part in (layer, activation)), head])

        def activation(x: jax.Array) -> jax.Array:
            return ACTIVATIONS[self.activation](x.astype(float))

        self.policy = network(self.action_size, 0.01)
        self.value = network(1, 1.0)
        if self.is_continuous:
            constant = nn.initializers.constant(self.initial_log_std)
            self.log_std = self.param("log_std", constant, (self.action_size,))

    def __call__(self, features: Any) -> tuple[Distribution, Float[Array, "*batch"]]:
        """Return the policy and the value from one forward pass."""
        x = encode(self.encoder, features)
        head, seen = self.policy(x), join_critic_view(x, self.critic_encoder, features)
        value = jnp.full(head.shape[:-1], jnp.nan, float) if seen is None else self.value(seen)[..., 0]
        if self.is_continuous:
            return Gaussian(mean=head, log_std=jnp.broadcast_to(self.log_std, head.shape)), value
        return policy_over_options(head, self.num_options), value


def make_actor_critic(config: Any, env: AnyEnv) -> ActorCritic:
    """Return the default network of PPO for an environment's spaces."""
    return ActorCritic(
        action_size=action_size(env.action_space),
        is_continuous=isinstance(env.action_space, Box),
        hidden_sizes=config.hidden_sizes,
        activation=config.activation,
        initial_log_std=config.initial_log_std,
        encoder=make_encoder(config, env),
        dtype=config.dtype,
        critic_encoder=make_critic_encoder(config, env),
        num_options=option_counts(env.action_space),
    )


class QNetwork(nn.Module):
    """Action values: hidden layers with layer normalization or without it, and a plain or a dueling head.

    A dueling head (Wang et al., "Dueling network architectures for deep reinforcement learning", 2016) computes
    `V + A - mean A`, so that what all actions of a state have in common is learned once. With `num_quantiles`, there
    are so many values of each action, the quantiles of its return.

    >>> network = QNetwork(3, hidden_sizes=(8,), activation="relu", layer_norm=True, is_dueling=True)
    >>> network.init_with_output(jax.random.key(0), jnp.zeros((5, 4)))[0].shape
    (5, 3)
    """

    num_actions: int
    hidden_sizes: tuple[int, ...]
    activation: Activation
    layer_norm: bool
    is_dueling: bool
    encoder: nn.Module | None = None
    dtype: Dtype = "float32"
    num_quantiles: int = 0

    @nn.compact
    def __call__(self, features: Any) -> Float[Array, "*batch num_actions"] | Float[Array, "*batch num_actions n"]:
        """Return the values of all actions, or their quantiles."""
        x = encode(self.encoder, features)
        for width in self.hidden_sizes:
            x = hidden_layer(width, self.dtype, nn.initializers.he_normal())(x).astype(float)
            x = ACTIVATIONS[self.activation](nn.LayerNorm()(x) if self.layer_norm else x)
        each = self.num_quantiles or 1
        advantage = nn.Dense(self.num_actions * each)(x).reshape(*x.shape[:-1], self.num_actions, each)
        if self.is_dueling:
            advantage = nn.Dense(each)(x)[..., None, :] + advantage - advantage.mean(-2, keepdims=True)
        return advantage if self.num_quantiles else advantage[..., 0]


def make_q_network(config: Any, env: AnyEnv) -> QNetwork:
    """Return the default network of PQN and DQN for an environment's spaces."""
    assert isinstance(env.action_space, Discrete)  # the configuration refuses all other spaces
    return QNetwork(
        num_actions=env.action_space.n,
        hidden_sizes=config.hidden_sizes,
        activation=config.activation,
        layer_norm=config.layer_norm,
        is_dueling=config.is_dueling,
        encoder=make_encoder(config, env),
        dtype=config.dtype,
        num_quantiles=config.num_quantiles,
    )


def hidden_layer(width: int, dtype: Dtype, kernel_init: Any = nn.linear.default_kernel_init) -> nn.Dense:
    """Return a layer that computes in a dtype with parameters of float32; its result is for the caller to convert.

    >>> layer = hidden_layer(8, "bfloat16")
    >>> result, params = layer.init_with_output(jax.random.key(0), jnp.zeros((5, 4)))
    >>> result.dtype.name, params["params"]["kernel"].dtype.name
    ('bfloat16', 'float32')
    """
    return nn.Dense(width, dtype=None if dtype == "float32" else jnp.bfloat16, kernel_init=kernel_init)


def make_encoder(config: Any, env: AnyEnv) -> nn.Module | None:
    """Return the encoder of images and boards among what the agent sees; None if it sees a vector."""
    return _encoder_of(config, task_space(env.observation_space))


def make_critic_encoder(config: Any, env: AnyEnv) -> nn.Module | None:
    """Return the encoder of what only critics see, or None if there is no such thing."""
    space = critic_space(env.observation_space)
    return None if space is None else _encoder_of(config, space) or Identity()


def _encoder_of(config: Any, space: AnySpace) -> nn.Module | None:
    if is_picture(space):
        return _picture_encoder(config, space)
    pictures = picture_spaces(space)
    encoders = tuple(_picture_encoder(config, picture) for picture in pictures.values())
    return PartsEncoder(tuple(pictures), encoders) if pictures else None


def _picture_encoder(config: Any, space: AnySpace) -> nn.Module:
    if is_image(space):
        return ImageEncoder(config.patch_sizes, config.patch_channels, config.dtype)
    return BoardEncoder(config.board_channels, config.board_strides, config.dtype)


class Identity(nn.Module):
    """The encoder of vectors: it returns them."""

    def __call__(self, vector: Any) -> Any:
        """Return the vector."""
        return vector


class Compressed(nn.Module):
    """An encoder whose vector has the logarithms of large elements: sign(x) log(1 + |x|) of each.

    A few elements that are large for a moment, such as forces at a contact, then do not hide all others. The function
    is the symlog of Hafner et al., "Mastering diverse domains through world models", 2023.

    >>> Compressed().apply({}, jnp.array([0.0, -(jnp.e - 1), 100.0])).round(2).tolist()
    [0.0, -1.0, 4.619999885559082]
    """

    encoder: nn.Module | None = None  # None for vectors

    def __call__(self, features: Any) -> jax.Array:
        """Return the vector."""
        vector = jnp.asarray(encode(self.encoder, features))
        return jnp.sign(vector) * jnp.log1p(jnp.abs(vector))


def encode(encoder: nn.Module | None, features: Any) -> Any:
    """Return the vector of what the agent sees."""
    features = features.agent if isinstance(features, Views) else features
    return features if encoder is None else encoder(features)


def join_critic_view(vector: Any, encoder: nn.Module | None, features: Any) -> Any | None:
    """Return what critics see: the agent's vector, and that of what only they see.

    Args:
        vector: The vector of what the agent sees.
        encoder: The encoder of what only critics see; None if there is no such thing.
        features: The features.

    Returns:
        The vector of both, or None if the features are those of the agent alone.
    """
    if encoder is None:
        return vector
    return jnp.concatenate([vector, encoder(features.critic)], -1) if isinstance(features, Views) else None


def _patches(x: jax.Array, size: int) -> jax.Array:
    """Cut `[..., height, width, n]` into `[..., height / size, width / size, size * size * n]`."""
    *batch, height, width, channels = x.shape
    rows, columns = -(-height // size), -(-width // size)
    padding = [(0, 0)] * len(batch) + [(0, rows * size - height), (0, columns * size - width), (0, 0)]
    x = jnp.pad(x, padding).reshape(*batch, rows, size, columns, size, channels)
    return jnp.moveaxis(x, -3, -4).reshape(*batch, rows, columns, size * size * channels)


def _windows(x: jax.Array, stride: int) -> jax.Array:
    """Return the 3 x 3 cells around every `stride`-th cell of `[..., height, width, n]` as `[..., h, w, 9 n]`."""
    height, width = x.shape[-3:-1]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 3) + [(1, 1), (1, 1), (0, 0)])
    shifts = [padded[..., i : i + height : stride, j : j + width : stride, :] for i in range(3) for j in range(3)]
    return jnp.concatenate(shifts, axis=-1)
