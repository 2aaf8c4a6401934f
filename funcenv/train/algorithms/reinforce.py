"""REINFORCE with a baseline: the policy gradient in its simplest form.

Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement learning", 1992; Sutton and
Barto, "Reinforcement learning", 2018, section 13.4. This is the shortest algorithm here, and an example to start from.

    collect num_steps steps in num_envs environments
    compute returns to the end of each episode; where it was truncated, or goes on after the batch, add the baseline
    take one step of Adam on
        policy    - mean log p(action) (return - V)
        baseline  value_coefficient mean (V - return)^2 / 2
        entropy   - entropy_coefficient mean entropy
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_at_least, require_positive, require_probability
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.agent import ActorCriticAgent
from funcenv.train.agents.distributions import to_env_actions
from funcenv.train.agents.features import to_feature_batch
from funcenv.train.agents.networks import NetworkConfig
from funcenv.train.shares import on_shares
from funcenv.train.updates.collector import Collector, Experience
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.learned import Learned, flat_optimizer
from funcenv.train.updates.returns import lambda_returns

Agent = ActorCriticAgent


@dataclasses.dataclass(frozen=True)
class Config(NetworkConfig):
    """The settings of a REINFORCE run; each is a flag of `funcenv train`."""

    learning_rate: float = 3e-3
    """step size of Adam"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    value_coefficient: float = 0.01
    """weight of the loss of the baseline"""
    entropy_coefficient: float = 0.01
    """weight of the entropy bonus"""
    max_grad_norm: float = 0.5
    """global norm that gradients are clipped to"""
    initial_log_std: float = 0.0
    """log standard deviation of a new policy over continuous actions, in units of half the action's range"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(learning_rate=self.learning_rate, max_grad_norm=self.max_grad_norm)
        for name in ("entropy_coefficient", "value_coefficient"):
            require_at_least(0, name, getattr(self, name), remedy="0 leaves the term out")
        require_probability(gamma=self.gamma)

    def optimizer(self) -> optax.GradientTransformation:
        """Return Adam."""
        return flat_optimizer(optax.adam, self.learning_rate, self.max_grad_norm)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    network: Learned
    collector: Collector
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    collector, timestep = Collector.start(env, config.num_envs, env_key)
    features = to_feature_batch(env.observation_space, timestep.observation)
    network = Learned.create(config.optimizer(), config.make_network(env).init(params_key, features))
    return TrainState(network, collector, key, update=jnp.zeros((), jnp.int32))


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    return Agent(state.network.params, config.make_network(env), env.observation_space, env.action_space, explore)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    act_key, key = jax.random.split(state.key)
    agent = make_agent(config, env, state)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        policy, _ = jax.vmap(agent.observe)(observation)
        action = policy.sample(jax.random.fold_in(act_key, step_index))
        return to_env_actions(env.action_space, action), action

    collector, batch = state.collector.run(env, act, config.num_steps)
    timestep = batch.timestep
    next_value = on_shares(_values, timestep.final_observation, common=(agent,), axis=1)
    returns = lambda_returns(timestep.reward, next_value, timestep.terminated, timestep.done, config.gamma, 1.0)
    loss = functools.partial(policy_gradient_loss, config, agent)
    gradient, losses = mean_gradients(loss, state.network.params, (batch, returns), axis=1)
    network = state.network.step(config.optimizer(), gradient)
    metrics = {**collector.metrics(config, state.update), **losses}
    return TrainState(network, collector, key, state.update + 1), metrics


def _values(agent: Agent, observation: Any) -> Float[Array, "num_steps num_envs"]:
    """Return the values of observations `[num_steps, num_envs, ...]`."""
    return jax.vmap(jax.vmap(agent.observe))(observation)[1]


def policy_gradient_loss(
    config: Config, agent: Agent, params: VariableDict, rows: tuple[Experience, Float[Array, "num_steps num_envs"]]
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return the loss and its parts, given the experience and the returns that followed each step."""
    batch, returns = rows
    policy, value = jax.vmap(jax.vmap(agent.replace(params=params).observe))(batch.observation)
    advantage = returns - jax.lax.stop_gradient(value)
    policy_loss = -(policy.log_prob(batch.extras) * advantage).mean()
    value_loss = 0.5 * jnp.square(value - returns).mean()
    entropy = policy.entropy().mean()
    loss = policy_loss + config.value_coefficient * value_loss - config.entropy_coefficient * entropy
    return loss, {"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
