"""Twin delayed deep deterministic policy gradient (TD3), in many environments and with n-step targets.

Fujimoto et al., "Addressing function approximation error in actor-critic methods", 2018; many environments that explore
with noise of different scales, as in Seo et al., "FastTD3", 2025, but without its distributional critics.

    collect num_steps steps in num_envs environments with noise on the actions, and add them to the replay buffer
    num_gradient_steps times, draw a minibatch of n-step transitions and take steps of Adam on
        critics  mean (Q_i(o, a) - target)^2 / 2, where a' = pi'(o') + clipped noise in the next observation o' and
                 target = rewards + discount min_i Q'_i(o', a');
                 the discount is 0 after termination, and a window ends where an episode ends
        actor    mean -Q_1(o, pi(o)), in every policy_delay-th gradient step
    after each, move the parameters of the targets Q' and pi' towards those of Q and pi
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Float

from funcenv.checks import require_at_least, require_ordered, require_size
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.actor_critics import DeterministicActorAgent
from funcenv.train.agents.networks import NetworkFunction
from funcenv.train.algorithms import _off_policy
from funcenv.train.algorithms._off_policy import Sample, Scalars
from funcenv.train.devices import replicate
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.learned import Learned
from funcenv.trees import select

Agent = DeterministicActorAgent
TrainState = _off_policy.OffPolicyState


@dataclasses.dataclass(frozen=True)
class Config(_off_policy.ActorCriticsConfig):
    """The settings of a TD3 run; each is a flag of `funcenv train`."""

    num_envs: int = 32
    """environments that are stepped in parallel"""
    minibatch_size: int = 256
    """transitions in a minibatch"""
    policy_delay: int = 2
    """gradient steps of the critics for each of the actor"""
    min_noise: float = 0.05
    """deviation of the exploration noise in the first environment, in units of half the action's range"""
    max_noise: float = 0.5
    """deviation of the exploration noise in the last environment; it rises evenly between them"""
    target_noise: float = 0.2
    """deviation of the noise on the actions of targets"""
    target_noise_clip: float = 0.5
    """bound of that noise"""
    network: NetworkFunction = "funcenv.train.agents.actor_critics:make_deterministic_actor_critics"
    """function (config, env) that returns the networks, as "module:function\""""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("policy_delay", self.policy_delay)
        for name in ("min_noise", "target_noise", "target_noise_clip"):
            require_at_least(0, name, getattr(self, name), remedy="0 is for no noise")
        require_ordered("min_noise", self.min_noise, "max_noise", self.max_noise)


class Model(PyTreeNode):
    """What gradient steps change; the parameters of the targets follow those of actor and critics."""

    actor: Learned
    critics: Learned
    target_actor: VariableDict
    target_critics: VariableDict


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    return _off_policy.init_actor_critics(
        config, env, key, lambda actor, critics: Model(actor, critics, actor.params, critics.params)
    )


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state; one that explores has the mean deviation of the environments."""
    actor = config.make_network(env).actor
    noise = jnp.asarray((config.min_noise + config.max_noise) / 2, float)
    spaces, moments = (env.observation_space, env.action_space), state.observation_moments
    return Agent(state.learned.actor.params, actor, *spaces, explore, moments, noise)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, Scalars]:
    """Collect steps and learn from the replay buffer; return the next state and the metrics of this update."""
    agent = make_agent(config, env, state)
    scale = replicate(jnp.linspace(config.min_noise, config.max_noise, config.num_envs)[:, None])

    def act(observation: Any, noise: jax.Array) -> jax.Array:
        return jnp.clip(agent.mode(jax.vmap(agent.features)(observation)) + scale * noise, -1.0, 1.0)

    return _off_policy.update_actor_critics(
        config, env, state, act, functools.partial(_gradient_step, config, env, agent)
    )


def _gradient_step(
    config: Config, env: AnyEnv, agent: Agent, model: Model, sample: Sample, key: jax.Array, number: jax.Array
) -> tuple[Model, Scalars]:
    networks = config.make_network(env)
    sample_key, target_key = jax.random.split(key)
    batch = sample(sample_key)
    noise = jax.random.normal(target_key, batch.action.shape)

    next_value = functools.partial(bootstrap, config, networks, model)
    critics, losses = _off_policy.step_critics(config, env, agent, model.critics, batch, noise, next_value)

    loss = functools.partial(actor_loss, networks, critics.params)
    features = jax.vmap(agent.features)(batch.observation)
    gradient, actor_losses = mean_gradients(loss, model.actor.params, features)
    is_turn = number % config.policy_delay == 0
    optimizer = config.optimizer(-(-config.num_optimizer_steps // config.policy_delay))
    actor = select(is_turn, model.actor.step(optimizer, gradient), model.actor)

    follow = functools.partial(optax.incremental_update, step_size=config.target_rate)
    targets = follow(actor.params, model.target_actor), follow(critics.params, model.target_critics)
    return Model(actor, critics, *targets), losses | actor_losses


def bootstrap(config: Config, networks: Any, model: Model, features: Any, noise: jax.Array) -> Float[Array, "batch"]:
    """Return the values of states for the actions of the target actor, to which clipped noise is added."""
    noise = jnp.clip(config.target_noise * noise, -config.target_noise_clip, config.target_noise_clip)
    action = jnp.clip(networks.actor.apply(model.target_actor, features) + noise, -1.0, 1.0)
    return networks.critics.apply(model.target_critics, features, action).min(0)


def actor_loss(
    networks: Any, critics: VariableDict, params: VariableDict, features: Any
) -> tuple[Float[Array, ""], Scalars]:
    """Return the loss of an actor: minus the value that the first critic gives to its actions."""
    loss = -networks.critics.apply(critics, features, networks.actor.apply(params, features))[0].mean()
    return loss, {"actor_loss": loss}
