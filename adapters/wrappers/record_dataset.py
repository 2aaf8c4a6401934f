"""A wrapper that writes the episodes of a stateful environment to a dataset."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from funcenv.adapters.engine.snapshot import Snapshot
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.datasets.description import describe_env, first_difference
from funcenv.datasets.episode import RecordedEpisode
from funcenv.datasets.leaves import Layout, to_words
from funcenv.datasets.writer import MAX_BYTES, DatasetWriter
from funcenv.random import impl_name
from funcenv.random import key as new_key
from funcenv.vector_step import call_key


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
        if env.func_env.remembers:
            raise ValueError(
                f"episodes must not depend on those before them, got {env}; leave normalization with moments out"
            )
        self._inner: FunctionalEnv[Any, Any] = env
        self._func_env, self._layout, self._has_states = env.func_env, Layout.of(env.func_env), states
        about = {"wrapper": "RecordDataset", **(source or {})}
        self._writer = DatasetWriter(
            path,
            env.func_env,
            impl_name(new_key(0)),
            states=states,
            source=about,
            chunk_steps=chunk_steps,
            max_bytes=max_bytes,
            append=append,
        )
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
        encoded = jax.tree.map(
            lambda leaf, like: np.asarray(leaf, like.dtype).reshape(like.shape), action, self._layout.action
        )
        self._steps.append(
            (encoded, np.asarray(reward, self._layout.reward.dtype), np.asarray(terminated), np.asarray(truncated))
        )
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
        if not steps:
            return
        state, observation, key = jax.tree.map(lambda *leaves: np.stack(leaves), *calls)
        action, reward, terminated, truncated = jax.tree.map(lambda *leaves: np.stack(leaves), *steps)
        episode = RecordedEpisode(observation, action, reward, terminated, truncated, state, key)
        self._writer.add(episode if self._has_states else episode.without_states())


@jax.jit
def _call(env: Any, snapshot: Snapshot) -> tuple[Any, Any, jax.Array]:
    """Return the stored state, the observation, and the words of the key of the latest call."""
    key = call_key(snapshot.key, snapshot.num_calls - np.uint32(1))
    return to_words(snapshot.env_state), env.observe(snapshot.env_state, key).observation, jax.random.key_data(key)


def _same_call(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two snapshots were taken after the same call."""
    return int(one.num_calls) == int(other.num_calls) and bool((one.key == other.key).all())
