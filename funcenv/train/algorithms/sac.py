"""Soft actor-critic (SAC), in many environments and with n-step targets.

Haarnoja et al., "Soft actor-critic algorithms and applications", 2018: two critics, and a temperature that is learned.

    collect num_steps steps in num_envs environments with actions drawn from the policy, and add them to the buffer
    num_gradient_steps times, draw a minibatch of n-step transitions and take steps of Adam on
        critics      mean (Q_i(o, a) - target)^2 / 2, where a' is drawn from the policy in the next observation o' and
                     target = rewards + discount (min_i Q'_i(o', a') - temperature log p(a'));
                     the discount is 0 after termination, and a window ends where an episode ends
        actor        mean (temperature log p(a) - min_i Q_i(o, a)), where a is drawn from the policy
        temperature  log temperature (entropy of the policy - target entropy)
    after each step of the critics, move the parameters of the target critics Q' towards those of Q
With critic_steps above 1, the critics learn from further minibatches before the one that all three learn from.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int

from funcenv.checks import require_positive, require_size
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.actor_critics import GaussianActorAgent
from funcenv.train.agents.distributions import action_size
from funcenv.train.agents.networks import NetworkFunction
from funcenv.train.algorithms import _off_policy
from funcenv.train.algorithms._off_policy import Sample, Scalars
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.learned import Learned
from funcenv.train.updates.replay_buffer import Transition

Agent = GaussianActorAgent
TrainState = _off_policy.OffPolicyState


@dataclasses.dataclass(frozen=True)
class Config(_off_policy.ActorCriticsConfig):
    """The settings of an SAC run; each is a flag of `funcenv train`."""

    n_step: int = 1
    """rewards in a target, fewer where the episode ends; their entropy is not counted"""
    critic_steps: int = 1
    """minibatches in a gradient step that critics learn from, of which the actor learns from the last"""
    initial_temperature: float = 1.0
    """weight of the entropy at the beginning"""
    target_entropy: float = 1.0
    """entropy that the temperature aims at, in units of minus one nat for each element of the action"""
    target_entropy_growth: float = 0.0
    """how much target_entropy grows over the run, linearly: above 0, actions get less and less random"""
    network: NetworkFunction = "funcenv.train.agents.actor_critics:make_gaussian_actor_critics"
    """function (config, env) that returns the networks, as "module:function\""""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("critic_steps", self.critic_steps)
        require_positive(initial_temperature=self.initial_temperature)

    @property
    def num_critic_steps(self) -> int:
        """Steps of the critics' optimizer in the whole run."""
        return self.num_optimizer_steps * self.critic_steps

    def target_entropy_at(self, number: Int[Array, ""]) -> Float[Array, ""]:
        """Return the target entropy at a gradient step of the run, in units as that of the beginning."""
        progress = number / (self.num_updates * self.num_gradient_steps)
        return self.target_entropy + self.target_entropy_growth * progress

    def target_values(self, values: Float[Array, "num_critics batch"]) -> Float[Array, "batch"]:
        """Return what targets take of the values that the target critics give the next actions: the least."""
        return values.min(0)

    def actor_values(self, values: Float[Array, "num_critics batch"]) -> Float[Array, "batch"]:
        """Return what the actor raises of the values that the critics give its actions: the same as targets take."""
        return self.target_values(values)

    def critic_loss(self, values: Float[Array, "num_critics batch"], target: Float[Array, "batch"]) -> Any:
        """Return the loss of the critics, and what to report of it."""
        return _off_policy.critic_loss(values, target)


class Model(PyTreeNode):
    """What gradient steps change."""

    actor: Learned
    critics: Learned
    target_critics: VariableDict  # parameters that follow those of the critics
    log_temperature: Learned


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    temperature = Learned.create(config.optimizer(), jnp.log(jnp.asarray(config.initial_temperature, float)))
    make_model = lambda actor, critics: Model(actor, critics, critics.params, temperature)  # noqa: E731
    return _off_policy.init_actor_critics(config, env, key, make_model)


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    actor = config.make_network(env).actor
    moments = state.observation_moments
    return Agent(state.learned.actor.params, actor, env.observation_space, env.action_space, explore, moments)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, Scalars]:
    """Collect steps and learn from the replay buffer; return the next state and the metrics of this update."""
    agent = make_agent(config, env, state)

    def act(observation: Any, noise: jax.Array) -> jax.Array:
        return agent.policy(jax.vmap(agent.features)(observation)).transform(noise)[0]

    return _off_policy.update_actor_critics(
        config, env, state, act, functools.partial(_gradient_step, config, env, agent)
    )


def _gradient_step(
    config: Config, env: AnyEnv, agent: Agent, model: Model, sample: Sample, key: jax.Array, number: jax.Array
) -> tuple[Model, Scalars]:
    networks, optimizer = config.make_network(env), config.optimizer()
    for index in range(1, config.critic_steps):
        model, _, _ = _critic_step(config, env, agent, model, sample, *jax.random.split(jax.random.fold_in(key, index)))
    sample_key, target_key, actor_key = jax.random.split(key, 3)
    model, batch, losses = _critic_step(config, env, agent, model, sample, sample_key, target_key)
    actor_noise = jax.random.normal(actor_key, batch.action.shape)

    loss = functools.partial(actor_loss, config, networks, model)
    features = jax.vmap(agent.features)(batch.observation)
    gradient, (actor_losses, entropy) = mean_gradients(loss, model.actor.params, (features, actor_noise))
    # The derivative of log temperature (entropy - target entropy) with respect to log temperature.
    target_entropy = config.target_entropy_at(number).astype(entropy.dtype)
    excess_entropy = entropy + target_entropy * action_size(env.action_space)
    scalars = losses | actor_losses | {"entropy": entropy, "temperature": jnp.exp(model.log_temperature.params)}
    log_temperature = model.log_temperature.step(optimizer, excess_entropy)
    return model.replace(actor=model.actor.step(optimizer, gradient), log_temperature=log_temperature), scalars


def _critic_step(
    config: Config, env: AnyEnv, agent: Agent, model: Model, sample: Sample, sample_key: jax.Array, noise_key: jax.Array
) -> tuple[Model, Transition, Scalars]:
    batch, next_value = sample(sample_key), functools.partial(bootstrap, config, config.make_network(env), model)
    noise = jax.random.normal(noise_key, batch.action.shape)
    critics, losses = _off_policy.step_critics(
        config, env, agent, model.critics, batch, noise, next_value, config.critic_loss
    )
    target_critics = optax.incremental_update(critics.params, model.target_critics, config.target_rate)
    return model.replace(critics=critics, target_critics=target_critics), batch, losses


def bootstrap(
    config: Config, networks: Any, model: Model, features: Any, noise: jax.Array
) -> Float[Array, "batch *targets"]:
    """Return the values of states and the entropy of the actions that the policy takes there with some noise."""
    action, log_prob = networks.actor.apply(model.actor.params, features).transform(noise)
    value = config.target_values(networks.critics.apply(model.target_critics, features, action))
    return value - _off_policy.align(jnp.exp(model.log_temperature.params) * log_prob, value)


def actor_loss(
    config: Config, networks: Any, model: Model, params: VariableDict, rows: tuple[Any, jax.Array]
) -> tuple[jax.Array, tuple[Scalars, jax.Array]]:
    """Return the loss of an actor in minibatch `rows`: features and noise; and what to report, and the entropy."""
    features, noise = rows
    action, log_prob = networks.actor.apply(params, features).transform(noise)
    value = config.actor_values(networks.critics.apply(model.critics.params, features, action))
    loss = (jnp.exp(model.log_temperature.params) * log_prob - value).mean()
    return loss, ({"actor_loss": loss}, -log_prob.mean())
