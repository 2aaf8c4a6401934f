"""Deep Q-network (DQN), with double, dueling and n-step targets, and quantiles of returns.

Mnih et al., "Human-level control through deep reinforcement learning", 2015; van Hasselt et al., "Deep reinforcement
learning with double Q-learning", 2016; Wang et al., "Dueling network architectures for deep reinforcement learning",
2016; n-step targets as in Hessel et al., "Rainbow", 2018; Dabney et al., "Distributional reinforcement learning with
quantile regression", 2018 (QR-DQN).

    collect num_steps steps in num_envs environments, with random actions in a fraction epsilon of the steps
    add them to the replay buffer
    num_gradient_steps times, draw a minibatch of n-step transitions and take a step of Adam on
        mean huber(Q(observation, action) - target), where
        target = rewards + discount Q'(next observation, argmax_a Q(next observation, a));
        the discount is 0 after termination, and a window ends where an episode ends
    after each, move the parameters of the target network Q' towards those of Q

With num_quantiles, Q and Q' return quantiles of the return of each action. Actions are chosen by their means, and the
loss is that of quantile regression.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Int

from funcenv.checks import require_at_least
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.features import to_feature_batch
from funcenv.train.agents.networks import QNetworkConfig
from funcenv.train.agents.q_agent import EpsilonGreedy, QAgent, QuantileAgent, value_of
from funcenv.train.algorithms import _off_policy
from funcenv.train.algorithms._off_policy import OffPolicyConfig, OffPolicyState, Sample, Scalars
from funcenv.train.algorithms.tqc import quantile_huber_loss
from funcenv.train.updates.collector import Collector
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.learned import Clipped, Learned, flat_optimizer
from funcenv.train.updates.replay_buffer import Transition

TrainState = OffPolicyState


@dataclasses.dataclass(frozen=True)
class Config(EpsilonGreedy, QNetworkConfig, OffPolicyConfig, Clipped):
    """The settings of a DQN run; each is a flag of `funcenv train`."""

    is_double: bool = True
    """choose the next action by the network itself, and evaluate it by the target network"""
    is_dueling: bool = True
    """learn the value of a state and the advantages of its actions apart"""
    num_quantiles: int = 0  # type: ignore[misc]  # no setting of the other algorithms with such a network
    """quantiles of the return of each action; 0 to learn its mean alone"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(0, "num_quantiles", self.num_quantiles, remedy="0 learns the mean alone")

    def optimizer(self) -> optax.GradientTransformation:
        """Return Adam with the annealed learning rate."""
        return flat_optimizer(optax.adam, self.schedule, self.max_grad_norm)


class Model(PyTreeNode):
    """What gradient steps change."""

    q: Learned
    target: VariableDict  # parameters that follow those of the network


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    collector, timestep = Collector.start(env, config.num_envs, env_key)
    features = to_feature_batch(env.observation_space, timestep.observation)
    q = Learned.create(config.optimizer(), config.make_network(env).init(params_key, features))
    action = jnp.zeros(config.num_envs, jnp.int32)
    return _off_policy.first_state(config, Model(q, q.params), collector, timestep, features, action, None, key)


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> QAgent:
    """Return the policy of a train state."""
    kind = QuantileAgent if config.num_quantiles else QAgent
    return kind.of(config, env, state.learned.q.params, state.update, explore, state.observation_moments)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, Scalars]:
    """Collect steps and learn from the replay buffer; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    agent = make_agent(config, env, state, explore=True)

    def act(observation: Any, step_index: jax.Array) -> jax.Array:
        keys = jax.random.split(jax.random.fold_in(collect_key, step_index), config.num_envs)
        return jax.vmap(agent.raw_action)(observation, keys)

    step = functools.partial(_gradient_step, config, agent)
    state, metrics = _off_policy.update(config, env, state.replace(key=key), act, step, learn_key)
    return state, metrics | {"epsilon": agent.epsilon}


def _gradient_step(
    config: Config, agent: QAgent, model: Model, sample: Sample, key: jax.Array, number: jax.Array
) -> tuple[Model, Scalars]:
    del number
    loss = functools.partial(q_loss, config, agent.replace(params=model.q.params), agent.replace(params=model.target))
    gradient, losses = mean_gradients(loss, model.q.params, sample(key))
    q = model.q.step(config.optimizer(), gradient)
    return Model(q, optax.incremental_update(q.params, model.target, config.target_rate)), losses


def q_loss(
    config: Config, agent: QAgent, target_agent: QAgent, params: VariableDict, batch: Transition
) -> tuple[jax.Array, Scalars]:
    """Return the loss of a minibatch, and what to report of it."""
    chooser = agent if config.is_double else target_agent
    next_action = jax.vmap(chooser.values)(batch.next_observation).argmax(-1)
    learning = agent.replace(params=params)
    if isinstance(learning, QuantileAgent) and isinstance(target_agent, QuantileAgent):
        return _quantile_loss(learning, target_agent, batch, next_action)
    next_value = value_of(jax.vmap(target_agent.values)(batch.next_observation), next_action)
    target = batch.reward + batch.discount * next_value
    value = value_of(jax.vmap(learning.values)(batch.observation), batch.action)
    loss = optax.huber_loss(value, target).mean()
    return loss, {"loss": loss, "mean_value": value.mean()}


def _quantile_loss(
    agent: QuantileAgent, target_agent: QuantileAgent, batch: Transition, next_action: Int[Array, "batch"]
) -> tuple[jax.Array, Scalars]:
    """Return the loss of quantile regression, and what to report of it."""
    quantiles_of = jax.vmap(value_of, in_axes=(2, None), out_axes=1)
    following = quantiles_of(jax.vmap(target_agent.quantiles)(batch.next_observation), next_action)
    target = batch.reward[:, None] + batch.discount[:, None] * following
    quantiles = quantiles_of(jax.vmap(agent.quantiles)(batch.observation), batch.action)
    loss = quantile_huber_loss(quantiles, target).mean()
    return loss, {"loss": loss, "mean_value": quantiles.mean()}
