"""Deep Q-network (DQN), with double, dueling and n-step targets.

Mnih et al., "Human-level control through deep reinforcement learning", 2015; van Hasselt et al., "Deep reinforcement
learning with double Q-learning", 2016; Wang et al., "Dueling network architectures for deep reinforcement learning",
2016; n-step targets as in Hessel et al., "Rainbow", 2018.

The file reads from top to bottom: the configuration, the state of training, and one update.

    collect num_steps steps in num_envs environments, with random actions in a fraction epsilon of the steps
    add them to the replay buffer
    num_gradient_steps times, draw a minibatch of n-step transitions and take a step of Adam on
        mean huber(Q(observation, action) - target), where
        target = rewards + discount Q'(next observation, argmax_a Q(next observation, a));
        the discount is 0 after termination, and a window ends where an episode ends
    after each, move the parameters of the target network Q' towards those of Q
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

from funcenv.checks import require_positive
from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode
from funcenv.train.collect import collect
from funcenv.train.config import require_fraction
from funcenv.train.distributions import to_env_action
from funcenv.train.gradients import mean_gradients
from funcenv.train.networks import Activation, NetworkFunction, to_features
from funcenv.train.off_policy import OffPolicyConfig, learn_when_ready
from funcenv.train.q_agent import QAgent, exploration_rate
from funcenv.train.recent_episodes import RecentEpisodes
from funcenv.train.replay_buffer import ReplayBuffer, Steps, Transition
from funcenv.train.supported_actions import require_actions
from funcenv.vector import FuncVectorEnv, VectorState


@dataclasses.dataclass(frozen=True)
class Config(OffPolicyConfig):
    """The settings of a DQN run; each is a flag of `funcenv train`."""

    learning_rate: float = 1e-3
    """step size of Adam"""
    anneal_learning_rate: bool = True
    """decrease the learning rate linearly to 0 over the run"""
    max_grad_norm: float = 10.0
    """global norm that gradients are clipped to"""
    is_double: bool = True
    """choose the next action by the network itself, and evaluate it by the target network"""
    epsilon_start: float = 1.0
    """probability of a random action at the beginning"""
    epsilon_end: float = 0.05
    """probability of a random action in the end"""
    epsilon_fraction: float = 0.2
    """part of the run over which that probability falls, in (0, 1]"""
    network: NetworkFunction = "funcenv.train.networks:make_q_network"
    """function (config, env) that returns the network, as "module:function\""""
    hidden_sizes: tuple[int, ...] = (64, 64)
    """widths of the hidden layers; none for values that are linear in the features"""
    activation: Activation = "relu"
    """activation function of the hidden layers"""
    layer_norm: bool = False
    """normalize the inputs of each activation function"""
    is_dueling: bool = True
    """learn the value of a state and the advantages of its actions apart"""

    def __post_init__(self) -> None:
        require_positive(epsilon_fraction=self.epsilon_fraction)
        for name in ("epsilon_start", "epsilon_end", "epsilon_fraction"):
            require_fraction(name, getattr(self, name))
        super().__post_init__()

    def check_actions(self, space: AnySpace) -> None:
        """Raise `ValueError` unless DQN takes the actions of a space."""
        require_actions("dqn", space)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    params: VariableDict
    target_params: VariableDict
    optimizer_state: optax.OptState
    buffer: ReplayBuffer
    vstate: VectorState[Any]
    observation: Any  # the latest observation of each environment
    episodes: RecentEpisodes
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    vstate, timestep = FuncVectorEnv(env, config.num_envs).reset(env_key)
    features = jax.vmap(functools.partial(to_features, env.observation_space))(timestep.observation)
    params = config.make_network(env).init(params_key, features)
    action = jnp.zeros(config.num_envs, jnp.int32)
    step = Steps(
        timestep.observation, action, timestep.reward, timestep.done, timestep.done, timestep.final_observation
    )
    return TrainState(
        params=params,
        target_params=params,
        optimizer_state=_optimizer(config).init(params),
        buffer=ReplayBuffer.empty(step, config.buffer_steps),
        vstate=vstate,
        observation=timestep.observation,
        episodes=RecentEpisodes.empty(),
        key=key,
        update=jnp.zeros((), jnp.int32),
    )


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> QAgent:
    """Return the policy of a train state."""
    return QAgent(
        params=state.params,
        epsilon=_epsilon(config, state) if explore else jnp.zeros(()),
        network=config.make_network(env),
        observation_space=env.observation_space,
        action_space=env.action_space,
    )


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect steps and learn from the replay buffer; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    epsilon = _epsilon(config, state)
    state = _collect(config, env, state, collect_key)
    state, losses = _learn(config, env, state, learn_key)
    metrics = {
        "env_steps": (state.update + 1) * config.batch_size,
        **state.episodes.metrics(),
        **losses,
        "epsilon": epsilon,
    }
    return state.replace(key=key, update=state.update + 1), metrics


def _collect(config: Config, env: AnyEnv, state: TrainState, key: jax.Array) -> TrainState:
    """Take `num_steps` steps with the current policy and add them to the replay buffer."""
    agent = make_agent(config, env, state, explore=True)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        keys = jax.random.split(jax.random.fold_in(key, step_index), config.num_envs)
        action = jax.vmap(agent.index)(observation, keys)
        return jax.vmap(functools.partial(to_env_action, env.action_space))(action), action

    vstate, observation, experience = collect(env, act, state.vstate, state.observation, config.num_steps)
    return state.replace(
        buffer=state.buffer.add(Steps.of(experience)),
        vstate=vstate,
        observation=observation,
        episodes=state.episodes.add_steps(experience.timestep),
    )


def _learn(config: Config, env: AnyEnv, state: TrainState, key: jax.Array) -> tuple[TrainState, dict[str, jax.Array]]:
    """Learn from `num_gradient_steps` minibatches, once the replay buffer holds enough steps."""
    optimizer, agent = _optimizer(config), make_agent(config, env, state)

    def gradient_step(carry: Any, index: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        params, target_params, optimizer_state = carry
        batch = state.buffer.sample(jax.random.fold_in(key, index), config.minibatch_size, config.n_step, config.gamma)
        loss = functools.partial(_loss, config, agent.replace(params=params), agent.replace(params=target_params))
        grads, losses = mean_gradients(loss, params, batch)
        updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
        params = optax.apply_updates(params, updates)
        target_params = optax.incremental_update(params, target_params, config.target_rate)
        return (params, target_params, optimizer_state), losses

    learned = state.params, state.target_params, state.optimizer_state
    learned, losses = learn_when_ready(config, state.update, gradient_step, learned)
    params, target_params, optimizer_state = learned
    return state.replace(params=params, target_params=target_params, optimizer_state=optimizer_state), losses


def _target(config: Config, agent: QAgent, target_agent: QAgent, batch: Transition) -> Float[Array, "batch"]:
    next_values = jax.vmap(target_agent.values)(batch.next_observation)
    chooser = jax.vmap(agent.values)(batch.next_observation) if config.is_double else next_values
    return batch.reward + batch.discount * _value_of(next_values, chooser.argmax(-1))


def _loss(
    config: Config, agent: QAgent, target_agent: QAgent, params: VariableDict, batch: Transition
) -> tuple[jax.Array, dict[str, jax.Array]]:
    target = _target(config, agent, target_agent, batch)
    value = _value_of(jax.vmap(agent.replace(params=params).values)(batch.observation), batch.action)
    loss = optax.huber_loss(value, target).mean()
    return loss, {"loss": loss, "mean_value": value.mean()}


def _value_of(values: Float[Array, "batch num_actions"], action: Int[Array, "batch"]) -> Float[Array, "batch"]:
    # A product with a one-hot vector is cheaper than a gather, forwards and backwards.
    return (values * jax.nn.one_hot(action, values.shape[-1], dtype=values.dtype)).sum(-1)


def _epsilon(config: Config, state: TrainState) -> Float[Array, ""]:
    progress = state.update / config.num_updates
    return exploration_rate(progress, config.epsilon_start, config.epsilon_end, config.epsilon_fraction)


def _optimizer(config: Config) -> optax.GradientTransformation:
    rate = optax.linear_schedule(config.learning_rate, 0.0, config.num_updates * config.num_gradient_steps)
    adam = optax.adam(rate if config.anneal_learning_rate else config.learning_rate)
    # On one long vector, as a dozen small kernels for each layer take longer to compile and to run.
    return optax.flatten(optax.chain(optax.clip_by_global_norm(config.max_grad_norm), adam))
