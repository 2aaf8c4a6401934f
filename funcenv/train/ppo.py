"""Proximal policy optimisation.

Schulman et al., "Proximal policy optimization algorithms", 2017, with the details that Huang et al., "The 37
implementation details of proximal policy optimization", 2022, found to matter.

Read it top to bottom: the configuration, the networks, the state of training, one update, and the loop around it.

    collect num_steps steps in num_envs environments
    advantages by GAE: bootstrap where an episode was truncated, not where it terminated
    num_epochs times over the batch, in num_minibatches pieces, a step of Adam on
        policy loss  - mean min(ratio A, clip(ratio, 1 - epsilon, 1 + epsilon) A)
        value loss   value_coefficient mean (V - target)^2 / 2
        entropy      - entropy_coefficient mean entropy
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple, get_args

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int, Key

import funcenv
from funcenv.checks import require_size
from funcenv.func_env import FuncEnv
from funcenv.spaces import Box, Space, flatdim, flatten
from funcenv.struct import PyTreeNode, field
from funcenv.train.advantages import generalized_advantages
from funcenv.train.config import Activation, TrainConfig, require_fraction
from funcenv.train.distributions import Distribution, action_size, distribution, to_env_action
from funcenv.train.episodes import Episodes
from funcenv.train.normalization import RunningMoments
from funcenv.train.pictures import ImageEncoder, is_picture, with_channels
from funcenv.vector import FuncVectorEnv, VectorState


@dataclasses.dataclass(frozen=True)
class Config(TrainConfig):
    """Every choice that a run depends on; `funcenv train` has a flag for each."""

    num_envs: int = 16
    """environments stepped together"""
    num_steps: int = 64
    """steps in each environment between updates"""
    num_epochs: int = 4
    """passes over each batch"""
    num_minibatches: int = 4
    """pieces that a batch is cut into; divides num_envs * num_steps"""
    learning_rate: float = 1e-3
    """Adam's step size"""
    anneal_learning_rate: bool = True
    """let the learning rate fall linearly to 0 over the run"""
    gamma: float = 0.99
    """discount of later rewards, in [0, 1]"""
    gae_lambda: float = 0.95
    """weight of longer returns in the advantages, in [0, 1]"""
    clip_epsilon: float = 0.2
    """how far the policy's probability ratio counts"""
    clip_value: bool = False
    """limit the value function's change in the same way"""
    entropy_coefficient: float = 0.01
    """weight of the entropy bonus"""
    value_coefficient: float = 0.5
    """weight of the value loss"""
    max_grad_norm: float = 0.5
    """global norm that gradients are clipped to"""
    normalize_advantage: bool = True
    """shift and scale advantages to mean 0, variance 1 in each minibatch"""
    normalize_observation: bool = False
    """keep running moments of observations in the train state and normalise by them"""
    normalize_reward: bool = True
    """keep the running variance of discounted returns in the train state and scale rewards by it"""
    hidden_sizes: tuple[int, ...] = (64, 64)
    """widths of the hidden layers of policy and value function"""
    activation: Activation = "tanh"
    """of the hidden layers"""
    window_sizes: tuple[int, ...] = (7, 3)
    """where observations are pictures: windows of the convolutions before the hidden layers, which do not overlap"""
    window_channels: tuple[int, ...] = (16, 32)
    """and how many channels each of these gives"""
    initial_log_std: float = 0.0
    """log standard deviation of a new policy, for continuous actions, in units of the action's range"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("num_envs", "num_steps", "num_epochs", "num_minibatches"):
            require_size(name, getattr(self, name))
        for name in ("gamma", "gae_lambda"):
            require_fraction(name, getattr(self, name))
        if not self.hidden_sizes or min(self.hidden_sizes) < 1:
            raise ValueError(f"hidden_sizes must be widths of at least 1, got {self.hidden_sizes}")
        if self.activation not in get_args(Activation):
            raise ValueError(f"activation must be one of {', '.join(get_args(Activation))}, got {self.activation!r}")
        if len(self.window_sizes) != len(self.window_channels):
            raise ValueError(
                "window_sizes and window_channels must have one number for each convolution, "
                f"got {self.window_sizes} and {self.window_channels}"
            )
        if self.batch_size % self.num_minibatches:
            raise ValueError(
                f"num_minibatches must divide num_envs * num_steps, got {self.num_minibatches} for "
                f"{self.num_envs} * {self.num_steps} = {self.batch_size}"
            )
        if self.num_updates < 1:
            raise ValueError(
                f"total_timesteps must be at least one batch, num_envs * num_steps = {self.batch_size}, "
                f"got {self.total_timesteps}"
            )

    @property
    def batch_size(self) -> int:
        """Steps in one update."""
        return self.num_envs * self.num_steps

    @property
    def num_updates(self) -> int:
        """Updates in the run; a last, smaller batch is not taken."""
        return self.total_timesteps // self.batch_size


class ActorCritic(nn.Module):
    """Two networks of the same shape, for the policy and for the value; before both, one that looks at pictures.

    The policy's head is logits for discrete actions, or means beside a free log standard deviation for continuous ones.
    """

    action_size: int
    continuous: bool
    hidden_sizes: tuple[int, ...]
    activation: Activation
    initial_log_std: float
    windows: tuple[tuple[int, ...], tuple[int, ...]] | None = None  # for pictures: sizes and channels

    def setup(self) -> None:
        """Make the layers: orthogonal weights, with a small policy head so that a new policy is nearly uniform."""

        def network(size: int, head_scale: float) -> nn.Sequential:
            hidden = [dense(width, np.sqrt(2)) for width in self.hidden_sizes]
            return nn.Sequential([*(part for layer in hidden for part in (layer, activation)), dense(size, head_scale)])

        def dense(width: int, scale: float) -> nn.Dense:
            return nn.Dense(width, kernel_init=nn.initializers.orthogonal(scale))

        activation = {"tanh": nn.tanh, "relu": nn.relu}[self.activation]
        if self.windows is not None:
            self.encoder = ImageEncoder(*self.windows)
        self.policy = network(self.action_size, 0.01)
        self.value = network(1, 1.0)
        if self.continuous:
            constant = nn.initializers.constant(self.initial_log_std)
            self.log_std = self.param("log_std", constant, (self.action_size,))

    def act(self, features: Any) -> tuple[Float[Array, "*batch m"], Float[Array, "m"] | None]:
        """The policy's head and, for continuous actions, its log standard deviation."""
        return self.policy(self._seen(features)), self.log_std if self.continuous else None

    def evaluate(self, features: Any) -> Float[Array, "*batch"]:
        """The value of a state."""
        return self.value(self._seen(features))[..., 0]

    def __call__(self, features: Any) -> Any:
        """Both, of one look."""
        seen = self._seen(features)
        return (self.policy(seen), self.log_std if self.continuous else None), self.value(seen)[..., 0]

    def _seen(self, features: Any) -> Float[Array, "*batch n"]:
        return features if self.windows is None else self.encoder(features)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    params: VariableDict
    optimizer_state: optax.OptState
    vstate: VectorState[Any]
    observation: Any  # what every environment shows now
    observation_moments: RunningMoments
    discounted_return: Float[Array, "num_envs"]  # running, for the scale of rewards
    return_moments: RunningMoments
    episodes: Episodes
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Batch(NamedTuple):
    """What the loss needs of each step; leading axes `[num_steps, num_envs]`, or one of both."""

    features: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    advantage: jax.Array
    target: jax.Array


class Agent(PyTreeNode):
    """A policy that can be called: `agent(observation, key) -> action`; deterministic unless `explore` is set.

    A pytree whose leaves are the trained parameters, so that `funcenv.rollout` and `funcenv.evaluate` compile once for
    all agents of one kind.
    """

    params: VariableDict
    observation_moments: RunningMoments
    network: ActorCritic = field(pytree_node=False)
    observation_space: Space[Any] = field(pytree_node=False)
    action_space: Space[Any] = field(pytree_node=False)
    normalize_observation: bool = field(pytree_node=False)
    explore: bool = field(pytree_node=False, default=False)

    def features(self, observation: Any) -> Any:
        """What the networks are shown of one observation: a vector `[n]`, or a picture `[height, width, channels]`."""
        features = _features(self.observation_space, observation)
        return self.observation_moments.normalize(features.astype(float)) if self.normalize_observation else features

    def policy(self, features: Any) -> Distribution:
        """The distribution over raw actions."""
        output: Any = self.network.apply(self.params, features, method="act")
        head, log_std = output
        return distribution(self.action_space, head, log_std)

    def value(self, features: Any) -> Float[Array, "*batch"]:
        """The value function."""
        value: Any = self.network.apply(self.params, features, method="evaluate")
        return value

    def policy_and_value(self, features: Any) -> tuple[Distribution, Float[Array, "*batch"]]:
        """Both, for less than one after the other."""
        output: Any = self.network.apply(self.params, features)
        (head, log_std), value = output
        return distribution(self.action_space, head, log_std), value

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """An action for one observation."""
        policy = self.policy(self.features(observation))
        return to_env_action(self.action_space, policy.sample(key) if self.explore else policy.mode())


def make_env(config: Config) -> FuncEnv[Any, Any, Any]:
    """The environment of a run, checked for spaces that the networks can take.

    Raises:
        ValueError: an unknown id, or a space that PPO here does not take.
    """
    params: dict[str, Any] = dict(config.env_params)
    env = funcenv.make(config.env_id, **params)
    action_size(env.action_space)
    flatdim(env.observation_space)
    return env


def init(config: Config, env: FuncEnv[Any, Any, Any], key: jax.Array) -> TrainState:
    """A new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    venv = FuncVectorEnv(env, config.num_envs)
    vstate, timestep = venv.reset(env_key)
    features = jax.vmap(functools.partial(_features, env.observation_space))(timestep.observation)
    params = _network(config, env).init(params_key, features)
    return TrainState(
        params=params,
        optimizer_state=_optimizer(config).init(params),
        vstate=vstate,
        observation=timestep.observation,
        observation_moments=RunningMoments.empty(features.shape[1:]),
        discounted_return=jnp.zeros_like(timestep.reward),
        return_moments=RunningMoments.empty(()),
        episodes=Episodes.none(),
        key=key,
        update=jnp.zeros((), jnp.int32),
    )


def make_agent(config: Config, env: FuncEnv[Any, Any, Any], state: TrainState, explore: bool = False) -> Agent:
    """The policy of a train state."""
    return Agent(
        params=state.params,
        observation_moments=state.observation_moments,
        network=_network(config, env),
        observation_space=env.observation_space,
        action_space=env.action_space,
        normalize_observation=config.normalize_observation,
        explore=explore,
    )


def update(config: Config, env: FuncEnv[Any, Any, Any], state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; returns the next state and the figures of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    state, batch = _collect(config, env, state, collect_key)
    params, optimizer_state, losses = _learn(config, env, state, batch, learn_key)
    metrics = {
        "env_steps": (state.update + 1) * config.batch_size,
        "episodes": state.episodes.count,
        "mean_return": state.episodes.mean(state.episodes.returns),
        "mean_length": state.episodes.mean(state.episodes.lengths),
        **losses,
        "explained_variance": 1 - jnp.var(batch.target - batch.value) / (jnp.var(batch.target) + 1e-8),
        "learning_rate": jnp.asarray(_learning_rate(config)(state.update * config.num_epochs * config.num_minibatches)),
    }
    return state.replace(params=params, optimizer_state=optimizer_state, key=key, update=state.update + 1), metrics


def _collect(
    config: Config, env: FuncEnv[Any, Any, Any], state: TrainState, key: jax.Array
) -> tuple[TrainState, Batch]:
    """Play `num_steps` steps with the present policy and work out their advantages."""
    venv = FuncVectorEnv(env, config.num_envs)
    agent = make_agent(config, env, state)

    def step(carry: Any, key: jax.Array) -> tuple[Any, Any]:
        vstate, observation = carry
        features = jax.vmap(agent.features)(observation)
        action = agent.policy(features).sample(key)
        vstate, timestep = venv.step(vstate, jax.vmap(functools.partial(to_env_action, env.action_space))(action))
        return (vstate, timestep.observation), (observation, features, action, timestep.replace(info={}, final_info={}))

    carry = state.vstate, state.observation
    (vstate, observation), steps = jax.lax.scan(step, carry, jax.random.split(key, config.num_steps))
    seen, features, action, timestep = steps

    # One batched pass for the values of all steps is cheaper than one small pass in each.
    final_features = jax.vmap(jax.vmap(agent.features))(timestep.final_observation)
    value, final_value = agent.value(features), agent.value(final_features)
    reward, discounted_return, return_moments = _scaled_rewards(config, state, timestep)
    advantage = generalized_advantages(
        reward, value, final_value, timestep.terminated, timestep.done, config.gamma, config.gae_lambda
    )
    if config.normalize_observation:
        seen = jax.vmap(jax.vmap(functools.partial(_features, env.observation_space)))(seen)
        state = state.replace(observation_moments=state.observation_moments.update(seen.astype(float)))
    flat = jax.tree.map(jnp.ravel, (timestep.done, timestep.episode_return, timestep.episode_length))
    state = state.replace(
        vstate=vstate,
        observation=observation,
        discounted_return=discounted_return,
        return_moments=return_moments,
        episodes=state.episodes.add(*flat),
    )
    log_prob = agent.policy(features).log_prob(action)
    batch = Batch(features, action, log_prob, value, advantage, target=advantage + value)
    return state, jax.tree.map(lambda leaf: leaf.reshape(config.batch_size, *leaf.shape[2:]), batch)


def _scaled_rewards(config: Config, state: TrainState, timestep: Any) -> tuple[jax.Array, jax.Array, RunningMoments]:
    """Rewards divided by the standard deviation of the discounted return so far, and what that is computed from."""
    if not config.normalize_reward:
        return timestep.reward, state.discounted_return, state.return_moments

    def step(discounted_return: jax.Array, row: Any) -> tuple[jax.Array, jax.Array]:
        reward, done = row
        discounted_return = config.gamma * discounted_return + reward
        return jnp.where(done, 0, discounted_return), discounted_return

    discounted_return, returns = jax.lax.scan(step, state.discounted_return, (timestep.reward, timestep.done))
    moments = state.return_moments.update(returns)
    return moments.scale(timestep.reward), discounted_return, moments


def _learn(
    config: Config, env: FuncEnv[Any, Any, Any], state: TrainState, batch: Batch, key: jax.Array
) -> tuple[VariableDict, optax.OptState, dict[str, jax.Array]]:
    """`num_epochs` passes over the batch, each in a new order."""
    optimizer = _optimizer(config)

    def minibatch_step(carry: Any, rows: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        params, optimizer_state = carry
        minibatch = jax.tree.map(lambda leaf: leaf[rows], batch)
        agent = make_agent(config, env, state.replace(params=params))
        grads, losses = jax.grad(_loss, argnums=2, has_aux=True)(config, agent, params, minibatch)
        updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
        return (optax.apply_updates(params, updates), optimizer_state), losses

    orders = jax.vmap(lambda key: jax.random.permutation(key, config.batch_size))(
        jax.random.split(key, config.num_epochs)
    )
    orders = orders.reshape(config.num_epochs * config.num_minibatches, -1)
    (params, optimizer_state), losses = jax.lax.scan(minibatch_step, (state.params, state.optimizer_state), orders)
    return params, optimizer_state, jax.tree.map(jnp.mean, losses)


def _loss(config: Config, agent: Agent, params: VariableDict, batch: Batch) -> tuple[jax.Array, dict[str, jax.Array]]:
    agent = agent.replace(params=params)
    policy, value = agent.policy_and_value(batch.features)
    log_ratio = policy.log_prob(batch.action) - batch.log_prob
    ratio = jnp.exp(log_ratio)
    advantage = batch.advantage
    if config.normalize_advantage:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = jnp.clip(ratio, 1 - config.clip_epsilon, 1 + config.clip_epsilon)
    policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()

    squared_error = (value - batch.target) ** 2
    if config.clip_value:
        near = batch.value + jnp.clip(value - batch.value, -config.clip_epsilon, config.clip_epsilon)
        squared_error = jnp.maximum(squared_error, (near - batch.target) ** 2)
    value_loss = 0.5 * squared_error.mean()

    entropy = policy.entropy().mean()
    loss = policy_loss + config.value_coefficient * value_loss - config.entropy_coefficient * entropy
    return loss, {
        "loss": loss,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "approx_kl": (ratio - 1 - log_ratio).mean(),  # Schulman's low-variance estimate
        "clip_fraction": (jnp.abs(ratio - 1) > config.clip_epsilon).mean(dtype=ratio.dtype),
    }


def _features(space: Space[Any], observation: Any) -> Any:
    return with_channels(observation) if is_picture(space) else flatten(space, observation).astype(float)


def _network(config: Config, env: FuncEnv[Any, Any, Any]) -> ActorCritic:
    return ActorCritic(
        action_size=action_size(env.action_space),
        continuous=isinstance(env.action_space, Box),
        hidden_sizes=config.hidden_sizes,
        activation=config.activation,
        initial_log_std=config.initial_log_std,
        windows=(config.window_sizes, config.window_channels) if is_picture(env.observation_space) else None,
    )


def _learning_rate(config: Config) -> optax.Schedule:
    if not config.anneal_learning_rate:
        return optax.constant_schedule(config.learning_rate)
    return optax.linear_schedule(
        config.learning_rate, 0.0, config.num_updates * config.num_epochs * config.num_minibatches
    )


def _optimizer(config: Config) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.adam(_learning_rate(config), eps=1e-5))
