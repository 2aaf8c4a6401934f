"""Play many steps in one compiled program: collect experience, or evaluate a policy.

A policy is a function `policy(observation, key) -> action` of one environment; it is mapped over all of them, and
every environment has its own stream of policy keys. A policy that is a pytree, such as `jax.tree_util.Partial(apply,
params)`, is an argument of the compiled program: new parameters do not compile it again. A plain function is a part of
the program, compiled once for each function object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_size
from funcenv.func_env import FuncEnv
from funcenv.random import require_typed_key
from funcenv.spaces import Space
from funcenv.struct import PyTreeNode, field
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep, call_key

Policy = Callable[[Any, jax.Array], Any]
Collect = Callable[[VectorTimestep[Any], Any], Any]


class Trajectory(NamedTuple):
    """Everything that happened; every leaf has leading axes `[num_steps, num_envs]`."""

    timestep: VectorTimestep[Any]  # what each action led to
    action: Any


class RolloutStatistics(PyTreeNode):
    """The episodes that ended in a rollout; NaN where a figure needs at least one and there was none."""

    count: Int[Array, ""]
    mean_return: Float[Array, ""]
    std_return: Float[Array, ""]
    min_return: Float[Array, ""]
    max_return: Float[Array, ""]
    mean_length: Float[Array, ""]
    std_length: Float[Array, ""]
    min_length: Float[Array, ""]
    max_length: Float[Array, ""]


class Evaluation(PyTreeNode):
    """The episodes of an evaluation, one after another; every field has shape `[num_episodes]`."""

    episode_return: Float[Array, "num_episodes"]
    episode_length: Int[Array, "num_episodes"]
    terminated: Bool[Array, "num_episodes"]
    truncated: Bool[Array, "num_episodes"]
    finished: Bool[Array, "num_episodes"]  # False where the evaluation stopped at `max_steps`

    @property
    def mean_return(self) -> Float[Array, ""]:
        """Mean over episodes."""
        return self.episode_return.mean()

    @property
    def std_return(self) -> Float[Array, ""]:
        """Standard deviation over episodes."""
        return self.episode_return.std()


class RandomPolicy(PyTreeNode):
    """Draws actions from a space, whatever it sees."""

    action_space: Space[Any] = field(pytree_node=False)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """An action; the observation is not looked at."""
        del observation
        return self.action_space.sample(key)


def random_policy(env: FuncEnv[Any, Any, Any] | FuncVectorEnv[Any, Any, Any]) -> RandomPolicy:
    """The policy that samples the action space of an environment, or of each one in a vector environment.

    >>> import funcenv
    >>> policy = random_policy(funcenv.make("Pendulum-v1"))
    >>> policy(None, funcenv.key(0)).shape
    (1,)
    """
    return RandomPolicy(env.single_action_space if isinstance(env, FuncVectorEnv) else env.action_space)


def everything(timestep: VectorTimestep[Any], action: Any) -> Trajectory:
    """The default of `rollout(collect=...)`: keep all."""
    return Trajectory(timestep=timestep, action=action)


def rollout(
    venv: FuncVectorEnv[Any, Any, Any],
    policy: Policy,
    key: jax.Array,
    num_steps: int,
    *,
    vstate: VectorState[Any] | None = None,
    collect: Collect | None = everything,
) -> tuple[VectorState[Any], Any, RolloutStatistics]:
    """Play `num_steps` steps in every environment, as one compiled program.

    Args:
        venv: the environments.
        policy: `policy(observation, key) -> action`, for one environment.
        key: split into a key for `venv.reset` and a key for the policy. With `vstate` all of it is the policy's.
        num_steps: at least 1.
        vstate: where to go on; by default the environments are reset first.
        collect: `collect(timestep, action)` says what to keep of a step: the `VectorTimestep` that the actions led to,
            and the actions, both `[num_envs, ...]`. None keeps nothing.

    Returns:
        The last vector state, what `collect` kept with a leading axis `[num_steps]` (None for nothing), and statistics
        of the episodes that ended. What the agents saw before the first action is `venv.observation(vstate)` of the
        `vstate` passed in.

    Raises:
        ValueError: `num_steps` below 1.
        TypeError: a legacy key.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> venv = FuncVectorEnv(env, num_envs=8)
    >>> policy, collect = random_policy(env), lambda timestep, action: timestep.reward
    >>> vstate, rewards, statistics = rollout(venv, policy, funcenv.key(0), num_steps=200, collect=collect)
    >>> rewards.shape, bool(statistics.count > 0)
    ((200, 8), True)
    """
    num_steps = require_size("num_steps", num_steps)
    require_typed_key(key)
    static_policy, policy = _partition(policy)
    return _rollout(venv, policy, key, vstate, static_policy, num_steps, collect)


def evaluate(
    env: FuncEnv[Any, Any, Any], policy: Policy, num_episodes: int, key: jax.Array, *, max_steps: int = 100_000
) -> Evaluation:
    """Play whole episodes, all at once, as one compiled program, and report each one's return.

    Every episode counts once, however short; episodes that end early wait for the others.

    Args:
        env: the environment.
        policy: `policy(observation, key) -> action`.
        num_episodes: at least 1.
        key: episode i depends on the key and i alone.
        max_steps: stop here even if episodes are unfinished, as those of an environment without end would be; they are
            marked in `finished`.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> evaluation = evaluate(env, random_policy(env), num_episodes=10, key=funcenv.key(0))
    >>> evaluation.episode_return.shape, bool(evaluation.finished.all())
    ((10,), True)
    """
    num_episodes, max_steps = require_size("num_episodes", num_episodes), require_size("max_steps", max_steps)
    require_typed_key(key)
    static_policy, policy = _partition(policy)
    venv = FuncVectorEnv(env, num_episodes, AutoresetMode.DISABLED)
    return _evaluate(venv, policy, key, static_policy, max_steps)


def _partition(policy: Policy) -> tuple[Policy | None, Any]:
    """A plain function is static, a pytree dynamic."""
    is_function = jax.tree_util.all_leaves([policy])
    return (policy, None) if is_function else (None, policy)


@functools.partial(jax.jit, static_argnames=("static_policy", "num_steps", "collect"))
def _rollout(
    venv: FuncVectorEnv[Any, Any, Any],
    policy: Any,
    key: jax.Array,
    vstate: VectorState[Any] | None,
    static_policy: Policy | None,
    num_steps: int,
    collect: Collect | None,
) -> tuple[VectorState[Any], Any, RolloutStatistics]:
    act = jax.vmap(static_policy or policy)
    if vstate is None:
        reset_key, key = jax.random.split(key)
        vstate, timestep = venv.reset(reset_key)
        observation = timestep.observation
    else:
        observation = venv.observation(vstate)
    policy_keys = jax.random.split(key, venv.num_envs)

    def step(carry: Any, number: jax.Array) -> tuple[Any, Any]:
        vstate, observation, sums = carry
        actions = act(observation, jax.vmap(call_key, in_axes=(0, None))(policy_keys, number))
        next_vstate, timestep = venv.step(vstate, actions)
        ended = timestep.done
        if venv.autoreset_mode is AutoresetMode.DISABLED:
            ended &= ~vstate.done  # an environment left where it ended counts once
        sums = _Sums(
            returns=sums.returns.add(ended, timestep.episode_return),
            lengths=sums.lengths.add(ended, timestep.episode_length.astype(timestep.episode_return.dtype)),
        )
        kept = None if collect is None else collect(timestep, actions)
        return (next_vstate, timestep.observation, sums), kept

    nothing = _Moments.empty(vstate.episode_return)
    carry = vstate, observation, _Sums(returns=nothing, lengths=nothing)
    (vstate, _, sums), kept = jax.lax.scan(step, carry, jnp.arange(num_steps, dtype=jnp.uint32))
    return vstate, kept, sums.statistics()


@functools.partial(jax.jit, static_argnames=("static_policy", "max_steps"))
def _evaluate(
    venv: FuncVectorEnv[Any, Any, Any], policy: Any, key: jax.Array, static_policy: Policy | None, max_steps: int
) -> Evaluation:
    act = jax.vmap(static_policy or policy)
    reset_key, policy_key = jax.random.split(key)
    vstate, timestep = venv.reset(reset_key)
    policy_keys = jax.random.split(policy_key, venv.num_envs)

    def unfinished(carry: Any) -> jax.Array:
        number, _, _, result = carry
        return (number < max_steps) & ~result.finished.all()

    def step(carry: Any) -> Any:
        number, vstate, observation, result = carry
        actions = act(observation, jax.vmap(call_key, in_axes=(0, None))(policy_keys, number))
        vstate, timestep = venv.step(vstate, actions)
        latest = _so_far(timestep)
        result = jax.tree.map(lambda old, new: jnp.where(result.finished, old, new), result, latest)
        return number + np.uint32(1), vstate, timestep.observation, result

    start = jnp.zeros((), jnp.uint32), vstate, timestep.observation, _so_far(timestep)
    return jax.lax.while_loop(unfinished, step, start)[3]


def _so_far(timestep: VectorTimestep[Any]) -> Evaluation:
    return Evaluation(
        episode_return=timestep.episode_return,
        episode_length=timestep.episode_length,
        terminated=timestep.terminated,
        truncated=timestep.truncated,
        finished=timestep.done,
    )


class _Moments(PyTreeNode):
    """Count, mean, spread and range of a stream of numbers, kept for each environment: `[num_envs]`.

    Sums are taken of the distance to the first number, so that equal numbers have a spread of exactly 0 in float32.
    """

    count: Int[Array, "num_envs"]
    first: Float[Array, "num_envs"]
    total: Float[Array, "num_envs"]
    squares: Float[Array, "num_envs"]
    smallest: Float[Array, "num_envs"]
    largest: Float[Array, "num_envs"]

    @classmethod
    def empty(cls, like: jax.Array) -> _Moments:
        zeros = jnp.zeros_like(like)
        infinity = jnp.full_like(like, jnp.inf)
        return cls(
            count=jnp.zeros(like.shape, jnp.int32),
            first=zeros,
            total=zeros,
            squares=zeros,
            smallest=infinity,
            largest=-infinity,
        )

    def add(self, where: jax.Array, number: jax.Array) -> _Moments:
        first = jnp.where(where & (self.count == 0), number, self.first)
        distance = jnp.where(where, number - first, 0)
        return _Moments(
            count=self.count + where.astype(jnp.int32),
            first=first,
            total=self.total + distance,
            squares=self.squares + distance**2,
            smallest=jnp.where(where, jnp.minimum(self.smallest, number), self.smallest),
            largest=jnp.where(where, jnp.maximum(self.largest, number), self.largest),
        )

    def combined(self) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Mean, standard deviation, least and greatest over all environments."""
        count = self.count.astype(self.total.dtype)
        weight = jnp.where(count > 0, count / count.sum(), 0)
        shift = self.total / jnp.maximum(count, 1)
        means = self.first + shift
        within = jnp.maximum(self.squares / jnp.maximum(count, 1) - shift**2, 0)
        centre = means[
            jnp.argmax(self.count > 0)
        ]  # any number near the mean, so that equal means have a spread of exactly 0
        mean = centre + (weight * (means - centre)).sum()
        variance = (weight * (within + (means - mean) ** 2)).sum()
        nan = jnp.where(count.sum() > 0, 0, jnp.nan).astype(mean.dtype)
        return mean + nan, jnp.sqrt(variance) + nan, self.smallest.min() + nan, self.largest.max() + nan


class _Sums(PyTreeNode):
    returns: _Moments
    lengths: _Moments

    def statistics(self) -> RolloutStatistics:
        mean_return, std_return, min_return, max_return = self.returns.combined()
        mean_length, std_length, min_length, max_length = self.lengths.combined()
        return RolloutStatistics(
            count=self.returns.count.sum(dtype=jnp.int32),
            mean_return=mean_return,
            std_return=std_return,
            min_return=min_return,
            max_return=max_return,
            mean_length=mean_length,
            std_length=std_length,
            min_length=min_length,
            max_length=max_length,
        )
