"""Proximal policy optimization (PPO).

Schulman et al., "Proximal policy optimization algorithms", 2017, with implementation details from Huang et al., "The
37 implementation details of proximal policy optimization", 2022.

The file reads from top to bottom: the configuration, the state of training, the agent, and one update.

    collect num_steps steps in num_envs environments
    compute advantages by GAE: bootstrap where an episode was truncated, not where it terminated
    for num_epochs passes over the batch, for each of num_minibatches minibatches, take a step of Adam on
        policy loss  - mean min(ratio A, clip(ratio, 1 - epsilon, 1 + epsilon) A)
        value loss   value_coefficient mean (V - target)^2 / 2
        entropy      - entropy_coefficient mean entropy
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax.typing import VariableDict
from jaxtyping import Array, Bool, Float, Int, Key

from funcenv.checks import require_size
from funcenv.func_env import AnyEnv
from funcenv.moments import RunningMoments
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.train.advantages import generalized_advantages
from funcenv.train.collect import Experience, collect
from funcenv.train.config import require_fraction
from funcenv.train.distributions import Distribution, restrict, to_env_action
from funcenv.train.gradients import mean_gradients
from funcenv.train.networks import NetworkConfig, to_features
from funcenv.train.observations import adapt_env, legal_actions
from funcenv.train.recent_episodes import RecentEpisodes
from funcenv.train.supported_actions import require_actions
from funcenv.vector import FuncVectorEnv, VectorState, VectorTimestep


@dataclasses.dataclass(frozen=True)
class Config(NetworkConfig):
    """The settings of a PPO run; each is a flag of `funcenv train`."""

    num_epochs: int = 4
    """passes over each batch"""
    num_minibatches: int = 4
    """minibatches in a batch; divides num_envs * num_steps"""
    learning_rate: float = 1e-3
    """step size of Adam"""
    anneal_learning_rate: bool = True
    """decrease the learning rate linearly to 0 over the run"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    gae_lambda: float = 0.95
    """lambda of generalized advantage estimation, in [0, 1]"""
    clip_epsilon: float = 0.2
    """range around 1 that the policy's probability ratio is clipped to"""
    clip_value: bool = False
    """clip the change of the value function to the same range"""
    entropy_coefficient: float = 0.01
    """weight of the entropy bonus"""
    value_coefficient: float = 0.5
    """weight of the value loss"""
    max_grad_norm: float = 0.5
    """global norm that gradients are clipped to"""
    normalize_advantage: bool = True
    """normalize advantages to mean 0 and variance 1 in each minibatch"""
    normalize_observation: bool = False
    """normalize observations by their running mean and variance"""
    normalize_reward: bool = True
    """divide rewards by the running standard deviation of the discounted return"""
    initial_log_std: float = 0.0
    """log standard deviation of a new policy over continuous actions, in units of half the action's range"""

    def __post_init__(self) -> None:
        for name in ("num_envs", "num_steps", "num_epochs", "num_minibatches"):
            require_size(name, getattr(self, name))
        for name in ("gamma", "gae_lambda"):
            require_fraction(name, getattr(self, name))
        if self.batch_size % self.num_minibatches:
            raise ValueError(
                f"num_minibatches must divide num_envs * num_steps, got {self.num_minibatches} for "
                f"{self.num_envs} * {self.num_steps} = {self.batch_size}"
            )
        super().__post_init__()

    def check_actions(self, space: AnySpace) -> None:
        """Raise `ValueError` unless PPO takes the actions of a space."""
        require_actions("ppo", space)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    params: VariableDict
    optimizer_state: optax.OptState
    vstate: VectorState[Any]
    observation: Any  # the latest observation of each environment
    observation_moments: RunningMoments
    discounted_return: Float[Array, "num_envs"]  # running discounted return, which scales rewards
    return_moments: RunningMoments
    episodes: RecentEpisodes
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Batch(PyTreeNode):
    """What the loss needs of each step; leading axes `[num_steps, num_envs]`, or their product."""

    features: jax.Array
    legal: Bool[Array, "... num_actions"] | None  # which actions were legal, if the environment tells
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    advantage: jax.Array
    target: jax.Array


AnyBatch = TypeVar("AnyBatch", bound=Batch)
Loss = Callable[[VariableDict, AnyBatch], tuple[jax.Array, dict[str, jax.Array]]]


class Agent(PyTreeNode):
    """A policy: `agent(observation, key) -> action`, deterministic unless `explore` is set.

    The leaves of this pytree are the trained parameters. `funcenv.rollout` and `funcenv.evaluate` therefore compile
    once for all agents that differ only in parameters. `jax.jit(agent)` makes them constants of the compiled function.
    """

    params: VariableDict
    observation_moments: RunningMoments
    network: nn.Module = field(pytree_node=False)
    observation_space: AnySpace = field(pytree_node=False)
    action_space: AnySpace = field(pytree_node=False)
    normalize_observation: bool = field(pytree_node=False)
    explore: bool = field(pytree_node=False, default=False)

    # A function that jax.jit compiles must have a hash, which the fields of a dataclass, arrays, have not.
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def features(self, observation: Any) -> jax.Array:
        """Return the network's input for one observation: `[n]`, or `[height, width, channels]` for an image."""
        features = to_features(self.observation_space, observation)
        return self.observation_moments.normalize(features.astype(float)) if self.normalize_observation else features

    def legal(self, observation: Any) -> Bool[Array, "num_actions"] | None:
        """Return which actions are legal for one observation; None if it has no mask."""
        return legal_actions(self.observation_space, observation)

    def policy_and_value(self, features: Any, legal: Any = None) -> tuple[Distribution, Float[Array, "*batch"]]:
        """Return the distribution over raw actions, those that are legal, and the value of the state."""
        output: Any = self.network.apply(self.params, features)
        policy, value = output
        return restrict(policy, legal), value

    def policy(self, features: Any, legal: Any = None) -> Distribution:
        """Return the distribution over raw actions, those that are legal."""
        return self.policy_and_value(features, legal)[0]

    def value(self, features: Any) -> Float[Array, "*batch"]:
        """Return the value of the state."""
        return self.policy_and_value(features)[1]

    def adapt_env(self, env: AnyEnv) -> AnyEnv:
        """Return an environment with the observations that this policy takes; `evaluate` and `record` call it."""
        return adapt_env(env, self.observation_space)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation."""
        policy = self.policy(self.features(observation), self.legal(observation))
        return to_env_action(self.action_space, policy.sample(key) if self.explore else policy.mode())


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    vstate, timestep = FuncVectorEnv(env, config.num_envs).reset(env_key)
    features = jax.vmap(functools.partial(to_features, env.observation_space))(timestep.observation)
    params = config.make_network(env).init(params_key, features)
    return first_state(config, params, vstate, timestep, features, key)


def first_state(
    config: Config,
    params: VariableDict,
    vstate: VectorState[Any],
    timestep: VectorTimestep[Any],
    features: Float[Array, "num_envs ..."],
    key: Key[Array, ""],
) -> TrainState:
    """Return the train state of new parameters in environments that have just been reset."""
    return TrainState(
        params=params,
        optimizer_state=_optimizer(config).init(params),
        vstate=vstate,
        observation=timestep.observation,
        observation_moments=RunningMoments.empty(features.shape[1:]),
        discounted_return=jnp.zeros_like(timestep.reward),
        return_moments=RunningMoments.empty(()),
        episodes=RecentEpisodes.empty(),
        key=key,
        update=jnp.zeros((), jnp.int32),
    )


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    return Agent(
        params=state.params,
        observation_moments=state.observation_moments,
        network=config.make_network(env),
        observation_space=env.observation_space,
        action_space=env.action_space,
        normalize_observation=config.normalize_observation,
        explore=explore,
    )


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    state, batch = _collect(config, env, state, collect_key)
    loss = functools.partial(_loss, config, make_agent(config, env, state))
    return learn(config, state.replace(key=key), batch, loss, learn_key)


def learn(
    config: Config, state: TrainState, batch: AnyBatch, loss: Loss[AnyBatch], key: jax.Array
) -> tuple[TrainState, dict[str, jax.Array]]:
    """Take `num_epochs` passes over a batch, each in a new order; return the next state and the metrics.

    Args:
        config: The configuration.
        state: The state after the batch was collected.
        batch: What minibatches are rows of: the leading axis of all leaves.
        loss: From parameters and a minibatch, with its advantages normalized, to the loss and its parts.
        key: Determines the orders.
    """
    optimizer, num_rows = _optimizer(config), len(batch.value)

    def minibatch_step(carry: Any, rows: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        params, optimizer_state = carry
        minibatch = jax.tree.map(lambda leaf: leaf[rows], batch)
        if config.normalize_advantage:
            minibatch = minibatch.replace(advantage=_normalized(minibatch.advantage))
        grads, losses = mean_gradients(loss, params, minibatch)
        updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
        return (optax.apply_updates(params, updates), optimizer_state), losses

    orders = jax.vmap(lambda key: jax.random.permutation(key, num_rows))(jax.random.split(key, config.num_epochs))
    orders = orders.reshape(config.num_epochs * config.num_minibatches, -1)
    (params, optimizer_state), losses = jax.lax.scan(minibatch_step, (state.params, state.optimizer_state), orders)
    metrics = {
        "env_steps": (state.update + 1) * config.batch_size,
        **state.episodes.metrics(),
        **jax.tree.map(jnp.mean, losses),
        "explained_variance": 1 - jnp.var(batch.target - batch.value) / (jnp.var(batch.target) + 1e-8),
        "learning_rate": jnp.asarray(_learning_rate(config)(state.update * config.num_epochs * config.num_minibatches)),
    }
    return state.replace(params=params, optimizer_state=optimizer_state, update=state.update + 1), metrics


def _collect(config: Config, env: AnyEnv, state: TrainState, key: jax.Array) -> tuple[TrainState, Batch]:
    """Take `num_steps` steps with the current policy and compute their advantages."""
    agent = make_agent(config, env, state)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        features, legal = jax.vmap(agent.features)(observation), jax.vmap(agent.legal)(observation)
        action = agent.policy(features, legal).sample(jax.random.fold_in(key, step_index))
        return jax.vmap(functools.partial(to_env_action, env.action_space))(action), (features, legal, action)

    vstate, observation, experience = collect(env, act, state.vstate, state.observation, config.num_steps)
    features, legal, action = experience.extras

    # One forward pass over all steps is cheaper than a small one in each step.
    final_features = jax.vmap(jax.vmap(agent.features))(experience.timestep.final_observation)
    policy, value = agent.policy_and_value(features, legal)
    state, advantage = judge(config, env, state, experience, value, agent.value(final_features))
    state = state.replace(vstate=vstate, observation=observation)
    batch = Batch(features, legal, action, policy.log_prob(action), value, advantage, target=advantage + value)
    return state, jax.tree.map(lambda leaf: leaf.reshape(config.batch_size, *leaf.shape[2:]), batch)


def judge(
    config: Config,
    env: AnyEnv,
    state: TrainState,
    experience: Experience,
    value: Float[Array, "num_steps num_envs"],
    final_value: Float[Array, "num_steps num_envs"],
) -> tuple[TrainState, Float[Array, "num_steps num_envs"]]:
    """Return the state with the running figures of collected steps, and the advantages of their actions.

    Args:
        config: The configuration.
        env: The environment.
        state: The state before the steps.
        experience: The steps.
        value: The values of their observations.
        final_value: The values of the observations after them, before any reset.
    """
    timestep = experience.timestep
    reward, discounted_return, return_moments = _scaled_rewards(config, state, timestep)
    advantage = generalized_advantages(
        reward, value, final_value, timestep.terminated, timestep.done, config.gamma, config.gae_lambda
    )
    if config.normalize_observation:
        features = jax.vmap(jax.vmap(functools.partial(to_features, env.observation_space)))(experience.observation)
        state = state.replace(observation_moments=state.observation_moments.update(features.astype(float)))
    episodes = state.episodes.add_steps(timestep)
    return state.replace(
        discounted_return=discounted_return, return_moments=return_moments, episodes=episodes
    ), advantage


def _scaled_rewards(config: Config, state: TrainState, timestep: Any) -> tuple[jax.Array, jax.Array, RunningMoments]:
    """Return the rewards divided by the running deviation of the discounted return, and its next running values."""
    if not config.normalize_reward:
        return timestep.reward, state.discounted_return, state.return_moments

    def step(discounted_return: jax.Array, row: Any) -> tuple[jax.Array, jax.Array]:
        reward, done = row
        discounted_return = config.gamma * discounted_return + reward
        return jnp.where(done, 0, discounted_return), discounted_return

    discounted_return, returns = jax.lax.scan(step, state.discounted_return, (timestep.reward, timestep.done))
    moments = state.return_moments.update(returns)
    return moments.scale(timestep.reward), discounted_return, moments


def _normalized(advantage: jax.Array) -> jax.Array:
    return (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def _loss(config: Config, agent: Agent, params: VariableDict, batch: Batch) -> tuple[jax.Array, dict[str, jax.Array]]:
    policy, value = agent.replace(params=params).policy_and_value(batch.features, batch.legal)
    return clipped_loss(config, policy, value, batch)


def clipped_loss(
    config: Config, policy: Distribution, value: Float[Array, "*batch"], batch: Batch
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return the loss of PPO and its parts, given the policy and the values that the parameters now have."""
    log_ratio = policy.log_prob(batch.action) - batch.log_prob
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - config.clip_epsilon, 1 + config.clip_epsilon)
    policy_loss = -jnp.minimum(ratio * batch.advantage, clipped * batch.advantage).mean()

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


def _learning_rate(config: Config) -> optax.Schedule:
    if not config.anneal_learning_rate:
        return optax.constant_schedule(config.learning_rate)
    return optax.linear_schedule(
        config.learning_rate, 0.0, config.num_updates * config.num_epochs * config.num_minibatches
    )


def _optimizer(config: Config) -> optax.GradientTransformation:
    adam = optax.adam(_learning_rate(config), eps=1e-5)
    # On one long vector, as a dozen small kernels for each layer take longer to compile and to run.
    return optax.flatten(optax.chain(optax.clip_by_global_norm(config.max_grad_norm), adam))
