"""Parallelised Q-network (PQN): Q-learning in many environments, without a replay buffer and without a target network.

Gallici et al., "Simplifying deep temporal difference learning", 2025. Layer normalization takes the place of the target
network, and many environments that of the replay buffer.

    collect num_steps steps in num_envs environments, with random actions in a fraction epsilon of the steps
    compute Q(lambda) targets, with the highest action value as the value of a state:
        bootstrap where an episode was truncated, not where it terminated
    for num_epochs passes over the batch, for each of num_minibatches minibatches, take a step of rectified Adam on
        mean (Q(observation, action) - target)^2 / 2
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_positive, require_probability
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.distributions import to_env_actions
from funcenv.train.agents.features import empty_moments, to_feature_batch, update_moments
from funcenv.train.agents.networks import NetworkConfig, QNetworkConfig
from funcenv.train.agents.q_agent import EpsilonGreedy, QAgent, value_of
from funcenv.train.shares import on_shares
from funcenv.train.updates.blocks import rows_of_envs
from funcenv.train.updates.collector import Collector
from funcenv.train.updates.epochs import Minibatches, scan_minibatches
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.learned import Learned, flat_optimizer
from funcenv.train.updates.returns import lambda_returns


@dataclasses.dataclass(frozen=True)
class Config(EpsilonGreedy, QNetworkConfig, Minibatches, NetworkConfig):
    """The settings of a PQN run; each is a flag of `funcenv train`."""

    num_envs: int = 32
    """environments that are stepped in parallel"""
    num_steps: int = 32
    """steps of each environment between updates"""
    num_minibatches: int = 8
    """minibatches in a batch; divides num_envs * num_steps"""
    learning_rate: float = 5e-4
    """step size of rectified Adam"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    q_lambda: float = 0.65
    """lambda of the Q(lambda) targets, in [0, 1]"""
    reward_scale: float = 1.0
    """factor of the rewards that are learned from"""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """widths of the hidden layers; none for values that are linear in the features"""
    layer_norm: bool = True
    """normalize the inputs of each activation function"""
    normalize_observation: bool = False
    """normalize observations by their running mean and variance"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(reward_scale=self.reward_scale)
        require_probability(gamma=self.gamma, q_lambda=self.q_lambda)

    def optimizer(self) -> optax.GradientTransformation:
        """Return rectified Adam with the annealed learning rate."""
        return flat_optimizer(optax.radam, self.schedule, self.max_grad_norm)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    q: Learned
    collector: Collector
    observation_moments: Any  # those of the features; None where observations are not normalized
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Batch(NamedTuple):
    """What the loss needs of each step; a leading axis `[num_envs * num_steps]`."""

    observation: Any
    action: Int[Array, "..."]  # an index, which counts from 0
    target: Float[Array, "..."]


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    collector, timestep = Collector.start(env, config.num_envs, env_key)
    features = to_feature_batch(env.observation_space, timestep.observation)
    q = Learned.create(config.optimizer(), config.make_network(env).init(params_key, features))
    moments = empty_moments(features) if config.normalize_observation else None
    return TrainState(q, collector, moments, key, update=jnp.zeros((), jnp.int32))


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> QAgent:
    """Return the policy of a train state."""
    return QAgent.of(config, env, state.q.params, state.update, explore, state.observation_moments)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    agent = make_agent(config, env, state, explore=True)
    state, batch = _collect(config, env, agent, state, collect_key)

    def step(q: Learned, minibatch: Batch) -> tuple[Learned, dict[str, jax.Array]]:
        gradient, losses = mean_gradients(lambda params, rows: q_loss(agent, params, rows), q.params, minibatch)
        return q.step(config.optimizer(), gradient), losses

    q, losses = scan_minibatches(config, step, state.q, batch, learn_key)
    metrics = {**state.collector.metrics(config, state.update), **losses, "epsilon": agent.epsilon}
    return state.replace(q=q, key=key, update=state.update + 1), metrics


def _collect(config: Config, env: AnyEnv, agent: QAgent, state: TrainState, key: jax.Array) -> tuple[TrainState, Batch]:
    """Take `num_steps` steps with a policy and compute their targets."""

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        keys = jax.random.split(jax.random.fold_in(key, step_index), config.num_envs)
        action = jax.vmap(agent.raw_action)(observation, keys)
        return to_env_actions(env.action_space, action), action

    collector, (observation, action, timestep) = state.collector.run(env, act, config.num_steps)
    next_value = on_shares(_highest_values, timestep.final_observation, common=(agent,), axis=1)
    reward = config.reward_scale * timestep.reward
    target = lambda_returns(reward, next_value, timestep.terminated, timestep.done, config.gamma, config.q_lambda)
    moments = update_moments(state.observation_moments, env.observation_space, observation)
    state = state.replace(collector=collector, observation_moments=moments)
    return state, rows_of_envs(Batch(observation, action, target))


def _highest_values(agent: QAgent, observation: Any) -> Float[Array, "num_steps num_envs"]:
    """Return the highest action values of observations `[num_steps, num_envs, ...]`."""
    return jax.vmap(jax.vmap(agent.values))(observation).max(-1)


def q_loss(agent: QAgent, params: VariableDict, batch: Batch) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return half the mean squared error of the chosen action values, and what to report."""
    value = value_of(jax.vmap(agent.replace(params=params).values)(batch.observation), batch.action)
    loss = 0.5 * jnp.mean((value - batch.target) ** 2)
    return loss, {"loss": loss, "mean_value": value.mean()}
