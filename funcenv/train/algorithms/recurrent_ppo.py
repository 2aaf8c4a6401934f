"""Proximal policy optimization (PPO) with a memory: a recurrent network, for tasks whose observations do not tell all.

Everything that `funcenv.train.algorithms.ppo` defines is as there, but for what the file adds, from top to bottom: the
settings of the memory, an agent with a memory, and losses of whole sequences.

    the environment is in a `PolicyMemory`: each action writes the memory of its policy, the next observation shows it,
        and a new episode begins with zeros; between updates, the environments therefore keep it
    collect num_steps steps in num_envs environments
    compute advantages as PPO does; the value of a state is that of its observation and memory
    for num_epochs passes over the environments, for each of num_minibatches groups of them,
        run the network again over their num_steps steps, from the memory that they began with, with zeros where an
        episode began, and take a step of Adam on PPO's loss: gradients go back through time to the first of these steps
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.typing import VariableDict
from jaxtyping import Array, Bool, Float

from funcenv.checks import require_size
from funcenv.func_env import AnyEnv
from funcenv.train.agents.agent import ActorCriticAgent
from funcenv.train.agents.distributions import Distribution, restrict, to_env_action, to_env_actions
from funcenv.train.agents.features import Views
from funcenv.train.agents.networks import (
    ACTIVATIONS,
    ActorCritic,
    NetworkFunction,
    encode,
    hidden_layer,
    make_actor_critic,
)
from funcenv.train.algorithms import ppo
from funcenv.train.shares import on_shares
from funcenv.train.updates.learner_view import is_reset
from funcenv.wrappers.policy_memory import PolicyMemory

TrainState = ppo.TrainState
Cell = Literal["gru", "lstm"]


@dataclasses.dataclass(frozen=True)
class Config(ppo.Config):
    """The settings of a run of recurrent PPO; each is a flag of `funcenv train`."""

    num_minibatches: int = 4
    """minibatches in a batch, each of whole sequences; divides num_envs"""
    network: NetworkFunction = "funcenv.train.algorithms.recurrent_ppo:make_recurrent_actor_critic"
    """function (config, env) that returns the network, as "module:function\""""
    cell: Cell = "gru"
    """kind of the recurrent layer"""
    memory_size: int = 64
    """width of the recurrent layer"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("memory_size", self.memory_size)
        if self.num_envs % self.num_minibatches:
            raise ValueError(
                f"num_minibatches must divide num_envs, got {self.num_minibatches} for {self.num_envs}; "
                "a minibatch holds the whole sequences of some environments"
            )

    def allows_blocks(self, num_blocks: int) -> bool:
        """Return whether the minibatches divide the environments of a block."""
        return self.num_envs // num_blocks % self.num_minibatches == 0

    @property
    def memory_floats(self) -> int:
        """Numbers in the memory of a policy: an LSTM keeps two for each unit."""
        return self.memory_size * (2 if self.cell == "lstm" else 1)

    def make_env(self) -> AnyEnv:
        """Return the environment of the run in a `PolicyMemory`, and check that a network can be made for it."""
        return PolicyMemory(super().make_env(), self.memory_floats)

    def make_network(self, env: AnyEnv) -> Any:
        """Return the network: from features and a memory to a policy, a value and the next memory."""
        return super().make_network(env.env if isinstance(env, PolicyMemory) else env)


class RecurrentActorCritic(nn.Module):
    """A layer, a recurrent cell, and separate policy and value networks of what the cell returns.

    >>> heads = ActorCritic(3, is_continuous=False, hidden_sizes=(), activation="tanh", initial_log_std=0.0)
    >>> network = RecurrentActorCritic(heads, cell="gru", memory_size=8)
    >>> (_, value, memory), _ = network.init_with_output(jax.random.key(0), jnp.zeros((5, 4)), jnp.zeros((5, 8)))
    >>> value.shape, memory.shape
    ((5,), (5, 8))
    """

    heads: ActorCritic
    cell: Cell
    memory_size: int
    encoder: nn.Module | None = None

    @nn.compact
    def __call__(
        self, features: Any, memory: Float[Array, "*batch memory_floats"]
    ) -> tuple[Distribution, Float[Array, "*batch"], Float[Array, "*batch memory_floats"]]:
        """Return the policy, the value, and the memory after these features."""
        dtype = memory.dtype  # that of the memory's space, also where parameters have 64 bits
        x = encode(self.encoder, features)
        x = hidden_layer(self.memory_size, self.heads.dtype, nn.initializers.orthogonal(2**0.5))(x).astype(float)
        x = ACTIVATIONS[self.heads.activation](x)
        if self.cell == "gru":
            memory, x = nn.GRUCell(self.memory_size)(memory, x)
        else:
            cell, hidden = jnp.split(memory, 2, axis=-1)
            halves, x = nn.OptimizedLSTMCell(self.memory_size)((cell, hidden), x)
            memory = jnp.concatenate(halves, axis=-1)
        return (*self.heads(Views(x, features.critic) if isinstance(features, Views) else x), memory.astype(dtype))


def make_recurrent_actor_critic(config: Any, env: AnyEnv) -> RecurrentActorCritic:
    """Return the default network of recurrent PPO for an environment's spaces."""
    heads = make_actor_critic(config, env)
    return RecurrentActorCritic(heads.clone(encoder=None), config.cell, config.memory_size, heads.encoder)


class Agent(ActorCriticAgent):
    """A policy with a memory: `agent(observation, key) -> action`, deterministic unless `explore` is set.

    Observations and actions are those of `PolicyMemory`: `agent({"memory": ..., "observation": ...}, key)` returns
    `{"action": ..., "memory": ...}`, and the first memory of an episode is `agent.empty_memory()`. Its features are the
    pair of the network's input and the memory.
    """

    def empty_memory(self) -> Float[Array, "memory_floats"]:
        """Return the memory at the beginning of an episode."""
        return jnp.zeros(self.observation_space["memory"].shape, jnp.float32)  # type: ignore[index]  # it is a Dict

    def features(self, observation: Any) -> Any:
        """Return the network's input for one observation, and the memory."""
        return super().features(observation), observation["memory"]

    def step(
        self, features: Any, legal: Any = None
    ) -> tuple[Distribution, Float[Array, "*batch"], Float[Array, "*batch memory_floats"]]:
        """Return the distribution over raw actions, those that are legal, the value, and the next memory."""
        output: Any = self.network.apply(self.params, *features)
        policy, value, memory = output
        return restrict(policy, legal), value, memory

    def policy_and_value(self, features: Any, legal: Any = None) -> tuple[Distribution, Float[Array, "*batch"]]:
        """Return the distribution over raw actions, those that are legal, and the value of the state."""
        return self.step(features, legal)[:2]

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation, and what the memory becomes."""
        policy, _, memory = self.step(self.features(observation), self.legal(observation))
        action = to_env_action(self.action_space, policy.sample(key) if self.explore else policy.mode())
        return {"action": action, "memory": memory}


class Batch(ppo.Batch):
    """What the loss needs of each sequence; leading axes `[num_envs, num_steps]`."""

    is_first: Bool[Array, "num_envs num_steps"]  # whether an episode began here, within the sequence
    memory: Float[Array, "num_envs memory_floats"]  # before the first step


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    return ppo.first_state(config, env, key, lambda collector, features: (features, collector.observation["memory"]))


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state."""
    agent = ppo.make_agent(config, env, state, explore)
    action_space = env.env.action_space  # type: ignore[attr-defined]  # the configuration made a PolicyMemory
    return Agent(**vars(agent) | {"action_space": action_space})


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    agent = make_agent(config, env, state)
    state, batch = _collect(config, env, agent, state, collect_key)
    loss = functools.partial(_loss, config, agent)
    return ppo.learn(config, state.replace(key=key), batch, loss, learn_key)


def _collect(config: Config, env: AnyEnv, agent: Agent, state: TrainState, key: jax.Array) -> tuple[TrainState, Batch]:
    """Take `num_steps` steps with a policy and compute their advantages."""

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        features, legal = jax.vmap(agent.features)(observation), jax.vmap(agent.legal)(observation)
        policy, value, memory = agent.step(features, legal)
        action = policy.sample(jax.random.fold_in(key, step_index))
        env_action = to_env_actions(agent.action_space, action)
        return {"action": env_action, "memory": memory}, (features, legal, action, policy.log_prob(action), value)

    collector, experience = state.collector.run(env, act, config.num_steps)
    (features, memory), legal, action, log_prob, value = experience.extras

    def look_back(agent: Agent, final_observation: Any) -> jax.Array:
        return agent.value(jax.vmap(jax.vmap(agent.features))(final_observation))

    final_value = on_shares(look_back, experience.timestep.final_observation, common=(agent,), axis=1)
    state = state.replace(collector=collector)
    state, advantage = ppo.estimate_advantages(config, env, state, experience, value, final_value)
    resets = is_reset(experience.timestep)
    is_first = jnp.concatenate([jnp.zeros_like(resets[:1]), resets[:-1]])
    steps = ppo.Batch(features, legal, action, log_prob, value, advantage, target=advantage + value)
    batch = Batch(**vars(_swap_axes(steps)), is_first=is_first.T, memory=memory[0])
    return state, batch


def _loss(config: Config, agent: Agent, params: VariableDict, batch: Batch) -> tuple[jax.Array, dict[str, jax.Array]]:
    return ppo.clipped_loss(config, *replay(agent.replace(params=params), batch), batch)


def replay(agent: Agent, batch: Batch) -> tuple[Distribution, Float[Array, "num_envs num_steps"]]:
    """Run the network over the sequences, and return the policies and values of all steps."""

    def step(memory: jax.Array, inputs: Any) -> tuple[jax.Array, Any]:
        features, legal, is_first = inputs
        memory = jnp.where(is_first[:, None], 0, memory)
        policy, value, memory = agent.step((features, memory), legal)
        return memory, (policy, value)

    _, output = jax.lax.scan(step, batch.memory, _swap_axes((batch.features, batch.legal, batch.is_first)))
    policy, value = _swap_axes(output)
    return policy, value


def _swap_axes(tree: Any) -> Any:
    """Swap the axes of the steps and of the environments."""
    return jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), tree)
