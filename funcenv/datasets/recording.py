"""Recording: play with a policy, and write every transition to a dataset."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from funcenv._compile.rollout import as_policy
from funcenv.checks import MAX_COUNT, require_size
from funcenv.datasets.dataset import Dataset
from funcenv.datasets.episode import RecordedEpisode
from funcenv.datasets.programs import NUM_ROWS, Results, call_keys, choose_actions, reset_rows, step_rows
from funcenv.datasets.writer import MAX_BYTES, DatasetWriter
from funcenv.func_env import AnyEnv, require_env
from funcenv.policy import Policy, adapted, require_policy
from funcenv.random import impl_name, require_typed_key
from funcenv.struct import NDArray
from funcenv.vector import AnyVectorEnv, AutoresetMode, FuncVectorEnv
from funcenv.vector_step import rollout_keys
from funcenv.wrappers import PolicyMemory

MAX_STEPS = 100_000
"""The default bound on the length of an episode."""

Progress = Callable[[DatasetWriter], None]


def record(
    env: AnyEnv,
    policy: Policy,
    key: jax.Array,
    num_episodes: int,
    path: str | os.PathLike[str],
    *,
    max_steps: int = MAX_STEPS,
    states: bool = True,
    source: dict[str, Any] | None = None,
    max_bytes: int = MAX_BYTES,
    append: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """Play whole episodes, write them to a dataset, and return it.

    The episodes are those that `funcenv.evaluate` plays with this key, up to rounding. They are written in the order in
    which they end.

    Args:
        env: Environment.
        policy: `policy(observation, key) -> action`. If it has a method `adapt_env(env)`, as trained agents have, the
            environment that this returns is recorded, without the memory of the policy.
        key: Typed key; episode i depends on the key and on i alone.
        num_episodes: Number of episodes, at least 1.
        path: Folder to write to; see `DatasetWriter`.
        max_steps: Number of steps after which an episode is left, with neither flag set.
        states: Whether states are stored; without them the dataset is smaller, and restoring one takes a replay.
        source: More about how the data are made, in JSON values.
        max_bytes: Bound on the size of the dataset before compression.
        append: Add to a dataset of the same environment.
        progress: Called with the writer after every episode.

    Raises:
        FileExistsError: The folder holds files.
        DatasetFullError: The dataset would exceed `max_bytes`; what was recorded before stays.
        DatasetError: With `append`, there is another dataset.
        TypeError: `env` is not a `FuncEnv`, the key is a legacy key, or the policy is no function.
        ValueError: A number is below 1, or `env` is a batch of environments.

    >>> import tempfile, funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> folder = f"{tempfile.mkdtemp()}/data"
    >>> record(env, funcenv.random_policy(env), funcenv.key(0), num_episodes=20, path=folder)
    Dataset('...': 20 episodes, ... steps)
    """
    require_env("record", env)
    num_episodes = require_size("num_episodes", num_episodes, maximum=MAX_COUNT)
    tasks = _Tasks.split(key, num_episodes, require_size("max_steps", max_steps), AutoresetMode.DISABLED)
    about = {"function": "record", "num_episodes": num_episodes}
    return _record(env, policy, tasks, path, states, {**about, **(source or {})}, max_bytes, append, progress)


def record_rollout(
    venv: AnyVectorEnv,
    policy: Policy,
    key: jax.Array,
    num_steps: int,
    path: str | os.PathLike[str],
    *,
    states: bool = True,
    source: dict[str, Any] | None = None,
    max_bytes: int = MAX_BYTES,
    append: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """Play `num_steps` steps in every environment of a vector environment, and write their episodes to a dataset.

    The steps are those of `funcenv.rollout` with these arguments, up to rounding, in any autoreset mode. The last
    episode of each environment may be incomplete, with neither flag set. A step that resets, in the mode NEXT_STEP, is
    no transition, and is not written.

    Args:
        venv: Vector environment.
        policy: As for `record`.
        key: Typed key, as for `funcenv.rollout`.
        num_steps: Number of steps of each environment, at least 1.
        path: As for `record`.
        states: As for `record`.
        source: As for `record`.
        max_bytes: As for `record`.
        append: As for `record`.
        progress: As for `record`.

    Raises:
        TypeError: `venv` is not a `FuncVectorEnv`.
        ValueError: Episodes of the environment depend on those before them (`env.remembers`); or as for `record`, which
            also raises the other errors.

    >>> import tempfile, funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> venv, folder = funcenv.FuncVectorEnv(env, num_envs=8), f"{tempfile.mkdtemp()}/data"
    >>> record_rollout(venv, funcenv.random_policy(env), funcenv.key(0), 50, folder).num_steps
    400
    """
    if not isinstance(venv, FuncVectorEnv):
        raise TypeError(f"record_rollout takes a FuncVectorEnv, got {type(venv).__name__}; record takes a FuncEnv")
    if venv.env.remembers:
        raise ValueError(
            f"episodes of a rollout must not depend on those before them, got {type(venv.env).__name__}, which "
            "remembers; use record, in which each episode starts anew"
        )
    tasks = _Tasks.split(key, venv.num_envs, require_size("num_steps", num_steps), venv.autoreset_mode)
    about = {"function": "record_rollout", "num_envs": venv.num_envs, "num_steps": num_steps}
    return _record(venv.env, policy, tasks, path, states, {**about, **(source or {})}, max_bytes, append, progress)


class _Tasks(NamedTuple):
    """Streams of steps, each of which is played on one row."""

    env_key: NDArray  # words, `[num_tasks, words]`
    policy_key: NDArray
    impl: str
    num_steps: int  # bound on the steps of each stream
    mode: AutoresetMode  # how a stream goes on at the end of an episode

    @classmethod
    def split(cls, key: jax.Array, num_tasks: int, num_steps: int, mode: AutoresetMode) -> _Tasks:
        """Return streams with the keys that rollouts and evaluations give their environments."""
        require_typed_key(key)
        env_key, policy_key = (
            np.asarray(jax.random.key_data(jax.random.split(one, num_tasks))) for one in rollout_keys(key)
        )
        return cls(env_key, policy_key, impl_name(key), num_steps, mode)


def _record(
    env: AnyEnv,
    policy: Policy,
    tasks: _Tasks,
    path: str | os.PathLike[str],
    states: bool,
    source: dict[str, Any],
    max_bytes: int,
    append: bool,
    progress: Progress | None,
) -> Dataset:
    require_policy("record", policy)
    env = adapted(env, policy)
    recorded = env.env if isinstance(env, PolicyMemory) else env
    source = {"policy": getattr(policy, "__qualname__", type(policy).__qualname__), **source}
    writer = DatasetWriter(path, recorded, tasks.impl, states=states, source=source, max_bytes=max_bytes, append=append)
    with writer:
        for episode in _played(env, recorded, policy, tasks):
            writer.add(episode if states else episode.without_states())
            if progress is not None:
                progress(writer)
    return Dataset(path, recorded)


class _Step(NamedTuple):
    """A step of all rows."""

    key: NDArray
    action: Any
    results: Results


def _played(env: AnyEnv, recorded: AnyEnv, policy: Policy, tasks: _Tasks) -> Iterable[RecordedEpisode]:
    """Yield the episodes of all tasks, in the order in which they end."""
    rows = _Rows(env, recorded, policy, tasks)
    while rows.assign():
        rows.reset()
        done = rows.step()
        yield from rows.ended(done)


class _Rows:
    """`NUM_ROWS` environments, each of which plays one task after the other.

    Args:
        env: Environment that the policy takes.
        recorded: The same without a memory of the policy.
        policy: Policy.
        tasks: What to play.
    """

    def __init__(self, env: AnyEnv, recorded: AnyEnv, policy: Policy, tasks: _Tasks) -> None:
        self._env, self._recorded, self._policy, self._tasks = env, recorded, as_policy(policy), tasks
        self._queue = collections.deque(range(len(tasks.env_key)))
        self._task = np.full(NUM_ROWS, -1)  # -1 for a row that has nothing to play
        self._call, self._count = np.zeros((2, NUM_ROWS), np.uint32)  # calls of the environment, steps of the task
        self._begins = np.ones(NUM_ROWS, bool)  # rows whose next call is a reset
        self._memory = np.zeros((NUM_ROWS, env.size if isinstance(env, PolicyMemory) else 0), np.float32)
        self._now: Any = None  # latest results of all rows
        self._first: list[Any] = [None] * NUM_ROWS  # key and results of the reset of each row
        self._steps: list[list[_Step]] = [[] for _ in range(NUM_ROWS)]

    def assign(self) -> bool:
        """Give each idle row a task if there is one, and return whether any row has something to play."""
        for row in np.flatnonzero(self._task < 0):
            if self._queue:
                self._task[row], self._call[row], self._count[row] = self._queue.popleft(), 0, 0
                self._begins[row] = True
        return bool((self._task >= 0).any())

    def reset(self) -> None:
        """Reset the rows that begin an episode."""
        begins = self._begins & (self._task >= 0)
        if not begins.any():
            return
        key = self._call_keys()
        fresh = jax.device_get(reset_rows(self._recorded, key, self._tasks.impl))
        self._now = fresh if self._now is None else _merged(begins, fresh, self._now)
        for row in np.flatnonzero(begins).tolist():
            self._first[row] = key[row], _row(fresh, row)
        self._memory[begins] = 0
        self._call[begins] += 1
        self._begins[begins] = False

    def step(self) -> Any:
        """Step all rows, and return which episodes have ended; rows without a task copy one that has a task."""
        busy, impl = self._busy(), self._tasks.impl
        now, memory = jax.tree.map(lambda leaf: leaf[busy], (self._now, self._memory))
        shown = {"memory": memory, "observation": now.observation} if memory.size else now.observation
        policy_key = self._tasks.policy_key[self._task[busy]]
        chosen = choose_actions(self._env, self._policy, policy_key, self._count[busy], shown, impl)
        action = jax.device_get(chosen)
        if memory.size:
            self._memory, action = np.array(action["memory"]), action["action"]
        key = self._call_keys()
        self._now = jax.device_get(step_rows(self._recorded, now.state, action, key, impl))
        step = _Step(key, action, self._now)
        for row in np.flatnonzero(self._task >= 0):
            self._steps[row].append(step)
        self._call += 1
        self._count += 1
        return self._now.terminated | self._now.truncated

    def ended(self, done: NDArray) -> Iterable[RecordedEpisode]:
        """Yield the episodes that ended or are left, and decide how their rows go on."""
        mode, num_steps = self._tasks.mode, self._tasks.num_steps
        is_over = done | (self._count >= num_steps)
        for row in np.flatnonzero(is_over & (self._task >= 0)).tolist():
            yield _episode(self._first[row], self._steps[row], row)
            self._steps[row] = []
            self._begins[row] = True
            if mode is AutoresetMode.NEXT_STEP:
                self._count[row] += 1  # the reset takes the place of a step
            if mode is AutoresetMode.DISABLED or self._count[row] >= num_steps:
                self._task[row] = -1

    def _busy(self) -> NDArray:
        """Return the row itself for each row with a task, and one with a task for the others."""
        active = self._task >= 0
        return np.where(active, np.arange(NUM_ROWS), np.flatnonzero(active)[0])

    def _call_keys(self) -> NDArray:
        """Return the words of the keys of the next calls."""
        busy = self._busy()
        return np.asarray(call_keys(self._tasks.env_key[self._task[busy]], self._call[busy], self._tasks.impl))


def _episode(first: tuple[NDArray, Results], steps: list[_Step], row: int) -> RecordedEpisode:
    """Return the episode that a row has played."""
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(_row(step, row) for step in steps))

    def with_first(start: Any, rest: Any) -> Any:
        return jax.tree.map(lambda one, others: np.concatenate([one[None], others]), start, rest)

    key, reset = first
    results = stacked.results
    return RecordedEpisode(
        observation=with_first(reset.observation, results.observation),
        action=stacked.action,
        reward=results.reward,
        terminated=results.terminated,
        truncated=results.truncated,
        state=with_first(reset.state, results.state),
        key=with_first(key, stacked.key),
    )


def _row(tree: Any, row: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf[row]), tree)


def _merged(mask: NDArray, new: Any, old: Any) -> Any:
    """Return `new` in the rows of a mask, and `old` elsewhere."""
    return jax.tree.map(lambda one, other: np.where(mask.reshape(-1, *[1] * (one.ndim - 1)), one, other), new, old)
