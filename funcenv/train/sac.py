"""Soft actor-critic (SAC), in many environments and with n-step targets.

Haarnoja et al., "Soft actor-critic algorithms and applications", 2018: two critics, and a temperature that is learned.

The file reads from top to bottom: the configuration, the state of training, the agent, and one update.

    collect num_steps steps in num_envs environments with actions drawn from the policy, and add them to the buffer
    num_gradient_steps times, draw a minibatch of n-step transitions and take steps of Adam on
        critics      mean (Q_i(o, a) - target)^2 / 2, where a' is drawn from the policy in the next observation o' and
                     target = rewards + discount (min_i Q'_i(o', a') - temperature log p(a'));
                     the discount is 0 after termination, and a window ends where an episode ends
        actor        mean (temperature log p(a) - min_i Q_i(o, a)), where a is drawn from the policy
        temperature  log temperature (entropy of the policy - target entropy)
    after each, move the parameters of the target critics Q' towards those of Q
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_below_one, require_positive
from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.train.collect import collect
from funcenv.train.distributions import SquashedGaussian, action_size, to_env_action
from funcenv.train.exploration_noise import correlated_noise
from funcenv.train.gradients import mean_gradients
from funcenv.train.networks import Activation, NetworkFunction, to_features
from funcenv.train.off_policy import OffPolicyConfig, learn_when_ready
from funcenv.train.recent_episodes import RecentEpisodes
from funcenv.train.replay_buffer import ReplayBuffer, Steps, Transition
from funcenv.train.supported_actions import require_actions
from funcenv.vector import FuncVectorEnv, VectorState


@dataclasses.dataclass(frozen=True)
class Config(OffPolicyConfig):
    """The settings of an SAC run; each is a flag of `funcenv train`."""

    n_step: int = 1
    """rewards in a target, fewer where the episode ends; their entropy is not counted"""
    learning_rate: float = 1e-3
    """step size of Adam for actor, critics and temperature"""
    initial_temperature: float = 1.0
    """weight of the entropy at the beginning"""
    target_entropy: float = 1.0
    """entropy that the temperature aims at, in units of minus one nat for each element of the action"""
    noise_correlation: float = 0.0
    """correlation of the exploration noise of consecutive steps; the distribution of each action stays the same"""
    network: NetworkFunction = "funcenv.train.actor_critics:make_gaussian_actor_critics"
    """function (config, env) that returns the networks, as "module:function\""""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """widths of the hidden layers of actor and critics"""
    activation: Activation = "relu"
    """activation function of the hidden layers"""
    layer_norm: bool = False
    """normalize the inputs of each activation function"""

    def __post_init__(self) -> None:
        require_positive(initial_temperature=self.initial_temperature)
        require_below_one(noise_correlation=self.noise_correlation)
        super().__post_init__()

    def check_actions(self, space: AnySpace) -> None:
        """Raise `ValueError` unless SAC takes the actions of a space."""
        require_actions("sac", space)


class Learned(PyTreeNode):
    """What gradient steps change."""

    actor_params: VariableDict
    critic_params: VariableDict
    target_params: VariableDict  # of the target critics
    log_temperature: Float[Array, ""]
    actor_optimizer: optax.OptState
    critic_optimizer: optax.OptState
    temperature_optimizer: optax.OptState


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    learned: Learned
    buffer: ReplayBuffer
    noise: Float[Array, "num_envs action_size"]  # the latest noise of the policy
    vstate: VectorState[Any]
    observation: Any  # the latest observation of each environment
    episodes: RecentEpisodes
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Agent(PyTreeNode):
    """A policy: `agent(observation, key) -> action`, deterministic unless `explore` is set."""

    params: VariableDict
    actor: nn.Module = field(pytree_node=False)
    observation_space: AnySpace = field(pytree_node=False)
    action_space: AnySpace = field(pytree_node=False)
    explore: bool = field(pytree_node=False, default=False)

    # A function that jax.jit compiles must have a hash, which the fields of a dataclass, arrays, have not.
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def policy(self, observation: Any) -> SquashedGaussian:
        """Return the distribution over actions in (-1, 1) for one observation."""
        policy: Any = self.actor.apply(self.params, to_features(self.observation_space, observation))
        return policy

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation."""
        policy = self.policy(observation)
        return to_env_action(self.action_space, policy.sample(key)[0] if self.explore else policy.mode())


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    actor_key, critic_key, noise_key, env_key, key = jax.random.split(key, 5)
    vstate, timestep = FuncVectorEnv(env, config.num_envs).reset(env_key)
    noise = jax.random.normal(noise_key, (config.num_envs, action_size(env.action_space)))
    networks = config.make_network(env)
    features = jax.vmap(functools.partial(to_features, env.observation_space))(timestep.observation)
    actor_params = networks.actor.init(actor_key, features)
    critic_params = networks.critics.init(critic_key, features, noise)
    log_temperature = jnp.log(jnp.asarray(config.initial_temperature, float))
    step = Steps(timestep.observation, noise, timestep.reward, timestep.done, timestep.done, timestep.final_observation)
    optimizer = _optimizer(config)
    learned = Learned(
        actor_params=actor_params,
        critic_params=critic_params,
        target_params=critic_params,
        log_temperature=log_temperature,
        actor_optimizer=optimizer.init(actor_params),
        critic_optimizer=optimizer.init(critic_params),
        temperature_optimizer=optimizer.init(log_temperature),
    )
    return TrainState(
        learned=learned,
        buffer=ReplayBuffer.empty(step, config.buffer_steps),
        noise=noise,
        vstate=vstate,
        observation=timestep.observation,
        episodes=RecentEpisodes.empty(),
        key=key,
        update=jnp.zeros((), jnp.int32),
    )


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    return Agent(
        params=state.learned.actor_params,
        actor=config.make_network(env).actor,
        observation_space=env.observation_space,
        action_space=env.action_space,
        explore=explore,
    )


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect steps and learn from the replay buffer; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    state = _collect(config, env, state, collect_key)
    state, losses = _learn(config, env, state, learn_key)
    metrics = {"env_steps": (state.update + 1) * config.batch_size, **state.episodes.metrics(), **losses}
    return state.replace(key=key, update=state.update + 1), metrics


def _collect(config: Config, env: AnyEnv, state: TrainState, key: jax.Array) -> TrainState:
    """Take `num_steps` steps with the current policy and add them to the replay buffer."""
    agent, is_ready = make_agent(config, env, state), config.is_ready(state.update)
    noise = correlated_noise(state.noise, key, config.num_steps, config.noise_correlation)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        drawn, _ = jax.vmap(lambda observation, noise: agent.policy(observation).transform(noise))(
            observation, noise[step_index]
        )
        uniform = 2 * jax.scipy.stats.norm.cdf(noise[step_index]) - 1  # before learning begins
        action = jnp.where(is_ready, drawn, uniform)
        return jax.vmap(functools.partial(to_env_action, env.action_space))(action), action

    vstate, observation, experience = collect(env, act, state.vstate, state.observation, config.num_steps)
    return state.replace(
        buffer=state.buffer.add(Steps.of(experience)),
        noise=noise[-1],
        vstate=vstate,
        observation=observation,
        episodes=state.episodes.add_steps(experience.timestep),
    )


def _learn(config: Config, env: AnyEnv, state: TrainState, key: jax.Array) -> tuple[TrainState, dict[str, jax.Array]]:
    """Learn from `num_gradient_steps` minibatches, once the replay buffer holds enough steps."""
    networks, optimizer = config.make_network(env), _optimizer(config)
    target_entropy = -config.target_entropy * action_size(env.action_space)
    to_batch = jax.vmap(functools.partial(to_features, env.observation_space))

    def gradient_step(learned: Learned, index: jax.Array) -> tuple[Learned, dict[str, jax.Array]]:
        sample_key, target_key, actor_key = jax.random.split(jax.random.fold_in(key, index), 3)
        batch = state.buffer.sample(sample_key, config.minibatch_size, config.n_step, config.gamma)
        features, temperature = to_batch(batch.observation), jnp.exp(learned.log_temperature)
        target_noise, actor_noise = (jax.random.normal(key, batch.action.shape) for key in (target_key, actor_key))

        def critic_loss(params: VariableDict, rows: Any) -> tuple[jax.Array, dict[str, jax.Array]]:
            batch, features, noise = rows
            target = _target(networks, learned, batch, to_batch(batch.next_observation), temperature, noise)
            return _critic_loss(params, networks, features, batch.action, target)

        grads, critic_losses = mean_gradients(critic_loss, learned.critic_params, (batch, features, target_noise))
        updates, critic_optimizer = optimizer.update(grads, learned.critic_optimizer, learned.critic_params)
        critic_params = optax.apply_updates(learned.critic_params, updates)

        actor_loss = functools.partial(_actor_loss, networks, critic_params, temperature)
        grads, (actor_losses, entropy) = mean_gradients(actor_loss, learned.actor_params, (features, actor_noise))
        updates, actor_optimizer = optimizer.update(grads, learned.actor_optimizer, learned.actor_params)
        actor_params = optax.apply_updates(learned.actor_params, updates)

        # The gradient of log temperature (entropy - target entropy) with respect to log temperature.
        updates, temperature_optimizer = optimizer.update(entropy - target_entropy, learned.temperature_optimizer)
        learned = Learned(
            actor_params=actor_params,
            critic_params=critic_params,
            target_params=optax.incremental_update(critic_params, learned.target_params, config.target_rate),
            log_temperature=learned.log_temperature + updates,
            actor_optimizer=actor_optimizer,
            critic_optimizer=critic_optimizer,
            temperature_optimizer=temperature_optimizer,
        )
        return learned, critic_losses | actor_losses | {"entropy": entropy, "temperature": temperature}

    learned, losses = learn_when_ready(config, state.update, gradient_step, state.learned)
    return state.replace(learned=learned), losses


def _target(
    networks: Any,
    learned: Learned,
    batch: Transition,
    next_features: jax.Array,
    temperature: jax.Array,
    noise: Float[Array, "batch action_size"],
) -> Float[Array, "batch"]:
    next_action, log_prob = networks.actor.apply(learned.actor_params, next_features).transform(noise)
    next_value = networks.critics.apply(learned.target_params, next_features, next_action).min(0)
    target: jax.Array = batch.reward + batch.discount * (next_value - temperature * log_prob)
    return target


def _critic_loss(
    params: VariableDict, networks: Any, features: jax.Array, action: jax.Array, target: Float[Array, "batch"]
) -> tuple[jax.Array, dict[str, jax.Array]]:
    value = networks.critics.apply(params, features, action)
    loss = 0.5 * jnp.square(value - target[None]).mean(1).sum()
    return loss, {"loss": loss, "mean_value": value.mean()}


def _actor_loss(
    networks: Any, critic_params: VariableDict, temperature: jax.Array, params: VariableDict, rows: Any
) -> tuple[jax.Array, tuple[dict[str, jax.Array], jax.Array]]:
    features, noise = rows
    action, log_prob = networks.actor.apply(params, features).transform(noise)
    value = networks.critics.apply(critic_params, features, action).min(0)
    loss = (temperature * log_prob - value).mean()
    return loss, ({"actor_loss": loss}, -log_prob.mean())


def _optimizer(config: Config) -> optax.GradientTransformation:
    # On one long vector, as a dozen small kernels for each layer take longer to compile and to run.
    return optax.flatten(optax.adam(config.learning_rate))
