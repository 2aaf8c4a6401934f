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
from flax import linen as nn
from flax.typing import VariableDict
from jaxtyping import Array, Float, Int, Key

from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.train.collect import Experience, collect
from funcenv.train.config import require_fraction
from funcenv.train.distributions import Distribution, restrict, to_env_action
from funcenv.train.gradients import mean_gradients
from funcenv.train.networks import NetworkConfig, to_features
from funcenv.train.observations import adapt_env, legal_actions
from funcenv.train.recent_episodes import RecentEpisodes
from funcenv.train.returns import lambda_returns
from funcenv.train.supported_actions import require_actions
from funcenv.vector import FuncVectorEnv, VectorState


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
        require_fraction("gamma", self.gamma)
        super().__post_init__()

    def check_actions(self, space: AnySpace) -> None:
        """Raise `ValueError` unless REINFORCE takes the actions of a space."""
        require_actions("reinforce", space)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    params: VariableDict
    optimizer_state: optax.OptState
    vstate: VectorState[Any]
    observation: Any  # the latest observation of each environment
    episodes: RecentEpisodes
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Agent(PyTreeNode):
    """A policy: `agent(observation, key) -> action`, deterministic unless `explore` is set."""

    params: VariableDict
    network: nn.Module = field(pytree_node=False)
    observation_space: AnySpace = field(pytree_node=False)
    action_space: AnySpace = field(pytree_node=False)
    explore: bool = field(pytree_node=False, default=False)

    # A function that jax.jit compiles must have a hash, which the fields of a dataclass, arrays, have not.
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def policy_and_value(self, observation: Any) -> tuple[Distribution, Float[Array, ""]]:
        """Return the distribution over raw actions, those that are legal, and the baseline, for one observation."""
        features = to_features(self.observation_space, observation)
        output: Any = self.network.apply(self.params, features)
        policy, value = output
        return restrict(policy, legal_actions(self.observation_space, observation)), value

    def adapt_env(self, env: AnyEnv) -> AnyEnv:
        """Return an environment with the observations that this policy takes; `evaluate` and `record` call it."""
        return adapt_env(env, self.observation_space)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation."""
        policy, _ = self.policy_and_value(observation)
        return to_env_action(self.action_space, policy.sample(key) if self.explore else policy.mode())


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


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    return Agent(state.params, config.make_network(env), env.observation_space, env.action_space, explore)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    act_key, key = jax.random.split(state.key)
    agent = make_agent(config, env, state)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        policy, _ = jax.vmap(agent.policy_and_value)(observation)
        action = policy.sample(jax.random.fold_in(act_key, step_index))
        return jax.vmap(functools.partial(to_env_action, env.action_space))(action), action

    vstate, observation, batch = collect(env, act, state.vstate, state.observation, config.num_steps)
    timestep = batch.timestep
    _, next_value = jax.vmap(jax.vmap(agent.policy_and_value))(timestep.final_observation)
    returns = lambda_returns(timestep.reward, next_value, timestep.terminated, timestep.done, config.gamma, 1.0)
    loss = functools.partial(_loss, config, agent)
    grads, losses = mean_gradients(loss, state.params, (batch, returns), axis=1)
    updates, optimizer_state = _optimizer(config).update(grads, state.optimizer_state, state.params)
    state = TrainState(
        params=optax.apply_updates(state.params, updates),
        optimizer_state=optimizer_state,
        vstate=vstate,
        observation=observation,
        episodes=state.episodes.add_steps(timestep),
        key=key,
        update=state.update + 1,
    )
    return state, {"env_steps": state.update * config.batch_size, **state.episodes.metrics(), **losses}


def _loss(
    config: Config,
    agent: Agent,
    params: VariableDict,
    rows: tuple[Experience, Float[Array, "num_steps num_envs"]],
) -> tuple[jax.Array, dict[str, jax.Array]]:
    batch, returns = rows
    policy, value = jax.vmap(jax.vmap(agent.replace(params=params).policy_and_value))(batch.observation)
    advantage = returns - jax.lax.stop_gradient(value)
    policy_loss = -(policy.log_prob(batch.extras) * advantage).mean()
    value_loss = 0.5 * jnp.square(value - returns).mean()
    entropy = policy.entropy().mean()
    loss = policy_loss + config.value_coefficient * value_loss - config.entropy_coefficient * entropy
    return loss, {"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}


def _optimizer(config: Config) -> optax.GradientTransformation:
    # On one long vector, as a dozen small kernels for each layer take longer to compile and to run.
    return optax.flatten(optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.adam(config.learning_rate)))
