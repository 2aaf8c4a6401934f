"""Augmented random search: a policy learned from the returns of copies that differ a little, without gradients.

Mania, Guy and Recht, "Simple random search of static linear policies is competitive for reinforcement learning", 2018.

    draw num_envs / 2 directions in the space of the parameters, from a standard normal distribution
    for each of them, play num_steps steps with parameters + noise * direction in one environment, and with
        parameters - noise * direction in another, which begins in the same state with the same key
    score each copy: the mean return of its episodes, or the rewards so far if none has ended
    keep elite_fraction of the directions, those whose better copy has the highest scores
    parameters += learning_rate / deviation of the kept scores * mean (score of + less score of -) * direction

The policy is linear by default, in observations that are normalized by their running moments, and begins at zero.
Episodes begin anew in each update.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_positive, require_probability
from funcenv.func_env import AnyEnv
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode
from funcenv.train.agents.agent import NetworkAgent
from funcenv.train.agents.distributions import (
    action_size,
    option_counts,
    policy_over_options,
    restrict,
    to_env_actions,
)
from funcenv.train.agents.features import empty_moments, to_feature_batch, update_moments
from funcenv.train.agents.networks import (
    ACTIVATIONS,
    Activation,
    Dtype,
    NetworkConfig,
    NetworkFunction,
    encode,
    hidden_layer,
    make_encoder,
)
from funcenv.train.shares import sum_over_rows
from funcenv.train.updates.collector import Collector
from funcenv.train.updates.learned import Annealed, Learned
from funcenv.vector import VectorTimestep


@dataclasses.dataclass(frozen=True)
class Config(Annealed, NetworkConfig):
    """The settings of a run of augmented random search; each is a flag of `funcenv train`."""

    critic_observation: ClassVar[str] = ""  # type: ignore[misc]  # there is no critic

    num_envs: int = 32
    """environments that are stepped in parallel, two for each direction"""
    num_steps: int = 1000
    """steps of each environment in an update; best as long as an episode, or longer"""
    learning_rate: float = 0.05
    """step size; differences between scores are divided by the deviation of the scores"""
    anneal_learning_rate: bool = False
    """decrease the learning rate linearly to 0 over the run"""
    noise: float = 0.05
    """distance of the copies from the policy, in units of a direction from a standard normal distribution"""
    elite_fraction: float = 0.5
    """part of the directions that the policy follows, in (0, 1]"""
    normalize_observation: bool = True
    """normalize observations by their running mean and variance"""
    network: NetworkFunction = "funcenv.train.algorithms.ars:make_policy"
    """function (config, env) that returns the network, as "module:function\""""
    hidden_sizes: tuple[int, ...] = ()
    """widths of the hidden layers; none for a policy that is linear in the features"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_envs % 2:
            raise ValueError(f"num_envs must be even, got {self.num_envs}; each direction is tried in two environments")
        require_positive(noise=self.noise, elite_fraction=self.elite_fraction)
        require_probability(elite_fraction=self.elite_fraction)

    @property
    def num_elites(self) -> int:
        """Directions that the policy follows in an update, at least one."""
        return max(1, round(self.elite_fraction * (self.num_envs // 2)))

    @property
    def num_optimizer_steps(self) -> int:
        """Steps of the policy in the whole run."""
        return self.num_updates

    @property
    def num_copies(self) -> int:
        """Copies of the policy, one for each environment."""
        return self.num_envs

    def optimizer(self) -> optax.GradientTransformation:
        """Return plain gradient steps."""
        return optax.sgd(self.schedule)


class Policy(nn.Module):
    """The preference for each discrete action, or the elements of a continuous one; zero until it has learned."""

    action_size: int
    hidden_sizes: tuple[int, ...]
    activation: Activation
    encoder: nn.Module | None = None
    dtype: Dtype = "float32"

    @nn.compact
    def __call__(self, features: Any) -> Float[Array, "*batch action_size"]:
        """Return the preferences or the elements."""
        x = encode(self.encoder, features)
        for width in self.hidden_sizes:
            x = ACTIVATIONS[self.activation](hidden_layer(width, self.dtype)(x).astype(float))
        return nn.Dense(self.action_size, kernel_init=nn.initializers.zeros)(x)


def make_policy(config: Any, env: AnyEnv) -> Policy:
    """Return the default network for an environment's spaces."""
    return Policy(
        action_size=action_size(env.action_space),
        hidden_sizes=config.hidden_sizes,
        activation=config.activation,
        encoder=make_encoder(config, env),
        dtype=config.dtype,
    )


class Agent(NetworkAgent):
    """A deterministic policy, `agent(observation, key) -> action`; what explores are its copies."""

    def act(self, features: Any, legal: Any, key: jax.Array | None) -> jax.Array:
        """Return the preferred one of the legal actions, or a continuous action."""
        output: Any = self.network.apply(self.params, features)
        if isinstance(self.action_space, Box):
            return jnp.asarray(output)
        return restrict(policy_over_options(output, option_counts(self.action_space)), legal).mode()


class TrainState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    policy: Learned
    collector: Collector
    observation_moments: Any  # those of the features; None if they are not normalized
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    params_key, env_key, key = jax.random.split(key, 3)
    collector, timestep = Collector.start(env, config.num_envs, env_key)
    features = to_feature_batch(env.observation_space, timestep.observation)
    policy = Learned.create(config.optimizer(), config.make_network(env).init(params_key, features))
    moments = empty_moments(features) if config.normalize_observation else None
    return TrainState(policy, collector, moments, key, update=jnp.zeros((), jnp.int32))


def make_agent(config: Config, env: AnyEnv, state: TrainState, explore: bool = False) -> Agent:
    """Return the policy of a train state, which acts in the same way whether it explores or not."""
    network, moments = config.make_network(env), state.observation_moments
    return Agent(state.policy.params, network, env.observation_space, env.action_space, explore, moments)


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Play with copies of the policy, and follow the best; return the next state and the metrics of this update."""
    direction_key, env_key, key = jax.random.split(state.key, 3)
    params, restore = ravel_pytree(state.policy.params)
    directions = jax.random.normal(direction_key, (config.num_envs // 2, params.size), params.dtype)
    offsets = config.noise * jnp.stack([directions, -directions], axis=1)
    copies = jax.vmap(restore)(params[None] + offsets.reshape(config.num_envs, params.size))
    agent = make_agent(config, env, state)

    def raw_action(params: Any, features: Any, legal: Any) -> jax.Array:
        return agent.replace(params=params).act(features, legal, None)

    def act(observation: Any, step_index: jax.Array) -> tuple[Any, None]:
        features, legal = jax.vmap(agent.features)(observation), jax.vmap(agent.legal)(observation)
        return to_env_actions(env.action_space, jax.vmap(raw_action)(copies, features, legal)), None

    env_keys = jnp.repeat(jax.random.split(env_key, config.num_envs // 2), 2)
    collector = state.collector.restart(env, env_keys)
    collector, experience = collector.run(env, act, config.num_steps)
    scores = _on_all_devices(score(experience.timestep)).reshape(-1, 2)
    gradient = -ascent(directions, scores, config.num_elites)
    moments = update_moments(state.observation_moments, env.observation_space, experience.observation)
    policy = state.policy.step(config.optimizer(), restore(gradient))
    metrics = {
        **collector.metrics(config, state.update),
        "loss": -scores.mean(),
        "best_score": scores.max(),
        "score_deviation": scores.std(),
    }
    return TrainState(policy, collector, moments, key, state.update + 1), metrics


def _on_all_devices(scores: Float[Array, "num_envs"]) -> Float[Array, "num_envs"]:
    """Return the scores of all environments, of which each device has those that it holds."""

    def in_place(index: jax.Array, own: jax.Array) -> jax.Array:
        return jnp.zeros(scores.shape, scores.dtype).at[index].set(own)

    return sum_over_rows(in_place, jnp.arange(scores.size), scores)


def score(timestep: VectorTimestep[Any]) -> Float[Array, "num_envs"]:
    """Return the mean return of the episodes that ended in an environment, or its rewards so far if none has.

    Args:
        timestep: Steps `[num_steps, num_envs]` since the beginning of an episode. With `terminal_on_life_loss`, each
            life is an episode.
    """
    num_episodes = timestep.done.sum(0, dtype=timestep.reward.dtype)
    has_ended = jax.lax.cummax(timestep.done.astype(jnp.int32), axis=0, reverse=True) > 0  # the episode of each step
    total = jnp.where(has_ended, timestep.reward, 0).sum(0)
    return jnp.where(num_episodes > 0, total / jnp.maximum(num_episodes, 1), timestep.reward.sum(0))


def ascent(
    directions: Float[Array, "num_directions num_params"], scores: Float[Array, "num_directions 2"], num_elites: int
) -> Float[Array, "num_params"]:
    """Return the direction in which the parameters move.

    Args:
        directions: What was added to the parameters, and subtracted from them.
        scores: The scores of both copies.
        num_elites: The number of directions that count.

    >>> ascent(jnp.eye(2), jnp.array([[3.0, 1.0], [0.0, 0.0]]), num_elites=1).tolist()
    [2.0, 0.0]
    """
    _, elites = jax.lax.top_k(scores.max(1), num_elites)
    kept = scores[elites]
    slope = (kept[:, 0] - kept[:, 1]) @ directions[elites] / num_elites
    return slope / (kept.std() + 1e-8)
