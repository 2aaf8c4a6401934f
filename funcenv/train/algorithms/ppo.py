"""Proximal policy optimization (PPO).

Schulman et al., "Proximal policy optimization algorithms", 2017, with implementation details from Huang et al., "The
37 implementation details of proximal policy optimization", 2022.

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
from flax.typing import VariableDict
from jaxtyping import Array, Bool, Float, Int, Key

from funcenv.checks import require_at_least, require_positive, require_probability
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.agent import ActorCriticAgent
from funcenv.train.agents.distributions import Distribution, to_env_actions
from funcenv.train.agents.features import empty_moments, to_feature_batch, update_moments
from funcenv.train.agents.networks import NetworkConfig
from funcenv.train.shares import mean_over_rows, on_shares
from funcenv.train.updates.advantages import generalized_advantages
from funcenv.train.updates.blocks import rows_of_envs
from funcenv.train.updates.collector import Collector, Experience
from funcenv.train.updates.epochs import Minibatches, scan_minibatches
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.learned import Learned, flat_optimizer
from funcenv.train.updates.reward_scale import RewardScale

Agent = ActorCriticAgent


@dataclasses.dataclass(frozen=True)
class Config(Minibatches, NetworkConfig):
    """The settings of a PPO run; each is a flag of `funcenv train`."""

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
        super().__post_init__()
        require_positive(clip_epsilon=self.clip_epsilon)
        for name in ("entropy_coefficient", "value_coefficient"):
            require_at_least(0, name, getattr(self, name), remedy="0 leaves the term out")
        require_probability(gamma=self.gamma, gae_lambda=self.gae_lambda)

    def optimizer(self) -> optax.GradientTransformation:
        """Return Adam with the annealed learning rate."""
        return flat_optimizer(functools.partial(optax.adam, eps=1e-5), self.schedule, self.max_grad_norm)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    network: Learned
    collector: Collector
    observation_moments: Any  # those of the features
    reward_scale: RewardScale
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
AnyState = TypeVar("AnyState", bound=TrainState)
Loss = Callable[[VariableDict, AnyBatch], tuple[jax.Array, dict[str, jax.Array]]]


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    return first_state(config, env, key, lambda collector, features: (features,))


def first_state(
    config: Config, env: AnyEnv, key: jax.Array, network_inputs: Callable[[Collector, jax.Array], tuple[Any, ...]]
) -> TrainState:
    """Return a new train state, given what a network takes: of the environments and the features of all of them."""
    params_key, env_key, key = jax.random.split(key, 3)
    collector, timestep = Collector.start(env, config.num_envs, env_key)
    features = to_feature_batch(env.observation_space, timestep.observation)
    params = config.make_network(env).init(params_key, *network_inputs(collector, features))
    return TrainState(
        network=Learned.create(config.optimizer(), params),
        collector=collector,
        observation_moments=empty_moments(features),
        reward_scale=RewardScale.empty(timestep.reward),
        key=key,
        update=jnp.zeros((), jnp.int32),
    )


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    moments = state.observation_moments if config.normalize_observation else None
    network = config.make_network(env)
    return Agent(state.network.params, network, env.observation_space, env.action_space, explore, moments)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    agent = make_agent(config, env, state)
    state, batch = collect(config, env, agent, state, collect_key)
    return learn(config, state.replace(key=key), batch, functools.partial(loss, config, agent), learn_key)


def learn(
    config: Config, state: AnyState, batch: AnyBatch, loss: Loss[AnyBatch], key: jax.Array
) -> tuple[AnyState, dict[str, jax.Array]]:
    """Take `num_epochs` passes over a batch, each in a new order; return the next state and the metrics.

    Args:
        config: The configuration.
        state: The state after the batch was collected.
        batch: What minibatches are rows of: the leading axis of all leaves.
        loss: From parameters and a minibatch, with its advantages normalized, to the loss and its parts.
        key: Determines the orders.
    """
    center = batch.advantage.mean()

    def step(network: Learned, minibatch: AnyBatch) -> tuple[Learned, dict[str, jax.Array]]:
        if config.normalize_advantage:
            minibatch = minibatch.replace(advantage=_normalized(minibatch.advantage, center))
        gradient, losses = mean_gradients(loss, network.params, minibatch)
        return network.step(config.optimizer(), gradient), losses

    network, losses = scan_minibatches(config, step, state.network, batch, key)
    metrics = {
        **state.collector.metrics(config, state.update),
        **losses,
        "explained_variance": 1 - jnp.var(batch.target - batch.value) / (jnp.var(batch.target) + 1e-8),
        "learning_rate": config.learning_rate_in(state.update),
    }
    return state.replace(network=network, update=state.update + 1), metrics


def collect(config: Config, env: AnyEnv, agent: Agent, state: AnyState, key: jax.Array) -> tuple[AnyState, Batch]:
    """Take `num_steps` steps with a policy and compute their advantages."""

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        features, legal = jax.vmap(agent.features)(observation), jax.vmap(agent.legal)(observation)
        action = agent.policy(features, legal).sample(jax.random.fold_in(key, step_index))
        return to_env_actions(env.action_space, action), (features, legal, action)

    collector, experience = state.collector.run(env, act, config.num_steps)
    features, legal, action = experience.extras

    # One forward pass over all steps is cheaper than a small one in each step.
    def look_back(agent: Agent, extras: Any, final_observation: Any) -> tuple[jax.Array, ...]:
        features, legal, action = extras
        policy, value = agent.policy_and_value(features, legal)
        final_value = agent.value(jax.vmap(jax.vmap(agent.features))(final_observation))
        return policy.log_prob(action), value, final_value

    final_observation = experience.timestep.final_observation
    log_prob, value, final_value = on_shares(look_back, experience.extras, final_observation, common=(agent,), axis=1)
    state = state.replace(collector=collector)
    state, advantage = estimate_advantages(config, env, state, experience, value, final_value)
    return state, rows_of_envs(Batch(features, legal, action, log_prob, value, advantage, target=advantage + value))


def estimate_advantages(
    config: Config,
    env: AnyEnv,
    state: AnyState,
    experience: Experience,
    value: Float[Array, "num_steps num_envs"],
    final_value: Float[Array, "num_steps num_envs"],
) -> tuple[AnyState, Float[Array, "num_steps num_envs"]]:
    """Return the advantages of collected actions, and the state with the running moments after these steps.

    Args:
        config: The configuration.
        env: The environment.
        state: The state before the steps.
        experience: The steps.
        value: The values of their observations.
        final_value: The values of the observations after them, before any reset.
    """
    timestep = experience.timestep
    reward = timestep.reward
    if config.normalize_reward:
        reward_scale, reward = state.reward_scale.scale(reward, timestep.done, config.gamma)
        state = state.replace(reward_scale=reward_scale)
    if config.normalize_observation:
        moments = update_moments(state.observation_moments, env.observation_space, experience.observation)
        state = state.replace(observation_moments=moments)
    return state, generalized_advantages(
        reward, value, final_value, timestep.terminated, timestep.done, config.gamma, config.gae_lambda
    )


def _normalized(advantage: Float[Array, "*rows"], center: Float[Array, ""]) -> Float[Array, "*rows"]:
    """Return advantages with mean 0 and variance 1.

    Mean and variance come from one reduction over the devices, as means of distances and of squared distances from
    `center`. It is near the mean, or the difference of two large numbers would have few digits.
    """
    distance = advantage - center

    def moments(distance: jax.Array) -> tuple[jax.Array, jax.Array]:
        return distance.mean(), (distance**2).mean()

    mean, mean_square = mean_over_rows(moments, distance)
    deviation = jnp.sqrt(jnp.maximum(mean_square - mean**2, 0))
    return (distance - mean) / (deviation + 1e-8)


def loss(config: Config, agent: Agent, params: VariableDict, batch: Batch) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return the loss of a minibatch and its parts."""
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
