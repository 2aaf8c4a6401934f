"""AlphaZero for one player: a network that learns from searches in the environment itself.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play", 2018;
Danihelka et al., "Policy improvement by planning with Gumbel", 2022, whose search improves a policy with few
simulations.

    collect num_steps steps in num_envs environments:
        choose each action by a Gumbel search with num_simulations, which the network guides
    compute lambda returns: bootstrap where an episode was truncated, not where it terminated
    for num_epochs passes over the batch, for each of num_minibatches minibatches, take a step of Adam on
        policy loss  - mean sum_a pi(a) log p(a), where pi is the policy that the search improved
        value loss   value_coefficient mean (V - squash(return))^2 / 2

The model is the environment, and the search draws chance for itself. The agent is the network alone, which acts at
once; `search_with` puts a search on top of it.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jax.tree_util import Partial
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_at_least, require_probability, require_size
from funcenv.func_env import AnyEnv
from funcenv.search import SearchPolicy, make_search
from funcenv.search.model import as_model
from funcenv.search.tree import require_mctx
from funcenv.struct import PyTreeNode
from funcenv.train.actions import DISCRETE
from funcenv.train.agents.agent import ActorCriticAgent
from funcenv.train.agents.features import empty_moments, to_feature_batch, update_moments
from funcenv.train.agents.networks import NetworkConfig
from funcenv.train.shares import on_shares
from funcenv.train.updates.blocks import rows_of_envs
from funcenv.train.updates.collector import Collector
from funcenv.train.updates.epochs import Minibatches, scan_minibatches
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.learned import Learned, flat_optimizer
from funcenv.train.updates.learner_view import life_lost
from funcenv.train.updates.returns import lambda_returns
from funcenv.wrappers import StateObservation

Agent = ActorCriticAgent


@dataclasses.dataclass(frozen=True)
class Config(Minibatches, NetworkConfig):
    """The settings of an AlphaZero run; each is a flag of `funcenv train`."""

    actions: ClassVar = (DISCRETE,)
    initial_log_std: ClassVar[float] = 0.0  # the builder of networks asks for it; Discrete actions have none
    min_reward: ClassVar[None] = None  # type: ignore[misc]  # a search sees the rewards of the environment
    critic_observation: ClassVar[str] = ""  # type: ignore[misc]  # a search asks for values where nothing is observed

    num_simulations: int = 16
    """states that a search visits before each action"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    return_lambda: float = 0.95
    """lambda of the returns that values are learned from, in [0, 1]"""
    value_coefficient: float = 0.5
    """weight of the value loss"""
    normalize_observation: bool = False
    """normalize observations by their running mean and variance"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("num_simulations", self.num_simulations)
        require_at_least(0, "value_coefficient", self.value_coefficient, remedy="0 leaves the term out")
        require_probability(gamma=self.gamma, return_lambda=self.return_lambda)

    def make_env(self) -> AnyEnv:
        """Return the environment of the run, and check that it can be searched.

        Raises:
            ModuleNotFoundError: mctx is not installed.
            ValueError: the environment resets itself.
        """
        require_mctx()
        return as_model("alphazero", super().make_env())

    def optimizer(self) -> optax.GradientTransformation:
        """Return Adam with the annealed learning rate."""
        return flat_optimizer(optax.adam, self.schedule, self.max_grad_norm)


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    network: Learned
    collector: Collector
    observation_moments: Any  # those of the features; None if they are not normalized
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


class Batch(NamedTuple):
    """Steps, as the loss takes them; a leading axis `[num_envs * num_steps]`."""

    observation: Any
    weights: Float[Array, "... num_actions"]  # the policy that the search improved
    target: Float[Array, "..."]  # the squashed return


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    collector, timestep = Collector.start(StateObservation(env), config.num_envs, env_key)
    features = to_feature_batch(env.observation_space, timestep.observation["observation"])
    network = Learned.create(config.optimizer(), config.make_network(env).init(params_key, features))
    moments = empty_moments(features) if config.normalize_observation else None
    return TrainState(network, collector, moments, key, update=jnp.zeros((), jnp.int32))


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state, without a search; its values are squashed."""
    network, moments = config.make_network(env), state.observation_moments
    return Agent(state.network.params, network, env.observation_space, env.action_space, explore, moments)


def search_with(config: Config, env: AnyEnv, agent: Agent, explore: bool = False) -> SearchPolicy:
    """Return a policy that searches as in training, with the network of an agent.

    Args:
        config: the settings, of which it takes `num_simulations`, `gamma` and `terminal_on_life_loss`.
        env: the environment to search in; with `terminal_on_life_loss`, it is that of `config.make_env()`.
        agent: what `make_agent` returns.
        explore: whether actions are drawn as in training; otherwise they are those that the search prefers.
    """
    guide = Partial(_value_and_prior, agent)  # type: ignore[no-untyped-call]
    return make_search(
        env,
        guide,
        config.num_simulations,
        gamma=config.gamma,
        method="gumbel",
        exploration=float(explore),
        ends=life_lost if config.terminal_on_life_loss else None,
    )


def _value_and_prior(agent: Agent, state: Any, observation: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    policy: Any
    policy, value = agent.observe(observation)
    return unsquash(value), policy.logits


def squash(value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return values in the scale of a network, in which errors of returns of any size are of one size.

    Pohlen et al., "Observe and look further: achieving consistent performance on Atari", 2018, without the linear term.

    >>> squash(jnp.array([-3.0, 0.0, 8.0])).tolist()
    [-1.0, 0.0, 2.0]
    """
    return jnp.sign(value) * (jnp.sqrt(jnp.abs(value) + 1) - 1)


def unsquash(value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return values in the scale of the rewards, given those in the scale of a network.

    >>> unsquash(jnp.array([-1.0, 0.0, 2.0])).tolist()
    [-3.0, 0.0, 8.0]
    """
    return jnp.sign(value) * (jnp.square(jnp.abs(value) + 1) - 1)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Collect a batch and learn from it; return the next state and the metrics of this update."""
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    agent = make_agent(config, env, state)
    state, batch, searched_value = _collect(config, env, agent, state, collect_key)

    def step(network: Learned, minibatch: Batch) -> tuple[Learned, dict[str, jax.Array]]:
        gradient, losses = mean_gradients(functools.partial(search_loss, config, agent), network.params, minibatch)
        return network.step(config.optimizer(), gradient), losses

    network, losses = scan_minibatches(config, step, state.network, batch, learn_key)
    metrics = {**state.collector.metrics(config, state.update), **losses, "searched_value": searched_value}
    return state.replace(network=network, key=key, update=state.update + 1), metrics


def _collect(
    config: Config, env: AnyEnv, agent: Agent, state: TrainState, key: jax.Array
) -> tuple[TrainState, Batch, jax.Array]:
    """Take `num_steps` steps by searches and compute their targets; return also the mean value of the searches."""
    shown: StateObservation[Any, Any] = StateObservation(env)

    def search(agent: Agent, observation: Any, keys: jax.Array) -> Any:
        policy = search_with(config, env, agent, explore=True)
        return jax.vmap(policy.search)(jax.vmap(shown.state_of)(observation), observation["observation"], keys)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        keys = jax.random.split(jax.random.fold_in(key, step_index), config.num_envs)
        result = on_shares(search, observation, keys, common=(agent,))
        return result.action, (observation["observation"], result.action_weights, result.value)

    collector, (_, (observation, weights, value), timestep) = state.collector.run(shown, act, config.num_steps)
    final_observation = timestep.final_observation["observation"]
    next_value = on_shares(_values, final_observation, common=(agent,), axis=1)
    target = lambda_returns(
        timestep.reward, next_value, timestep.terminated, timestep.done, config.gamma, config.return_lambda
    )
    moments = update_moments(state.observation_moments, env.observation_space, observation)
    state = state.replace(collector=collector, observation_moments=moments)
    return state, rows_of_envs(Batch(observation, weights, squash(target))), value.mean()


def _values(agent: Agent, observation: Any) -> Float[Array, "num_steps num_envs"]:
    """Return the values of observations `[num_steps, num_envs, ...]`, in the scale of the rewards."""
    return unsquash(jax.vmap(jax.vmap(agent.observe))(observation)[1])


def search_loss(
    config: Config, agent: Agent, params: VariableDict, batch: Batch
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return the loss of a minibatch and its parts."""
    policy: Any
    policy, value = jax.vmap(agent.replace(params=params).observe)(batch.observation)
    chosen = batch.weights > 0  # an illegal action has the weight 0 and a logit near minus infinity
    log_probs = jnp.where(chosen, jax.nn.log_softmax(policy.logits), 0)
    policy_loss = -(batch.weights * log_probs).sum(-1).mean()
    value_loss = 0.5 * jnp.square(value - batch.target).mean()
    loss = policy_loss + config.value_coefficient * value_loss
    return loss, {
        "loss": loss,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": policy.entropy().mean(),
    }
