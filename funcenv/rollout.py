"""Rollouts and evaluations: many steps of many environments in one compiled program.

A policy is a function `policy(observation, key) -> action` of one environment. It is mapped over all environments, and
every environment has a stream of policy keys of its own. A policy that is a pytree, such as
`jax.tree_util.Partial(apply, params)`, is an argument of the compiled program, so that new parameters do not compile it
again. Any other function is part of the program, which is compiled once for each function object. The policy's key at
step t is `fold_in(policy_key, t)`, where the policy keys are a split of one key. A policy with a method
`key_of_step(policy_key, t)` derives its keys by that method instead, as the random policy does with
`funcenv.random.indexed_key`, which costs nothing.

On a CPU a rollout compiles to a single kernel where possible (`funcenv._compile.rollout`) and resets lazily unless the
vector environment says "select". Where the policy is a large network, or a small one in many environments, each step is
a kernel, and the network has its own; whole episodes are then played by plain steps. A long rollout of many
environments that keeps no trajectory runs on several threads, one for each core, or as many as the environment variable
`PJRT_NPROC` says. On an NVIDIA GPU a rollout is one CUDA graph, loop included (`funcenv._compile.cuda_graph`).

Inside a traced function, such as your own `jax.jit`, a rollout on a CPU is a single kernel within your program, or a
loop whose steps are kernels, as of a network as above or of a policy that captures traced values. `jax.vmap` over
rollouts makes one batch of all their environments (`funcenv._compile.rollout.traced`).

The first call of a kind verifies the kernel against the plain program. The plain program runs if the results differ, if
XLA cannot compile a single kernel, on other devices, over several devices, and with the environment variable
`FUNCENV_NO_FAST_PATH=1`. Keys are the same in every case. Floats are the same where XLA contracts a*b+c alike, and else
differ by a unit or two in the last place at each step. Integers and flags are the same unless such a difference moves a
float across a threshold, as it does in long episodes of rigid bodies.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, overload

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv._compile.rollout import Accumulator, as_policy, play
from funcenv.checks import MAX_COUNT, require_size
from funcenv.forking import require_threads
from funcenv.func_env import RESULT_ORDER, Action, AnyEnv, FuncEnv, Obs, State, require_env
from funcenv.hints import OF_TRAJECTORY, raise_missing
from funcenv.parameters import parameter_axes
from funcenv.policy import Policy, adapted, require_policy
from funcenv.random import indexed_key, require_typed_key
from funcenv.random.keys import is_key
from funcenv.spaces.space import AnySpace
from funcenv.statistics import RolloutStatistics, episode_totals, marked_missing, success_of, tells_success
from funcenv.struct import PyTreeNode, field
from funcenv.vector import AnyVectorEnv, AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep

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

Collect = Callable[[VectorTimestep[Any], Any], Any]
Kept = TypeVar("Kept")


class Trajectory(NamedTuple, Generic[Action, Obs]):
    """All time steps and actions of a rollout; every leaf has leading axes `[num_steps, num_envs]`."""

    timestep: VectorTimestep[Obs]  # result of each action
    action: Action


def _missing_in_trajectory(self: Any, name: str) -> Any:
    return raise_missing(self, name, "Trajectory", OF_TRAJECTORY)


Trajectory.__getattr__ = _missing_in_trajectory  # type: ignore[attr-defined]  # checkers report missing names themselves


class Evaluation(PyTreeNode):
    """The episodes of an evaluation; every field has shape `[num_episodes]`."""

    episode_return: Float[Array, "num_episodes"]
    episode_length: Int[Array, "num_episodes"]
    terminated: Bool[Array, "num_episodes"]
    truncated: Bool[Array, "num_episodes"]
    finished: Bool[Array, "num_episodes"]  # False where the evaluation stopped at `max_steps`
    success: Bool[Array, "num_episodes"] | None = None  # the last `info["is_success"]`, if the environment has it

    @classmethod
    def init(cls, venv: AnyVectorEnv, vstate: VectorState[Any]) -> Evaluation:
        """Return the evaluation before the first step of each episode."""
        return cls(
            episode_return=vstate.episode_return,
            episode_length=vstate.episode_length,
            terminated=jnp.zeros_like(vstate.done),
            truncated=jnp.zeros_like(vstate.done),
            finished=vstate.done,
            success=jnp.zeros_like(vstate.done) if tells_success(venv, vstate) else None,
        )

    def update(self, timestep: VectorTimestep[Any]) -> Evaluation:
        """Return the evaluation after a step, which leaves finished episodes as they are."""
        latest = Evaluation(
            episode_return=timestep.episode_return,
            episode_length=timestep.episode_length,
            terminated=timestep.terminated,
            truncated=timestep.truncated,
            finished=timestep.done,
            success=None if self.success is None else success_of(timestep),
        )
        updated: Evaluation = jax.tree.map(lambda old, new: jnp.where(self.finished, old, new), self, latest)
        return updated

    @property
    def mean_return(self) -> Float[Array, ""]:
        """Mean over episodes."""
        return self.episode_return.mean()

    @property
    def std_return(self) -> Float[Array, ""]:
        """Standard deviation over episodes."""
        return self.episode_return.std()

    @property
    def success_rate(self) -> Float[Array, ""] | None:
        """The share of episodes that ended with the goal achieved; None if the environment does not tell it."""
        return None if self.success is None else self.success.mean(dtype=self.episode_return.dtype)


class RandomPolicy(PyTreeNode):
    """A policy that samples its action space, whatever the observation."""

    action_space: AnySpace = field(pytree_node=False)

    @staticmethod
    def key_of_step(policy_key: jax.Array, step_index: jax.Array) -> jax.Array:
        """Return the key of a step, at no cost where a fold would cost as much as a draw."""
        return indexed_key(policy_key, step_index)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Sample an action."""
        del observation
        return self.action_space.sample(key)


def random_policy(env: AnyEnv | AnyVectorEnv) -> RandomPolicy:
    """Return the policy that samples the action space of an environment, or of each one in a vector environment.

    >>> import funcenv
    >>> policy = random_policy(funcenv.make("Pendulum-v1"))
    >>> policy(None, funcenv.key(0)).shape
    (1,)
    """
    if isinstance(env, FuncVectorEnv):
        return RandomPolicy(env.single_action_space)
    require_env("random_policy", env)
    return RandomPolicy(env.action_space)


def everything(timestep: VectorTimestep[Obs], action: Action) -> Trajectory[Action, Obs]:
    """Keep all of a step; the default of `rollout(collect=...)`."""
    return Trajectory(timestep=timestep, action=action)


@overload
def rollout(
    venv: FuncVectorEnv[State, Action, Obs],
    policy: Policy,
    key: jax.Array,
    num_steps: int,
    *,
    vstate: VectorState[State] | None = None,
) -> tuple[VectorState[State], Trajectory[Action, Obs], RolloutStatistics]: ...


@overload
def rollout(
    venv: FuncVectorEnv[State, Action, Obs],
    policy: Policy,
    key: jax.Array,
    num_steps: int,
    *,
    vstate: VectorState[State] | None = None,
    collect: None,
) -> tuple[VectorState[State], None, RolloutStatistics]: ...


@overload
def rollout(
    venv: FuncVectorEnv[State, Action, Obs],
    policy: Policy,
    key: jax.Array,
    num_steps: int,
    *,
    vstate: VectorState[State] | None = None,
    collect: Callable[[VectorTimestep[Obs], Action], Kept],
) -> tuple[VectorState[State], Kept, RolloutStatistics]: ...


def rollout(
    venv: AnyVectorEnv,
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
        vstate: the state to resume from; by default the environments are reset first.
        collect: `collect(timestep, action)` returns what to keep of a step. It receives the `VectorTimestep` that the
            actions led to, and the actions, both `[num_envs, ...]`. None keeps nothing.

    Returns:
        The last vector state, what `collect` kept with a leading axis `[num_steps]` (None for nothing), and statistics
        of the episodes that ended. The observations before the first action are `venv.observation(vstate)` of the
        `vstate` passed in.

    Raises:
        ValueError: `num_steps` is below 1 or does not fit 32 bits, the `vstate` is that of another number of
            environments, or the policy returns an action of another shape than those of the space.
        TypeError: `venv` is not a `FuncVectorEnv`, the key is a legacy key, the policy is no function, `vstate` is no
            vector state, or the policy returns floats where the action space holds integers. What the policy itself
            raises has a note that says how it is called.
        funcenv.adapters.ForkedProcess: this process was forked after JAX had started.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> venv = FuncVectorEnv(env, num_envs=8)
    >>> policy, collect = random_policy(env), lambda timestep, action: timestep.reward
    >>> vstate, rewards, statistics = rollout(venv, policy, funcenv.key(0), num_steps=200, collect=collect)
    >>> rewards.shape, bool(statistics.count > 0)
    ((200, 8), True)
    """
    if not isinstance(venv, FuncVectorEnv):
        shown = type(venv).__name__ if isinstance(venv, FuncEnv) else repr(venv)
        raise TypeError(f"rollout takes a FuncVectorEnv, got {shown}; write funcenv.FuncVectorEnv(env, num_envs=...)")
    _require_key_and_count("rollout", "the key before num_steps", num_steps)
    num_steps = require_size("num_steps", num_steps, maximum=MAX_STEPS)
    require_policy("rollout", policy)
    require_typed_key(key)
    if collect is not None and not callable(collect):
        raise TypeError(f"collect is a function collect(timestep, action), or None to keep nothing, got {collect!r}")
    if vstate is not None:
        _require_vstate(venv, vstate)
    require_threads()
    result = play(episode_totals(), venv, as_policy(policy), key, vstate, num_steps, collect)
    return result.vstate, result.collected, marked_missing(result.totals)


MAX_STEPS = 2**32 - 1
"""The largest number of steps: the key of a step derives from its number as a uint32."""

MAX_EVALUATION_STEPS = 100_000
"""The steps after which an evaluation stops, unless it is told another number."""


def evaluate(
    env: AnyEnv, policy: Policy, num_episodes: int, key: jax.Array, *, max_steps: int | None = None
) -> Evaluation:
    """Play whole episodes, all at once, as one compiled program, and report each one's return.

    Every episode counts once, however short. Episodes that end early wait for the others; on a CPU, large batches are
    played in chunks, so that few episodes wait for the longest one. Both hold inside `jax.jit` as well.

    Args:
        env: the environment; or a batch of `num_episodes`, whose parameters have a leading axis: episode i is then
            played with the i-th parameters.
        policy: `policy(observation, key) -> action`. If it has a method `adapt_env(env)`, as trained agents have, the
            environment that this returns is played.
        num_episodes: at least 1.
        key: episode i depends on the key and i alone, up to rounding.
        max_steps: where to stop even if episodes have not ended, which an environment without end needs. `finished`
            is False for such episodes. By default 100,000, with a warning if it is reached.

    Raises:
        TypeError: `env` is not a `FuncEnv`, the key is a legacy key, or the policy is no function.
        ValueError: `num_episodes` or `max_steps` is below 1 or has too many bits, or a batch has another size than
            `num_episodes`.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> evaluation = evaluate(env, random_policy(env), num_episodes=10, key=funcenv.key(0))
    >>> evaluation.episode_return.shape, bool(evaluation.finished.all())
    ((10,), True)
    """
    require_env("evaluate", env)
    _require_key_and_count("evaluate", "num_episodes before the key", num_episodes)
    num_episodes = require_size("num_episodes", num_episodes, maximum=MAX_COUNT)
    limit = MAX_EVALUATION_STEPS if max_steps is None else require_size("max_steps", max_steps, maximum=MAX_STEPS)
    require_policy("evaluate", policy)
    require_typed_key(key)
    require_threads()
    parameter_axes(env, num_episodes, "num_episodes")
    venv = FuncVectorEnv(adapted(env, policy), num_episodes, AutoresetMode.DISABLED)
    evaluation: Evaluation = play(_WHOLE_EPISODES, venv, as_policy(policy), key, None, limit).totals
    if max_steps is None and not isinstance(evaluation.finished, jax.core.Tracer):
        _warn_of_unfinished(evaluation, limit)
    return evaluation


def _require_key_and_count(what: str, order: str, count: Any) -> None:
    """Raise `TypeError` if a key is given for a number of steps or episodes."""
    if is_key(count):
        raise TypeError(f"{what} takes {order}, got a key for the number; change their order")


def _require_vstate(venv: AnyVectorEnv, vstate: Any) -> None:
    """Raise unless `vstate` is a state of as many environments as `venv` has."""
    if not isinstance(vstate, VectorState):
        shown = type(vstate).__name__ if isinstance(vstate, PyTreeNode) else repr(vstate)
        raise TypeError(f"vstate must be what venv.reset or rollout returns first, got {shown}; {RESULT_ORDER}")
    if np.shape(vstate.done)[:1] != (venv.num_envs,):
        raise ValueError(
            f"vstate must hold the states of num_envs={venv.num_envs} environments, got those of "
            f"{np.size(vstate.done)}; reset this vector environment first"
        )


def _warn_of_unfinished(evaluation: Evaluation, limit: int) -> None:
    unfinished = num_episodes = evaluation.finished.size
    unfinished -= int(evaluation.finished.sum())
    if unfinished:
        warnings.warn(
            f"{unfinished} of {num_episodes} episodes had not ended after {limit:,} steps; their returns are those so "
            "far. Pass max_steps, or give the environment a TimeLimit",
            RuntimeWarning,
            stacklevel=3,
        )


_WHOLE_EPISODES = Accumulator(
    entry="evaluate",
    init=Evaluation.init,
    update=lambda timestep, evaluation: evaluation.update(timestep),
    is_finished=lambda evaluation: evaluation.finished.all(),
)
