"""Play many steps in one compiled program: collect experience, or evaluate a policy.

A policy is a function `policy(observation, key) -> action` of one environment; it is mapped over all of them, and
every environment has its own stream of policy keys. A policy that is a pytree, such as `jax.tree_util.Partial(apply,
params)`, is an argument of the compiled program: new parameters do not compile it again. A plain function is a part of
the program, compiled once for each function object. The policy's key at step t is `fold_in(policy key, t)`, the policy
keys being the split of one key; or what a method `key_of_step(policy_key, t)` of the policy says. The random policy has
one, `funcenv.random.indexed_key`, which halves what its actions cost.

On a CPU a rollout runs as one function, a chunk of environments after the other (`funcenv._compile.rollout`), and resets lazily
unless the vector environment says "select". A long one of many environments that keeps no trajectory is divided among
threads, as many as XLA has: one for each core, or what the environment variable `PJRT_NPROC` says.

On an NVIDIA GPU a rollout is one CUDA graph, its loop included (`funcenv._compile.cuda_graph`).

The first call of a kind compares steps with the plain program's. If they differ, if XLA cannot compile it as one, on
other devices, over several devices, inside a traced function and with the environment variable `FUNCENV_NO_FAST_PATH=1`, the
plain program runs. Keys, integers and flags are the same in every way; floats are, too, where XLA contracts a*b+c
alike, and else differ by a unit or two in the last place at each step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv._compile import rollout as engine
from funcenv._compile.cuda_graph import CudaGraphJit
from funcenv._compile.rollout import EPISODES, RolloutStatistics, advance
from funcenv._compile.single_kernel import quick_options
from funcenv.checks import require_size
from funcenv.func_env import FuncEnv
from funcenv.random import indexed_key, require_typed_key
from funcenv.spaces import Space
from funcenv.struct import PyTreeNode, field
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep

__all__ = [
    "Evaluation",
    "RandomPolicy",
    "RolloutStatistics",
    "Trajectory",
    "evaluate",
    "everything",
    "random_policy",
    "rollout",
]

Policy = Callable[[Any, jax.Array], Any]
Collect = Callable[[VectorTimestep[Any], Any], Any]


class Trajectory(NamedTuple):
    """Everything that happened; every leaf has leading axes `[num_steps, num_envs]`."""

    timestep: VectorTimestep[Any]  # what each action led to
    action: Any


class Evaluation(PyTreeNode):
    """The episodes of an evaluation, one after another; every field has shape `[num_episodes]`."""

    episode_return: Float[Array, "num_episodes"]
    episode_length: Int[Array, "num_episodes"]
    terminated: Bool[Array, "num_episodes"]
    truncated: Bool[Array, "num_episodes"]
    finished: Bool[Array, "num_episodes"]  # False where the evaluation stopped at `max_steps`

    @classmethod
    def start(cls, venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any]) -> Evaluation:
        """Before the first step of each episode."""
        del venv
        return cls(
            episode_return=vstate.episode_return,
            episode_length=vstate.episode_length,
            terminated=jnp.zeros_like(vstate.done),
            truncated=jnp.zeros_like(vstate.done),
            finished=vstate.done,
        )

    def add(self, timestep: VectorTimestep[Any]) -> Evaluation:
        """After a step; finished episodes stay as they are."""
        latest = Evaluation(
            episode_return=timestep.episode_return,
            episode_length=timestep.episode_length,
            terminated=timestep.terminated,
            truncated=timestep.truncated,
            finished=timestep.done,
        )
        added: Evaluation = jax.tree.map(lambda old, new: jnp.where(self.finished, old, new), self, latest)
        return added

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

    @staticmethod
    def key_of_step(policy_key: jax.Array, number: jax.Array) -> jax.Array:
        """The key of a rollout's step: one that costs nothing, where a fold costs as much as a draw."""
        return indexed_key(policy_key, number)

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
    parts, apart = engine.Policy.of(policy), collect is everything
    outcome = engine.run(EPISODES, venv, parts, key, vstate, num_steps, collect=collect, keeps_apart=apart)
    if outcome is not None:
        return outcome.vstate, outcome.kept, _statistics(outcome.totals)
    return _rollout(venv, parts.tree, key, vstate, parts.function, num_steps, collect)


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
    parts = engine.Policy.of(policy)
    venv = FuncVectorEnv(env, num_episodes, AutoresetMode.DISABLED)
    outcome = engine.run(_WHOLE_EPISODES, venv, parts, key, None, max_steps)
    if outcome is not None:
        evaluation: Evaluation = outcome.totals
        return evaluation
    return _evaluate(venv, parts.tree, key, parts.function, max_steps)


@functools.partial(CudaGraphJit, static_argnames=("function", "num_steps", "collect"))
def _rollout(
    venv: FuncVectorEnv[Any, Any, Any],
    policy: Any,
    key: jax.Array,
    vstate: VectorState[Any] | None,
    function: Policy | None,
    num_steps: int,
    collect: Collect | None,
) -> tuple[VectorState[Any], Any, RolloutStatistics]:
    if vstate is None:
        reset_key, key = jax.random.split(key)
        vstate, timestep = venv.reset(reset_key)
        observation = timestep.observation
    else:
        observation = venv.observation(vstate)
    policy_keys = jax.random.split(key, venv.num_envs)

    def step(carry: Any, number: jax.Array) -> tuple[Any, Any]:
        carry, shown = advance(EPISODES, venv, engine.Policy(function, policy), carry, policy_keys, number)
        return carry, None if collect is None else collect(*shown)

    carry = vstate, observation, EPISODES.start(venv, vstate)
    numbers = jnp.arange(num_steps, dtype=jnp.uint32)  # not counted in the carry: a second count is a second GPU kernel
    (vstate, _, episodes), kept = jax.lax.scan(step, carry, numbers)
    return vstate, kept, episodes.statistics()


@functools.partial(CudaGraphJit, static_argnames=("function", "max_steps"))
def _evaluate(
    venv: FuncVectorEnv[Any, Any, Any], policy: Any, key: jax.Array, function: Policy | None, max_steps: int
) -> Evaluation:
    reset_key, policy_key = jax.random.split(key)
    vstate, timestep = venv.reset(reset_key)
    policy_keys = jax.random.split(policy_key, venv.num_envs)

    def goes_on(state: Any) -> jax.Array:
        number, (_, _, evaluation) = state
        return (number < max_steps) & ~evaluation.finished.all()

    def step(state: Any) -> Any:
        number, carry = state
        carry, _ = advance(_WHOLE_EPISODES, venv, engine.Policy(function, policy), carry, policy_keys, number)
        return number + np.uint32(1), carry

    carry = vstate, timestep.observation, Evaluation.start(venv, vstate)
    _, (_, _, evaluation) = jax.lax.while_loop(goes_on, step, (jnp.zeros((), jnp.uint32), carry))
    return evaluation


def _statistics(episodes: Any) -> RolloutStatistics:
    statistics: RolloutStatistics = _statistics_program()(episodes)
    return statistics


@functools.cache
def _statistics_program() -> Any:
    """Of few numbers, so it is compiled quickly."""
    return jax.jit(lambda episodes: episodes.statistics(), compiler_options=quick_options(level=1))


_WHOLE_EPISODES = engine.Play(
    start=Evaluation.start,
    add=lambda timestep, evaluation: evaluation.add(timestep),
    over=lambda evaluation: evaluation.finished.all(),
)
