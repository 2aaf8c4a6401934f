"""Tabular Q-learning: a table of action values for environments whose observations are numbers.

Watkins, "Learning from delayed rewards", 1989.

    take a step in every environment, with random actions in a fraction epsilon of the steps
    move the value of each action towards reward + gamma max_a Q(next observation, a):
        bootstrap where an episode was truncated, not where it terminated
    where several environments take the same action in the same state, move it towards the mean of their targets
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_probability
from funcenv.func_env import AnyEnv
from funcenv.spaces import Discrete
from funcenv.statistics import success_of
from funcenv.struct import PyTreeNode, field
from funcenv.train.agents.agent import Agent as AnyAgent
from funcenv.train.agents.distributions import to_env_action, to_env_actions
from funcenv.train.agents.q_agent import EpsilonGreedy, epsilon_greedy
from funcenv.train.updates.collector import Collector, CollectorConfig
from funcenv.train.updates.learner_view import as_learned
from funcenv.vector import FuncVectorEnv


@dataclasses.dataclass(frozen=True)
class Config(EpsilonGreedy, CollectorConfig):
    """The settings of a run of Q-learning; each is a flag of `funcenv train`."""

    env_id: str = "FrozenLake-v1"
    """the environment: an id from `funcenv list`, "module:Name-v0", or "module:EnvClass\""""
    num_steps: int = 64
    """steps of each environment in an update; the table changes after each"""
    learning_rate: float = 0.2
    """how far a value moves towards its target, in [0, 1]; it falls linearly to 0 over the run"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    initial_value: float = 0.0
    """value of every action at the beginning; a high one makes the agent try all of them"""
    epsilon_end: float = 0.1
    """probability of a random action in the end"""
    epsilon_fraction: float = 0.5
    """part of the run over which that probability falls, in (0, 1]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(learning_rate=self.learning_rate, gamma=self.gamma)

    def make_env(self) -> AnyEnv:
        """Return the environment of the run, and check that a table can be made for its observations."""
        env = super().make_env()
        if not isinstance(env.observation_space, Discrete):
            raise ValueError(
                f"q_learning takes Discrete observations, got {env.observation_space!r}; "
                "these take all observations: ars, dqn, plr, ppo, pqn, recurrent_ppo, reinforce"
            )
        return env


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    table: Float[Array, "num_states num_actions"]
    collector: Collector
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Agent(AnyAgent):
    """A policy: `agent(observation, key) -> action`, with a random action with probability `epsilon`."""

    table: Float[Array, "num_states num_actions"]
    epsilon: Float[Array, ""]
    observation_space: Discrete = field(pytree_node=False)
    action_space: Discrete = field(pytree_node=False)

    def values(self, observation: Int[Array, "*batch"]) -> Float[Array, "*batch num_actions"]:
        """Return the values of all actions."""
        return self.table[observation - self.observation_space.start]

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation."""
        return to_env_action(self.action_space, epsilon_greedy(self.values(observation), self.epsilon, key))


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    env_key, key = jax.random.split(key)
    collector, _ = Collector.start(env, config.num_envs, env_key)
    states, actions = _spaces(env)
    table = jnp.full((states.n, actions.n), config.initial_value, float)
    return TrainState(table, collector, key, update=jnp.zeros((), jnp.int32))


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    return Agent(state.table, config.epsilon(state.update) if explore else jnp.zeros(()), *_spaces(env))


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Take `num_steps` steps, and change the table after each; return the next state and the metrics."""
    step_key, key = jax.random.split(state.key)
    venv, agent = FuncVectorEnv(env, config.num_envs), make_agent(config, env, state, explore=True)
    rate = config.learning_rate * (1 - state.update / config.num_updates)

    def step(carry: Any, step_index: jax.Array) -> tuple[Any, Any]:
        table, vstate, observation = carry
        now = agent.replace(table=table)
        action = epsilon_greedy(now.values(observation), agent.epsilon, jax.random.fold_in(step_key, step_index))
        vstate, timestep = venv.step(vstate, to_env_actions(env.action_space, action))
        next_value = now.values(timestep.final_observation).max(-1)
        ends = timestep.done, timestep.episode_return, timestep.episode_length, success_of(timestep)
        timestep = as_learned(timestep)
        target = timestep.reward + config.gamma * jnp.where(timestep.terminated, 0, next_value)
        entries = observation - agent.observation_space.start, action
        error = target - table[entries]
        visits = jnp.zeros_like(table).at[entries].add(1)
        table = table.at[entries].add(rate * error / visits[entries])
        return (table, vstate, timestep.observation), (jnp.abs(error).mean(), ends)

    carry = state.table, state.collector.vstate, state.collector.observation
    (table, vstate, observation), (errors, ends) = jax.lax.scan(step, carry, jnp.arange(config.num_steps))
    collector = Collector(vstate, observation, state.collector.episodes.add_batch(*ends))
    metrics = {**collector.metrics(config, state.update), "loss": errors.mean(), "epsilon": agent.epsilon}
    return TrainState(table, collector, key, state.update + 1), metrics


def _spaces(env: AnyEnv) -> tuple[Discrete, Discrete]:
    states, actions = env.observation_space, env.action_space
    assert isinstance(states, Discrete) and isinstance(actions, Discrete)  # the configuration refuses all other spaces
    return states, actions
