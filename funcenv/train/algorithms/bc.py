"""Behaviour cloning: a policy that takes the actions of a dataset.

    num_gradient_steps times, draw a minibatch from the dataset and take a step of Adam on
        policy  -mean log p(a | o), the cross-entropy of discrete actions, and the squared error of continuous ones

The standard deviation of a policy over continuous actions stays as it is, because the likelihood of data without noise
has no maximum.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
from flax.typing import VariableDict

from funcenv.datasets.sampler import Transitions
from funcenv.func_env import AnyEnv
from funcenv.train.agents.agent import ActorCriticAgent
from funcenv.train.agents.distributions import Distribution, Gaussian, from_env_actions
from funcenv.train.agents.features import to_feature_batch
from funcenv.train.algorithms import _offline
from funcenv.train.algorithms._offline import Scalars
from funcenv.train.updates.learned import Learned

Agent = ActorCriticAgent
TrainState = _offline.OfflineState


@dataclasses.dataclass(frozen=True)
class Config(_offline.OfflineConfig):
    """The settings of a run of behaviour cloning; each is a flag of `funcenv train`."""


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, key = jax.random.split(key)
    features = to_feature_batch(env.observation_space, _offline.sample_observation(env))
    network = Learned.create(config.optimizer(), config.make_network(env).init(params_key, features))
    return _offline.first_state(network, key)


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    return Agent(state.learned.params, config.make_network(env), env.observation_space, env.action_space, explore)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, Scalars]:
    """Learn from the dataset; return the next state and the metrics of this update."""
    agent = make_agent(config, env, state)
    return _offline.update(config, env, state, functools.partial(_gradient_step, config, agent))


def _gradient_step(
    config: Config, agent: Agent, network: Learned, batch: Transitions, key: jax.Array
) -> tuple[Learned, Scalars]:
    del key
    loss = functools.partial(cloning_loss, agent)
    gradient, losses = jax.grad(loss, has_aux=True)(network.params, batch)
    return network.step(config.optimizer(), gradient), losses


def cloning_loss(agent: Agent, params: VariableDict, batch: Transitions) -> tuple[jax.Array, Scalars]:
    """Return the mean negative log-likelihood of the actions, and how far the policy's best actions are from them."""
    policy, _ = jax.vmap(agent.replace(params=params).observe)(batch.observation)
    policy, action = with_fixed_deviation(policy), from_env_actions(agent.action_space, batch.action)
    loss = -policy.log_prob(action).mean()
    return loss, {"loss": loss, "action_error": abs(policy.mode() - action).astype(float).mean()}


def with_fixed_deviation(policy: Distribution) -> Any:
    """Return a policy whose standard deviation gets no gradient."""
    if isinstance(policy, Gaussian):
        return policy.replace(log_std=jax.lax.stop_gradient(policy.log_std))
    return policy
