"""What algorithms with a replay buffer share: their settings, their state, and the frame of an update.

    collect num_steps steps in num_envs environments, and add them to the replay buffer
    num_gradient_steps times, once the buffer holds learning_starts steps, let the algorithm learn from a minibatch

DQN uses it as it is. SAC, TQC, SimBa and TD3, which learn an actor and critics over continuous actions, also share the
noise that they explore with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import optax
from flax.typing import VariableDict
from jaxtyping import Array, Bool, Float, Int, Key

from funcenv._compile.materialize import materialize
from funcenv.checks import require_at_least, require_below_one, require_probability, require_size
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode, field
from funcenv.train.actions import BOUNDED
from funcenv.train.agents.agent import NetworkAgent
from funcenv.train.agents.distributions import action_size, to_env_actions
from funcenv.train.agents.features import empty_moments, to_feature_batch, update_moments
from funcenv.train.agents.networks import Activation, NetworkConfig
from funcenv.train.devices import PER_ENV
from funcenv.train.updates.blocks import BlockConfig
from funcenv.train.updates.collector import Collector
from funcenv.train.updates.gradients import mean_gradients
from funcenv.train.updates.hindsight import Hindsight
from funcenv.train.updates.learned import Annealed, Learned, flat_optimizer
from funcenv.train.updates.noise import correlated_noise
from funcenv.train.updates.replay_buffer import ReplayBuffer, Steps, Transition
from funcenv.train.updates.reward_scale import RewardScale

Trained = TypeVar("Trained")
Scalars = dict[str, jax.Array]
Sample = Callable[[jax.Array], Transition]
"""Draws a minibatch with a key."""
GradientStep = Callable[[Any, Sample, jax.Array, jax.Array], tuple[Any, Scalars]]
"""Maps what is learned, a `Sample`, a key and the number of the step in the run to what is learned next and scalars."""


@dataclasses.dataclass(frozen=True)
class OffPolicyConfig(BlockConfig, NetworkConfig):
    """The settings of every algorithm that learns from a replay buffer."""

    num_envs: int = 8
    """environments that are stepped in parallel"""
    num_steps: int = 1
    """steps of each environment between updates"""
    buffer_size: int = 50_000
    """latest steps of all environments that are kept; rounded down to a multiple of num_envs * num_steps"""
    learning_starts: int = 1_000
    """steps of all environments before learning begins"""
    num_gradient_steps: int = 4
    """minibatches that are learned from in each update"""
    minibatch_size: int = 128
    """transitions in a minibatch"""
    n_step: int = 3
    """rewards in a target, fewer where the episode ends"""
    gamma: float = 0.99
    """discount factor, in [0, 1]"""
    hindsight_goals: int = 0
    """transitions with a goal that their episode reaches later, for each with its own goal (HER); 0 for none"""
    target_rate: float = 0.01
    """how far the target network moves towards the network after each gradient step, in [0, 1]"""
    normalize_observation: bool = False
    """shift and scale observations by their running mean and deviation"""
    normalize_reward: bool = False
    """divide rewards by the running deviation of the discounted return"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("num_envs", "num_steps", "num_gradient_steps", "minibatch_size", "n_step"):
            require_size(name, getattr(self, name))
        require_probability(gamma=self.gamma, target_rate=self.target_rate)
        require_at_least(0, "hindsight_goals", self.hindsight_goals, remedy="0 is for no hindsight")
        steps_before = self.num_steps * -(-self.learning_starts // self.batch_size)
        if not self.n_step <= steps_before <= self.buffer_steps:
            raise ValueError(
                "learning_starts must fill n_step steps of each environment, and not more than the buffer holds, got "
                f"{self.learning_starts} for n_step={self.n_step}, num_envs={self.num_envs} and "
                f"buffer_size={self.buffer_size}"
            )

    def make_env(self) -> AnyEnv:
        """Return the environment of the run.

        Raises:
            TypeError: `hindsight_goals` is set, and the environment has no goals.
            ValueError: As in `TrainConfig`; or `hindsight_goals` is set, and there is no time limit, or a wrapper
                changes what goals mean.
        """
        env = super().make_env()
        self.hindsight(env)
        return env

    def hindsight(self, env: AnyEnv) -> Hindsight | None:
        """Return how transitions get other goals, or None if they keep theirs."""
        return Hindsight.of(env, self.hindsight_goals) if self.hindsight_goals else None

    def allows_blocks(self, num_blocks: int) -> bool:
        """Return whether the blocks divide a minibatch."""
        return self.minibatch_size % num_blocks == 0

    @property
    def buffer_steps(self) -> int:
        """Steps of each environment that the replay buffer holds."""
        return self.buffer_size // self.batch_size * self.num_steps

    @property
    def first_update(self) -> int:
        """Number of the first update in which an agent learns, counted from 0."""
        return max(-(-self.learning_starts // self.batch_size) - 1, 0)

    @property
    def num_optimizer_steps(self) -> int:
        """Gradient steps in the whole run."""
        return max(self.num_updates - self.first_update, 1) * self.num_gradient_steps

    def is_ready(self, update: Int[Array, ""]) -> Bool[Array, ""]:
        """Return whether an agent learns in its update number `update`, counted from 0."""
        return update >= self.first_update


@dataclasses.dataclass(frozen=True)
class ActorCriticsConfig(OffPolicyConfig, Annealed):
    """The settings of every algorithm with a replay buffer, an actor and critics over continuous actions."""

    actions: ClassVar = (BOUNDED,)

    learning_rate: float = 1e-3
    """step size of Adam for everything that is learned"""
    anneal_learning_rate: bool = False
    """decrease the learning rate linearly to 0 over the run"""
    noise_correlation: float = 0.0
    """correlation of the exploration noise of consecutive steps; the distribution of each action stays the same"""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """widths of the hidden layers of actor and critics"""
    activation: Activation = "relu"
    """activation function of the hidden layers"""
    layer_norm: bool = False
    """normalize the inputs of each activation function, or of each residual block"""
    residual_width: int = 0
    """width of what residual blocks add to, each with a hidden layer of its own; 0 for hidden layers in a row"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_below_one(noise_correlation=self.noise_correlation)
        require_at_least(0, "residual_width", self.residual_width, remedy="0 is for hidden layers in a row")

    @property
    def num_critic_steps(self) -> int:
        """Steps of the critics' optimizer in the whole run."""
        return self.num_optimizer_steps

    def optimizer(self, num_steps: int | None = None) -> optax.GradientTransformation:
        """Return the optimizer of what takes `num_steps` steps in the whole run, None for one each gradient step."""
        return flat_optimizer(optax.adam, self.schedule_over(num_steps or self.num_optimizer_steps))


class OffPolicyState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    learned: Any  # what gradient steps change; each algorithm says what
    buffer: ReplayBuffer
    noise: Any = field(metadata=PER_ENV)  # the latest, `[num_envs, action_size]`; None if actions are discrete
    collector: Collector
    observation_moments: Any  # those of the features; None where observations are not normalized
    reward_scale: RewardScale | None  # None where rewards are not
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


def first_state(
    config: OffPolicyConfig,
    learned: Any,
    collector: Collector,
    timestep: Any,
    features: jax.Array,
    action: Any,
    noise: Any,
    key: jax.Array,
) -> OffPolicyState:
    """Return the train state of new parameters, with an empty buffer for actions like `action`, `[num_envs, ...]`."""
    step = Steps(
        timestep.observation, action, timestep.reward, timestep.done, timestep.done, timestep.final_observation
    )
    return OffPolicyState(
        learned=learned,
        buffer=ReplayBuffer.empty(step, config.buffer_steps, config.block_count),
        noise=noise,
        collector=collector,
        observation_moments=empty_moments(features) if config.normalize_observation else None,
        reward_scale=RewardScale.empty(timestep.reward) if config.normalize_reward else None,
        key=key,
        update=jnp.zeros((), jnp.int32),
    )


def update(
    config: OffPolicyConfig,
    env: AnyEnv,
    state: OffPolicyState,
    act: Callable[[Any, jax.Array], Any],
    gradient_step: GradientStep,
    learn_key: jax.Array,
) -> tuple[OffPolicyState, Scalars]:
    """Collect steps, add them to the replay buffer, and learn from it; return the next state and the metrics.

    Args:
        config: The configuration.
        env: The environment.
        state: The state before, with the key and the noise of the state after.
        act: Maps the observations of all environments and the index of the step to raw actions.
        gradient_step: How the algorithm learns from a minibatch.
        learn_key: Determines the minibatches and what else is drawn in gradient steps.
    """

    def act_and_keep(observation: Any, step_index: jax.Array) -> tuple[Any, Any]:
        action = act(observation, step_index)
        return to_env_actions(env.action_space, action), action

    collector, experience = state.collector.run(env, act_and_keep, config.num_steps)
    buffer, hindsight = state.buffer.add(Steps.of(experience)), config.hindsight(env)
    moments = update_moments(state.observation_moments, env.observation_space, experience.observation)
    reward_scale = state.reward_scale
    if reward_scale is not None:
        reward_scale, _ = reward_scale.scale(experience.timestep.reward, experience.timestep.done, config.gamma)

    def sample(key: jax.Array) -> Transition:
        batch = buffer.sample(key, config.minibatch_size, config.n_step, config.gamma, hindsight)
        if reward_scale is None:
            return batch
        # The rewards of several steps add up, so that none of them is clipped.
        return batch._replace(reward=reward_scale.moments.scale(batch.reward, clip=None))

    def step(learned: Any, index: jax.Array) -> tuple[Any, Scalars]:
        number = state.update * config.num_gradient_steps + index
        return gradient_step(learned, sample, jax.random.fold_in(learn_key, index), number)

    learned, scalars = learn_when_ready(config, state.update, step, state.learned)
    metrics = {**collector.metrics(config, state.update), **scalars}
    state = state.replace(
        learned=learned,
        buffer=buffer,
        collector=collector,
        observation_moments=moments,
        reward_scale=reward_scale,
        update=state.update + 1,
    )
    return state, metrics


def learn_when_ready(
    config: OffPolicyConfig,
    update: Int[Array, ""],
    step: Callable[[Trained, jax.Array], tuple[Trained, Scalars]],
    learned: Trained,
) -> tuple[Trained, Scalars]:
    """Take the gradient steps of an update, if learning has begun.

    Args:
        config: The configuration.
        update: The number of the update, counted from 0.
        step: Maps what is learned and the index of the gradient step to what is learned next, and scalars.
        learned: What is learned before.

    Returns:
        What is learned after, and the means of the scalars, or zeros before learning begins.
    """

    def learn(learned: Trained) -> tuple[Trained, Scalars]:
        learned, scalars = jax.lax.scan(step, learned, jnp.arange(config.num_gradient_steps))
        return learned, jax.tree.map(jnp.mean, scalars)

    _, shapes = jax.eval_shape(learn, learned)
    zeros = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    # A branch, unlike a choice of results, also keeps XLA from computing what was added to the buffer again where it is
    # read, for which it would copy parts of the buffer.
    result: tuple[Trained, Scalars] = jax.lax.cond(
        config.is_ready(update), learn, lambda learned: (learned, zeros), learned
    )
    return result


def init_actor_critics(
    config: ActorCriticsConfig, env: AnyEnv, key: jax.Array, make_learned: Callable[[Learned, Learned], Any]
) -> OffPolicyState:
    """Return a new train state for one seed.

    Args:
        config: The configuration.
        env: The environment.
        key: Determines parameters, noise and episodes.
        make_learned: Maps the new actor and critics to what gradient steps change.
    """
    actor_key, critic_key, noise_key, env_key, key = jax.random.split(key, 5)
    collector, timestep = Collector.start(env, config.num_envs, env_key)
    noise = jax.random.normal(noise_key, (config.num_envs, action_size(env.action_space)))
    networks, optimizer = config.make_network(env), config.optimizer()
    features = to_feature_batch(env.observation_space, timestep.observation)
    actor = Learned.create(optimizer, networks.actor.init(actor_key, features))
    critics = Learned.create(optimizer, networks.critics.init(critic_key, features, noise))
    return first_state(config, make_learned(actor, critics), collector, timestep, features, noise, noise, key)


def update_actor_critics(
    config: ActorCriticsConfig,
    env: AnyEnv,
    state: OffPolicyState,
    act: Callable[[Any, Float[Array, "num_envs action_size"]], jax.Array],
    gradient_step: GradientStep,
) -> tuple[OffPolicyState, Scalars]:
    """Do an update whose actions depend on noise; before learning begins, they are uniform.

    Args:
        config: The configuration.
        env: The environment.
        state: The state before.
        act: Maps the observations of all environments and standard normal noise to actions in (-1, 1).
        gradient_step: See `update`.
    """
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    noise = correlated_noise(state.noise, collect_key, config.num_steps, config.noise_correlation)
    is_ready = config.is_ready(state.update)

    def explore(observation: Any, step_index: jax.Array) -> jax.Array:
        uniform = 2 * jax.scipy.stats.norm.cdf(noise[step_index]) - 1
        return jnp.where(is_ready, act(observation, noise[step_index]), uniform)

    return update(config, env, state.replace(noise=noise[-1], key=key), explore, gradient_step, learn_key)


def critic_loss(
    value: Float[Array, "num_critics batch"], target: Float[Array, "batch"]
) -> tuple[Float[Array, ""], Scalars]:
    """Return the squared errors of several critics, added up, and what to report of them."""
    loss = 0.5 * jnp.square(value - target[None]).mean(1).sum()
    return loss, {"loss": loss, "mean_value": value.mean()}


def step_critics(
    config: ActorCriticsConfig,
    env: AnyEnv,
    agent: NetworkAgent,
    critics: Learned,
    batch: Transition,
    noise: jax.Array,
    bootstrap: Callable[[Any, jax.Array], Float[Array, "batch *targets"]],
    loss_of: Callable[[Any, Any], tuple[jax.Array, Scalars]] = critic_loss,
) -> tuple[Learned, Scalars]:
    """Take a step of Adam on the errors of the critics.

    Args:
        config: The configuration.
        env: The environment.
        agent: The policy that converts observations to features.
        critics: The critics before.
        batch: The minibatch.
        noise: Standard normal numbers, a row for each transition.
        bootstrap: Maps the features of the next observations, and the noise, to the values of the next states.
        loss_of: Maps what the critics say, and the targets, to the loss and what to report of it.
    """

    def loss(params: VariableDict, rows: tuple[Transition, jax.Array]) -> tuple[jax.Array, Scalars]:
        batch, noise = rows
        features, next_features = map(jax.vmap(agent.features), (batch.observation, batch.next_observation))
        next_value = bootstrap(next_features, noise)
        reward, discount = (align(leaf, next_value) for leaf in (batch.reward, batch.discount))
        value = config.make_network(env).critics.apply(params, features, batch.action)
        target = materialize(reward + discount * next_value)  # or XLA computes it again in each bin of a loss
        return loss_of(value, target)

    gradient, losses = mean_gradients(loss, critics.params, (batch, noise))
    return critics.step(config.optimizer(config.num_critic_steps), gradient), losses


def align(numbers: Float[Array, "batch"], values: Float[Array, "batch *values"]) -> Float[Array, "batch *ones"]:
    """Return a number for each row of `values`, in a shape that broadcasts with them.

    >>> align(jnp.zeros(3), jnp.zeros((3, 5))).shape, align(jnp.zeros(3), jnp.zeros(3)).shape
    ((3, 1), (3,))
    """
    return jnp.expand_dims(numbers, range(numbers.ndim, values.ndim))
