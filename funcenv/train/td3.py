"""Twin delayed deep deterministic policy gradient (TD3), in many environments and with n-step targets.

Fujimoto et al., "Addressing function approximation error in actor-critic methods", 2018; many environments that explore
with noise of different scales, as in Seo et al., "FastTD3", 2025, but without its distributional critics.

The file reads from top to bottom: the configuration, the state of training, the agent, and one update.

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
from flax import linen as nn
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_at_least, require_below_one, require_ordered, require_size
from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.train.collect import collect
from funcenv.train.distributions import action_size, to_env_action
from funcenv.train.exploration_noise import correlated_noise
from funcenv.train.gradients import mean_gradients
from funcenv.train.networks import Activation, NetworkFunction, to_features
from funcenv.train.off_policy import OffPolicyConfig, choose, learn_when_ready
from funcenv.train.processes import keep_whole
from funcenv.train.recent_episodes import RecentEpisodes
from funcenv.train.replay_buffer import ReplayBuffer, Steps, Transition
from funcenv.train.supported_actions import require_actions
from funcenv.vector import FuncVectorEnv, VectorState


@dataclasses.dataclass(frozen=True)
class Config(OffPolicyConfig):
    """The settings of a TD3 run; each is a flag of `funcenv train`."""

    num_envs: int = 32
    """environments that are stepped in parallel"""
    minibatch_size: int = 256
    """transitions in a minibatch"""
    learning_rate: float = 1e-3
    """step size of Adam for actor and critics"""
    policy_delay: int = 2
    """gradient steps of the critics for each of the actor"""
    min_noise: float = 0.05
    """deviation of the exploration noise in the first environment, in units of half the action's range"""
    max_noise: float = 0.5
    """deviation of the exploration noise in the last environment; it rises evenly between them"""
    noise_correlation: float = 0.0
    """correlation of the exploration noise of consecutive steps"""
    target_noise: float = 0.2
    """deviation of the noise on the actions of targets"""
    target_noise_clip: float = 0.5
    """bound of that noise"""
    network: NetworkFunction = "funcenv.train.actor_critics:make_deterministic_actor_critics"
    """function (config, env) that returns the networks, as "module:function\""""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """widths of the hidden layers of actor and critics"""
    activation: Activation = "relu"
    """activation function of the hidden layers"""
    layer_norm: bool = False
    """normalize the inputs of each activation function"""

    def __post_init__(self) -> None:
        require_size("policy_delay", self.policy_delay)
        require_at_least(0, "min_noise", self.min_noise, "0 for none")
        require_ordered("min_noise", self.min_noise, "max_noise", self.max_noise)
        require_below_one(noise_correlation=self.noise_correlation)
        super().__post_init__()

    def check_actions(self, space: AnySpace) -> None:
        """Raise `ValueError` unless TD3 takes the actions of a space."""
        require_actions("td3", space)


class Learned(PyTreeNode):
    """What gradient steps change."""

    actor_params: VariableDict
    critic_params: VariableDict
    target_actor_params: VariableDict
    target_critic_params: VariableDict
    actor_optimizer: optax.OptState
    critic_optimizer: optax.OptState


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    learned: Learned
    buffer: ReplayBuffer
    noise: Float[Array, "num_envs action_size"]  # the latest noise, before it is scaled
    vstate: VectorState[Any]
    observation: Any  # the latest observation of each environment
    episodes: RecentEpisodes
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Agent(PyTreeNode):
    """A policy: `agent(observation, key) -> action`, deterministic if the deviation of its `noise` is 0."""

    params: VariableDict
    noise: Float[Array, ""]
    actor: nn.Module = field(pytree_node=False)
    observation_space: AnySpace = field(pytree_node=False)
    action_space: AnySpace = field(pytree_node=False)

    # A function that jax.jit compiles must have a hash, which the fields of a dataclass, arrays, have not.
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def mode(self, observation: Any) -> Float[Array, "action_size"]:
        """Return the action in (-1, 1) for one observation, without noise."""
        action: Any = self.actor.apply(self.params, to_features(self.observation_space, observation))
        return action

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation."""
        mode = self.mode(observation)
        return to_env_action(self.action_space, mode + self.noise * jax.random.normal(key, mode.shape, mode.dtype))


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    actor_key, critic_key, noise_key, env_key, key = jax.random.split(key, 5)
    vstate, timestep = FuncVectorEnv(env, config.num_envs).reset(env_key)
    noise = jax.random.normal(noise_key, (config.num_envs, action_size(env.action_space)))
    networks = config.make_network(env)
    features = jax.vmap(functools.partial(to_features, env.observation_space))(timestep.observation)
    actor_params = networks.actor.init(actor_key, features)
    critic_params = networks.critics.init(critic_key, features, noise)
    step = Steps(timestep.observation, noise, timestep.reward, timestep.done, timestep.done, timestep.final_observation)
    optimizer = _optimizer(config)
    learned = Learned(
        actor_params=actor_params,
        critic_params=critic_params,
        target_actor_params=actor_params,
        target_critic_params=critic_params,
        actor_optimizer=optimizer.init(actor_params),
        critic_optimizer=optimizer.init(critic_params),
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
    """Return the policy of a train state; one that explores has the mean deviation of the environments."""
    return Agent(
        params=state.learned.actor_params,
        noise=jnp.asarray((config.min_noise + config.max_noise) / 2 if explore else 0.0, float),
        actor=config.make_network(env).actor,
        observation_space=env.observation_space,
        action_space=env.action_space,
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

    scale = keep_whole(jnp.linspace(config.min_noise, config.max_noise, config.num_envs)[:, None])

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        noisy = jnp.clip(jax.vmap(agent.mode)(observation) + scale * noise[step_index], -1.0, 1.0)
        uniform = 2 * jax.scipy.stats.norm.cdf(noise[step_index]) - 1  # before learning begins
        action = jnp.where(is_ready, noisy, uniform)
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
    to_batch = jax.vmap(functools.partial(to_features, env.observation_space))

    def gradient_step(learned: Learned, index: jax.Array) -> tuple[Learned, dict[str, jax.Array]]:
        sample_key, target_key = jax.random.split(jax.random.fold_in(key, index))
        batch = state.buffer.sample(sample_key, config.minibatch_size, config.n_step, config.gamma)
        features, noise = to_batch(batch.observation), jax.random.normal(target_key, batch.action.shape)

        def critic_loss(params: VariableDict, rows: Any) -> tuple[jax.Array, dict[str, jax.Array]]:
            batch, features, noise = rows
            target = _target(config, networks, learned, batch, to_batch(batch.next_observation), noise)
            return _critic_loss(params, networks, features, batch.action, target)

        grads, critic_losses = mean_gradients(critic_loss, learned.critic_params, (batch, features, noise))
        updates, critic_optimizer = optimizer.update(grads, learned.critic_optimizer, learned.critic_params)
        critic_params = optax.apply_updates(learned.critic_params, updates)

        actor_loss = functools.partial(_actor_loss, networks, critic_params)
        grads, actor_losses = mean_gradients(actor_loss, learned.actor_params, features)
        updates, actor_optimizer = optimizer.update(grads, learned.actor_optimizer, learned.actor_params)
        actor = optax.apply_updates(learned.actor_params, updates), actor_optimizer
        is_turn = (state.update * config.num_gradient_steps + index) % config.policy_delay == 0
        actor_params, actor_optimizer = choose(is_turn, actor, (learned.actor_params, learned.actor_optimizer))
        follow = functools.partial(optax.incremental_update, step_size=config.target_rate)
        learned = Learned(
            actor_params=actor_params,
            critic_params=critic_params,
            target_actor_params=follow(actor_params, learned.target_actor_params),
            target_critic_params=follow(critic_params, learned.target_critic_params),
            actor_optimizer=actor_optimizer,
            critic_optimizer=critic_optimizer,
        )
        return learned, critic_losses | actor_losses

    learned, losses = learn_when_ready(config, state.update, gradient_step, state.learned)
    return state.replace(learned=learned), losses


def _target(
    config: Config,
    networks: Any,
    learned: Learned,
    batch: Transition,
    next_features: jax.Array,
    noise: Float[Array, "batch action_size"],
) -> Float[Array, "batch"]:
    mode = networks.actor.apply(learned.target_actor_params, next_features)
    noise = jnp.clip(config.target_noise * noise, -config.target_noise_clip, config.target_noise_clip)
    next_action = jnp.clip(mode + noise, -1.0, 1.0)
    next_value = networks.critics.apply(learned.target_critic_params, next_features, next_action).min(0)
    target: jax.Array = batch.reward + batch.discount * next_value
    return target


def _critic_loss(
    params: VariableDict, networks: Any, features: jax.Array, action: jax.Array, target: Float[Array, "batch"]
) -> tuple[jax.Array, dict[str, jax.Array]]:
    value = networks.critics.apply(params, features, action)
    loss = 0.5 * jnp.square(value - target[None]).mean(1).sum()
    return loss, {"loss": loss, "mean_value": value.mean()}


def _actor_loss(
    networks: Any, critic_params: VariableDict, params: VariableDict, features: jax.Array
) -> tuple[jax.Array, dict[str, jax.Array]]:
    action = networks.actor.apply(params, features)
    loss = -networks.critics.apply(critic_params, features, action)[0].mean()
    return loss, {"actor_loss": loss}


def _optimizer(config: Config) -> optax.GradientTransformation:
    # On one long vector, as a dozen small kernels for each layer take longer to compile and to run.
    return optax.flatten(optax.adam(config.learning_rate))
