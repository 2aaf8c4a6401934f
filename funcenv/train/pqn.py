"""Parallelised Q-network (PQN): Q-learning in many environments, without a replay buffer and without a target network.

Gallici et al., "Simplifying deep temporal difference learning", 2025. Layer normalization takes the place of the target
network, and many environments that of the replay buffer.

The file reads from top to bottom: the configuration, the state of training, and one update.

    collect num_steps steps in num_envs environments, with random actions in a fraction epsilon of the steps
    compute Q(lambda) targets, with the highest action value as the value of a state:
        bootstrap where an episode was truncated, not where it terminated
    for num_epochs passes over the batch, for each of num_minibatches minibatches, take a step of rectified Adam on
        mean (Q(observation, action) - target)^2 / 2
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_positive, require_size
from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode
from funcenv.train.collect import collect
from funcenv.train.config import require_fraction
from funcenv.train.distributions import to_env_action
from funcenv.train.gradients import mean_gradients
from funcenv.train.networks import Activation, NetworkConfig, NetworkFunction, to_features
from funcenv.train.q_agent import QAgent, exploration_rate
from funcenv.train.recent_episodes import RecentEpisodes
from funcenv.train.returns import lambda_returns
from funcenv.train.supported_actions import require_actions
from funcenv.vector import FuncVectorEnv, VectorState


@dataclasses.dataclass(frozen=True)
class Config(NetworkConfig):
    """The settings of a PQN run; each is a flag of `funcenv train`."""

    num_envs: int = 32
    """environments that are stepped in parallel"""
    num_steps: int = 32
    """steps of each environment between updates"""
    num_epochs: int = 4
    """passes over each batch"""
    num_minibatches: int = 8
    """minibatches in a batch; divides num_envs * num_steps"""
    learning_rate: float = 5e-4
    """step size of rectified Adam"""
    anneal_learning_rate: bool = True
    """decrease the learning rate linearly to 0 over the run"""
    max_grad_norm: float = 10.0
    """global norm that gradients are clipped to"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    q_lambda: float = 0.65
    """lambda of the Q(lambda) targets, in [0, 1]"""
    reward_scale: float = 1.0
    """factor of the rewards that are learned from"""
    epsilon_start: float = 1.0
    """probability of a random action at the beginning"""
    epsilon_end: float = 0.05
    """probability of a random action in the end"""
    epsilon_fraction: float = 0.2
    """part of the run over which that probability falls, in (0, 1]"""
    network: NetworkFunction = "funcenv.train.networks:make_q_network"
    """function (config, env) that returns the network, as "module:function\""""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """widths of the hidden layers; none for values that are linear in the features"""
    activation: Activation = "relu"
    """activation function of the hidden layers"""
    layer_norm: bool = True
    """normalize the inputs of each activation function"""
    is_dueling: bool = False
    """learn the value of a state and the advantages of its actions apart"""

    def __post_init__(self) -> None:
        require_positive(epsilon_fraction=self.epsilon_fraction)
        for name in ("num_epochs", "num_minibatches"):
            require_size(name, getattr(self, name))
        for name in ("gamma", "q_lambda", "epsilon_start", "epsilon_end", "epsilon_fraction"):
            require_fraction(name, getattr(self, name))
        if self.batch_size % self.num_minibatches:
            raise ValueError(
                f"num_minibatches must divide num_envs * num_steps, got {self.num_minibatches} for "
                f"{self.num_envs} * {self.num_steps} = {self.batch_size}"
            )
        super().__post_init__()

    def check_actions(self, space: AnySpace) -> None:
        """Raise `ValueError` unless PQN takes the actions of a space."""
        require_actions("pqn", space)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    params: VariableDict
    optimizer_state: optax.OptState
    vstate: VectorState[Any]
    observation: Any  # the latest observation of each environment
    episodes: RecentEpisodes
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Batch(NamedTuple):
    """What the loss needs of each step; leading axes `[num_steps, num_envs]`, or their product."""

    observation: Any
    action: Int[Array, "..."]  # an index, which counts from 0
    target: Float[Array, "..."]


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    vstate, timestep = FuncVectorEnv(env, config.num_envs).reset(env_key)
    features = jax.vmap(functools.partial(to_features, env.observation_space))(timestep.observation)
    params = config.make_network(env).init(params_key, features)
    return TrainState(
        params=params,
        optimizer_state=_optimizer(config).init(params),
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
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    epsilon = _epsilon(config, state)
    state, batch = _collect(config, env, state, collect_key)
    params, optimizer_state, losses = _learn(config, env, state, batch, learn_key)
    metrics = {
        "env_steps": (state.update + 1) * config.batch_size,
        **state.episodes.metrics(),
        **losses,
        "epsilon": epsilon,
    }
    return state.replace(params=params, optimizer_state=optimizer_state, key=key, update=state.update + 1), metrics


def _collect(config: Config, env: AnyEnv, state: TrainState, key: jax.Array) -> tuple[TrainState, Batch]:
    """Take `num_steps` steps with the current policy and compute their targets."""
    agent = make_agent(config, env, state, explore=True)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        keys = jax.random.split(jax.random.fold_in(key, step_index), config.num_envs)
        action = jax.vmap(agent.index)(observation, keys)
        return jax.vmap(functools.partial(to_env_action, env.action_space))(action), action

    vstate, observation, experience = collect(env, act, state.vstate, state.observation, config.num_steps)
    observations, action, timestep = experience
    next_value = jax.vmap(jax.vmap(agent.values))(timestep.final_observation).max(-1)
    reward = config.reward_scale * timestep.reward
    target = lambda_returns(reward, next_value, timestep.terminated, timestep.done, config.gamma, config.q_lambda)
    state = state.replace(vstate=vstate, observation=observation, episodes=state.episodes.add_steps(timestep))
    batch = Batch(observations, action, target)
    return state, jax.tree.map(lambda leaf: leaf.reshape(config.batch_size, *leaf.shape[2:]), batch)


def _learn(
    config: Config, env: AnyEnv, state: TrainState, batch: Batch, key: jax.Array
) -> tuple[VariableDict, optax.OptState, dict[str, jax.Array]]:
    """Take `num_epochs` passes over the batch, each in a new order."""
    optimizer, loss = _optimizer(config), functools.partial(_loss, make_agent(config, env, state))

    def minibatch_step(carry: Any, rows: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        params, optimizer_state = carry
        minibatch = jax.tree.map(lambda leaf: leaf[rows], batch)
        grads, losses = mean_gradients(loss, params, minibatch)
        updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
        return (optax.apply_updates(params, updates), optimizer_state), losses

    orders = jax.vmap(lambda key: jax.random.permutation(key, config.batch_size))(
        jax.random.split(key, config.num_epochs)
    )
    orders = orders.reshape(config.num_epochs * config.num_minibatches, -1)
    (params, optimizer_state), losses = jax.lax.scan(minibatch_step, (state.params, state.optimizer_state), orders)
    return params, optimizer_state, jax.tree.map(jnp.mean, losses)


def _loss(agent: QAgent, params: VariableDict, batch: Batch) -> tuple[jax.Array, dict[str, jax.Array]]:
    values = jax.vmap(agent.replace(params=params).values)(batch.observation)
    # A product with a one-hot vector is cheaper than a gather, forwards and backwards.
    value = (values * jax.nn.one_hot(batch.action, values.shape[-1], dtype=values.dtype)).sum(-1)
    loss = 0.5 * jnp.mean((value - batch.target) ** 2)
    return loss, {"loss": loss, "mean_value": value.mean()}


def _epsilon(config: Config, state: TrainState) -> Float[Array, ""]:
    progress = state.update / config.num_updates
    return exploration_rate(progress, config.epsilon_start, config.epsilon_end, config.epsilon_fraction)


def _optimizer(config: Config) -> optax.GradientTransformation:
    num_gradient_steps = config.num_updates * config.num_epochs * config.num_minibatches
    rate = optax.linear_schedule(config.learning_rate, 0.0, num_gradient_steps)
    radam = optax.radam(rate if config.anneal_learning_rate else config.learning_rate)
    # On one long vector, as a dozen small kernels for each layer take longer to compile and to run.
    return optax.flatten(optax.chain(optax.clip_by_global_norm(config.max_grad_norm), radam))
