"""Implicit Q-learning (IQL): learning from a dataset without asking for the value of an action that it lacks.

Kostrikov, Nair and Levine, "Offline reinforcement learning with implicit Q-learning", 2021. The equations in brackets
are those of the paper.

    num_gradient_steps times, draw a minibatch (o, a, r, o') from the dataset and take steps of Adam on
        value    mean |expectile - 1(u < 0)| u^2 with u = min_i Q'_i(o, a) - V(o)                                (5)
        policy   -mean min(exp(inverse_temperature u), 100) log p(a | o)                                         (7)
        critics  mean (Q_i(o, a) - target)^2 / 2 with target = r + gamma V(o'), and without V after termination  (6)
    after each, move the parameters of the target critics Q' towards those of Q

Actions are discrete or continuous; critics take discrete ones as one-hot vectors.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Float

from funcenv.checks import require_at_least, require_probability
from funcenv.datasets.sampler import Transitions
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.actor_critics import Critic, Critics, Torso
from funcenv.train.agents.agent import ActorCriticAgent
from funcenv.train.agents.distributions import action_size, from_env_actions, to_vectors
from funcenv.train.agents.features import to_feature_batch
from funcenv.train.agents.networks import make_encoder
from funcenv.train.algorithms import _offline
from funcenv.train.algorithms._offline import Scalars
from funcenv.train.algorithms.bc import with_fixed_deviation
from funcenv.train.updates.learned import Learned

MAX_WEIGHT = 100.0
"""Bound on the weight of an action in the loss of the policy, that of the paper."""

Agent = ActorCriticAgent
TrainState = _offline.OfflineState


@dataclasses.dataclass(frozen=True)
class Config(_offline.OfflineConfig):
    """The settings of an IQL run; each is a flag of `funcenv train`."""

    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    expectile: float = 0.7
    """which expectile of the values of the dataset's actions a state is worth, in [0, 1]; 0.5 is the mean"""
    inverse_temperature: float = 3.0
    """how much the policy prefers actions that are better than the state's value; 0 clones all actions alike"""
    target_rate: float = 0.005
    """how far the target critics move towards the critics after each gradient step, in [0, 1]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(gamma=self.gamma, expectile=self.expectile, target_rate=self.target_rate)
        require_at_least(0, "inverse_temperature", self.inverse_temperature, remedy="0 clones all actions alike")

    def make_critics(self, env: AnyEnv) -> Critics:
        """Return two critics."""
        torso = Torso(self.hidden_sizes, self.activation, layer_norm=False, dtype=self.dtype)
        return Critics(2, Critic(torso, make_encoder(self, env)))


class Model(PyTreeNode):
    """Parameters of all networks, with the states of their optimizers."""

    actor_critic: Learned  # policy and value of the state
    critics: Learned
    target_critics: VariableDict  # parameters that follow those of the critics


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, critic_key, key = jax.random.split(key, 3)
    features = to_feature_batch(env.observation_space, _offline.sample_observation(env))
    optimizer, action = config.optimizer(), jnp.zeros((1, action_size(env.action_space)))
    actor_critic = Learned.create(optimizer, config.make_network(env).init(params_key, features))
    critics = Learned.create(optimizer, config.make_critics(env).init(critic_key, features, action))
    return _offline.first_state(Model(actor_critic, critics, critics.params), key)


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    params = state.learned.actor_critic.params
    return Agent(params, config.make_network(env), env.observation_space, env.action_space, explore)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, Scalars]:
    """Learn from the dataset; return the next state and the metrics of this update."""
    agent = make_agent(config, env, state)
    return _offline.update(config, env, state, functools.partial(_gradient_step, config, env, agent))


def _gradient_step(
    config: Config, env: AnyEnv, agent: Agent, model: Model, batch: Transitions, key: jax.Array
) -> tuple[Model, Scalars]:
    del key
    critics, optimizer = config.make_critics(env), config.optimizer()
    features = to_feature_batch(env.observation_space, batch.observation)
    raw = from_env_actions(env.action_space, batch.action)
    action = to_vectors(env.action_space, raw)

    value = critics.apply(model.target_critics, features, action)
    loss = functools.partial(actor_critic_loss, config, agent)
    gradient, losses = jax.grad(loss, has_aux=True)(model.actor_critic.params, batch, raw, jnp.asarray(value).min(0))
    actor_critic = model.actor_critic.step(optimizer, gradient)

    following = jax.vmap(agent.replace(params=actor_critic.params).observe)(batch.next_observation)[1]
    target = batch.reward + config.gamma * jnp.where(batch.terminated, 0.0, following)

    def critic_loss(params: VariableDict) -> tuple[jax.Array, Scalars]:
        loss = 0.5 * jnp.square(jnp.asarray(critics.apply(params, features, action)) - target).mean(1).sum()
        return loss, {"critic_loss": loss}

    gradient, critic_losses = jax.grad(critic_loss, has_aux=True)(model.critics.params)
    stepped = model.critics.step(optimizer, gradient)
    target_critics = optax.incremental_update(stepped.params, model.target_critics, config.target_rate)
    return Model(actor_critic, stepped, target_critics), losses | critic_losses


def actor_critic_loss(
    config: Config,
    agent: Agent,
    params: VariableDict,
    batch: Transitions,
    action: jax.Array,
    action_value: Float[Array, "batch"],
) -> tuple[jax.Array, Scalars]:
    """Return the losses of the value and of the policy, added up, and what to report of them.

    Args:
        config: The configuration.
        agent: The agent, whose parameters are replaced by `params`.
        params: Parameters.
        batch: Minibatch.
        action: Raw actions of the minibatch.
        action_value: Their values by the target critics.
    """
    policy, value = jax.vmap(agent.replace(params=params).observe)(batch.observation)
    advantage = action_value - value
    value_loss = expectile_loss(advantage, config.expectile).mean()
    weight = jnp.minimum(jnp.exp(config.inverse_temperature * jax.lax.stop_gradient(advantage)), MAX_WEIGHT)
    policy_loss = -(weight * with_fixed_deviation(policy).log_prob(action)).mean()
    loss = value_loss + policy_loss
    scalars = {"loss": loss, "value_loss": value_loss, "policy_loss": policy_loss, "mean_value": value.mean()}
    return loss, scalars | {"mean_weight": weight.mean()}


def expectile_loss(difference: Float[Array, "batch"], expectile: float) -> Float[Array, "batch"]:
    """Return the squares of differences, weighted by `expectile` above 0 and by 1 - `expectile` below.

    >>> expectile_loss(jnp.array([2.0, -2.0]), 0.75).tolist()
    [3.0, 1.0]
    """
    return jnp.where(difference < 0, 1 - expectile, expectile) * jnp.square(difference)
