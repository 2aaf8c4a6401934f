"""A wrapper that writes the episodes of a stateful environment to a dataset."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from funcenv.adapters.engine.snapshot import Snapshot
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.datasets.description import describe_env, first_difference
from funcenv.datasets.episode import RecordedEpisode
from funcenv.datasets.leaves import Layout, to_words
from funcenv.datasets.writer import MAX_BYTES, DatasetWriter
from funcenv.random import impl_name
from funcenv.random import key as new_key
from funcenv.vector_step import call_key


class EpisodeWriter:
    """A dataset of the episodes that a stateful environment plays, or each environment of a vector.

    Args:
        env: The environment or the vector.
        path: Folder to write to.
        states: Whether states are stored.
        source: How the data are made, in JSON values.
        chunk_steps: As for `funcenv.datasets.DatasetWriter`.
        max_bytes: Likewise.
        append: Likewise.

    Raises:
        ValueError: Episodes depend on those before them.
    """

    def __init__(
        self,
        env: FunctionalEnv[Any, Any] | FunctionalVectorEnv[Any, Any],
        path: str | os.PathLike[str],
        states: bool,
        source: dict[str, Any],
        chunk_steps: int,
        max_bytes: int,
        append: bool,
    ) -> None:
        if env.func_env.remembers:
            raise ValueError(
                f"episodes must not depend on those before them, got {env}; leave normalization with moments out"
            )
        self._layout, self._has_states = Layout.of(env.func_env), states
        self._writer = DatasetWriter(
            path,
            env.func_env,
            impl_name(new_key(0)),
            states=states,
            source={"wrapper": "RecordDataset", **source},
            chunk_steps=chunk_steps,
            max_bytes=max_bytes,
            append=append,
        )

    def step(self, action: Any, reward: Any, terminated: Any, truncated: Any) -> tuple[Any, ...]:
        """Return copies of the action and the results of a step, or a batch of them, in the dtypes of the dataset."""
        batch = np.shape(terminated)
        encoded = jax.tree.map(
            lambda leaf, like: np.array(leaf, like.dtype).reshape((*batch, *like.shape)), action, self._layout.action
        )
        return encoded, np.array(reward, self._layout.reward.dtype), np.array(terminated), np.array(truncated)

    def add(self, calls: list[Any], steps: list[Any], row: Any = ...) -> None:
        """Write an episode, if it has steps.

        Args:
            calls: The state, the observation and the words of the key of each call, or batches of these.
            steps: What `step` returned.
            row: The row of the episode in batches.
        """
        if not steps:
            return

        def stacked(batches: list[Any]) -> Any:
            return jax.tree.map(lambda *leaves: np.stack([leaf[row] for leaf in leaves]), *batches)

        state, observation, key = stacked(calls)
        action, reward, terminated, truncated = stacked(steps)
        episode = RecordedEpisode(observation, action, reward, terminated, truncated, state, key)
        self._writer.add(episode if self._has_states else episode.without_states())

    def close(self) -> None:
        """Finish the dataset."""
        self._writer.close()


class RecordDataset(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that writes every episode to a dataset when it ends: those of people who play, or of any other program.

    Put it directly around the environment. States, keys and observations are those of the functional environment
    inside. An episode that `reset` or `close` cuts off is written with neither flag set. `close` finishes the dataset;
    if the process is killed, only the episode that was played is lost.

    Args:
        env: Environment to wrap, a `FunctionalEnv`.
        path: Folder to write to; see `funcenv.datasets.DatasetWriter`.
        states: Whether states are stored.
        source: More about how the data are made, in JSON values, such as the name of the player.
        chunk_steps: Number of steps from which a chunk is written; by default each episode is one.
        max_bytes: Bound on the size of the dataset before compression.
        append: Add to a dataset of the same environment.

    Raises:
        TypeError: `env` is not a `FunctionalEnv`.
        ValueError: Episodes of the environment depend on those before them; an episode has other parameters.
        RuntimeError: The state was set within an episode.
        FileExistsError: The folder holds files.
        funcenv.datasets.DatasetError: With `append`, there is another dataset.
        funcenv.datasets.DatasetFullError: The dataset would exceed `max_bytes`.

    >>> import tempfile
    >>> from funcenv import adapters
    >>> from funcenv.datasets import Dataset
    >>> folder = f"{tempfile.mkdtemp()}/mine"
    >>> env = RecordDataset(adapters.make("CartPole-v1"), folder, source={"player": "Ada"})
    >>> _, done = env.reset(seed=0), False
    >>> while not done:
    ...     _, _, terminated, truncated, _ = env.step(1)
    ...     done = terminated or truncated
    >>> env.close()
    >>> Dataset(folder)
    Dataset('...': 1 episodes, 10 steps)
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        path: str | os.PathLike[str],
        *,
        states: bool = True,
        source: dict[str, Any] | None = None,
        chunk_steps: int = 1,
        max_bytes: int = MAX_BYTES,
        append: bool = False,
    ) -> None:
        super().__init__(env)
        if not isinstance(env, FunctionalEnv):
            raise TypeError(f"RecordDataset takes a FunctionalEnv, got {env}; put it directly around the environment")
        self._inner: FunctionalEnv[Any, Any] = env
        self._func_env = env.func_env
        self._writer = EpisodeWriter(env, path, states, source or {}, chunk_steps, max_bytes, append)
        self._calls: list[Any] = []  # state, observation and key of each call of the episode
        self._steps: list[Any] = []  # action, reward and flags of each step
        self._snapshot: Snapshot | None = None  # after the latest call

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None, return_info: bool | None = None
    ) -> Any:
        """Write what was played, and start an episode."""
        if options:
            raise ValueError(
                f"all episodes of a dataset have the same parameters, got options={options}; leave them out"
            )
        self._write()
        result = super().reset(seed=seed, options=options, return_info=return_info)
        if self._inner.func_env is not self._func_env:
            difference = first_difference(describe_env(self._func_env), describe_env(self._inner.func_env))
            raise ValueError(
                f"all episodes of a dataset have the same parameters, but {difference or 'they were set'}; "
                "record each environment by itself"
            )
        self._note_call()
        return result

    def step(self, action: ActType) -> Any:
        """Play one action, and write the episode if it ends."""
        if self._snapshot is not None and not _same_call(self._snapshot, self._inner.state):
            raise RuntimeError("the state was set within an episode that is recorded; call reset() first")
        result = super().step(action)
        _, reward, terminated, truncated, _ = result
        self._steps.append(self._writer.step(action, reward, terminated, truncated))
        self._note_call()
        if terminated or truncated:
            self._write()
        return result

    def close(self) -> None:
        """Write what was played, finish the dataset, and close the environment."""
        self._write()
        self._writer.close()
        super().close()

    def _note_call(self) -> None:
        """Remember the state, the observation and the key of the latest call."""
        self._snapshot = self._inner.state
        self._calls.append(jax.device_get(_call(self._func_env, self._snapshot)))

    def _write(self) -> None:
        """Write the episode so far, if it has steps."""
        calls, steps, self._calls, self._steps, self._snapshot = self._calls, self._steps, [], [], None
        self._writer.add(calls, steps)


@jax.jit
def _call(env: Any, snapshot: Snapshot) -> tuple[Any, Any, jax.Array]:
    """Return the stored state, the observation, and the words of the key of the latest call."""
    key = call_key(snapshot.key, snapshot.num_calls - np.uint32(1))
    return to_words(snapshot.env_state), env.observe(snapshot.env_state, key).observation, jax.random.key_data(key)


def _same_call(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two snapshots were taken after the same call."""
    return int(one.num_calls) == int(other.num_calls) and bool((one.key == other.key).all())
