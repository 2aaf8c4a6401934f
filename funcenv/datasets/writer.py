"""Writing a dataset: episodes are collected, and written chunk by chunk."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from types import TracebackType
from typing import Any, Self

import jax
import numpy as np

from funcenv.checks import require_size
from funcenv.datasets.description import describe_env, first_difference, spec_of
from funcenv.datasets.episode import RecordedEpisode, is_per_state
from funcenv.datasets.leaves import Layout, to_file
from funcenv.datasets.metadata import NAME, Chunk, DatasetError, Metadata, chunk_path
from funcenv.files import file_digest, replaced_file
from funcenv.func_env import AnyEnv, require_env
from funcenv.json_values import to_json_value
from funcenv.memory import num_bytes, readable_size
from funcenv.random.generators import find_impl
from funcenv.struct import NDArray, parameter_ndim

MAX_BYTES = 4 * 2**30
"""The default bound on the size of a dataset, in bytes before compression."""
CHUNK_STEPS = 10_000
CHUNK_BYTES = 64 * 2**20
"""A chunk is written when its episodes have so many steps, or so many bytes before compression."""


class DatasetFullError(RuntimeError):
    """An episode would make a dataset larger than its bound. All episodes before it are written."""


class DatasetWriter:
    """Writes episodes to a folder of chunks, each of which appears complete or not at all.

    A writer is a context. If the process is killed, the dataset holds all chunks but the one that was collected.

    Args:
        path: Folder to write to. It must not exist or be empty, unless `append` is set.
        env: Environment of the episodes.
        key_impl: Name of the generator of the keys (`funcenv.random.impl_name`); None for episodes without keys.
        states: Whether episodes have states. Without them, a dataset is smaller, and restoring a state replays its
            episode.
        source: How the data are made, in JSON values: a policy, a seed, a person.
        chunk_steps: Number of steps from which a chunk is written. With 1, each episode is a chunk of its own.
        max_bytes: Bound on the size of the dataset before compression.
        append: Add to a dataset of the same environment if there is one.

    Raises:
        FileExistsError: The folder holds files.
        DatasetError: With `append`, the dataset there is damaged, or one of another environment or layout.
        TypeError: `env` is not a `FuncEnv`, or `source` has no JSON form.
        ValueError: `chunk_steps` or `max_bytes` is below 1, or `env` is a batch of environments.

    >>> import tempfile, funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> with DatasetWriter(f"{tempfile.mkdtemp()}/data", env, "threefry") as writer:
    ...     print(writer.num_episodes, writer.metadata.is_finished)
    0 False
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        env: AnyEnv,
        key_impl: str | None,
        *,
        states: bool = True,
        source: dict[str, Any] | None = None,
        chunk_steps: int = CHUNK_STEPS,
        max_bytes: int = MAX_BYTES,
        append: bool = False,
    ) -> None:
        require_env("DatasetWriter", env)
        _require_single(env)
        self.folder = pathlib.Path(path)
        self._chunk_steps = require_size("chunk_steps", chunk_steps)
        self._max_bytes = require_size("max_bytes", max_bytes)
        self._pending: list[dict[str, NDArray]] = []
        self._pending_steps = self._pending_bytes = 0
        if key_impl is not None:
            find_impl(key_impl)
        spec = spec_of(env)
        new = Metadata(
            environment=describe_env(env),
            spec=None if spec is None else json.loads(spec.to_json()),
            leaves=Layout.of(env).leaves(states),
            has_states=states,
            key_impl=key_impl,
            source=to_json_value("source", source or {}),
        )
        self.metadata = self._open(new, append)
        self.metadata.write(self.folder)

    @property
    def num_episodes(self) -> int:
        """Number of episodes, including those that are not written yet."""
        return len(self.metadata.lengths) + len(self._pending)

    @property
    def num_steps(self) -> int:
        """Number of steps, including those that are not written yet."""
        return sum(self.metadata.lengths) + self._pending_steps

    @property
    def num_bytes(self) -> int:
        """Size before compression, including what is not written yet."""
        return self.metadata.num_bytes + self._pending_bytes

    def add(self, episode: RecordedEpisode) -> None:
        """Add an episode, and write a chunk if enough of them have been collected.

        Raises:
            ValueError: The episode has no step, its arrays do not fit the environment or each other, or it ends before
                its last step.
            DatasetFullError: The dataset would exceed `max_bytes`.
        """
        arrays = {name: np.asarray(array) for name, array in episode.arrays().items()}
        self._require_fitting(episode, arrays)
        size = num_bytes(arrays)
        if self.num_bytes + size > self._max_bytes:
            written = self.num_bytes
            self.flush()
            raise DatasetFullError(
                f"{self.folder} would exceed max_bytes={self._max_bytes} ({readable_size(self._max_bytes)}): "
                f"{self.num_episodes} episodes have {readable_size(written)}, and the next one {readable_size(size)}; "
                "raise max_bytes, record fewer episodes, or leave states out"
            )
        self._pending.append(arrays)
        self._pending_steps += episode.num_steps
        self._pending_bytes += size
        if self._pending_steps >= self._chunk_steps or self._pending_bytes >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the episodes that have been collected as a chunk, if there are any."""
        if not self._pending:
            return
        path = chunk_path(self.folder, len(self.metadata.chunks))
        arrays = {name: np.concatenate([one[name] for one in self._pending]) for name in self._pending[0]}
        with replaced_file(path) as partial:
            stored: dict[str, Any] = {name: to_file(array) for name, array in arrays.items()}
            np.savez_compressed(partial, **stored)
            digest = file_digest(partial)
        lengths = tuple(len(one["reward"]) for one in self._pending)
        chunk = Chunk(lengths, self._pending_bytes, digest)
        metadata = dataclasses.replace(self.metadata, chunks=(*self.metadata.chunks, chunk))
        metadata.write(self.folder)
        self.metadata = metadata
        self._pending, self._pending_steps, self._pending_bytes = [], 0, 0

    def close(self) -> None:
        """Write what is left, and mark the dataset as finished. Calling it again does nothing."""
        self.flush()
        if not self.metadata.is_finished:
            self.metadata = dataclasses.replace(self.metadata, is_finished=True)
            self.metadata.write(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left. After an error the dataset stays unfinished."""
        if kind is None:
            self.close()
        else:
            self.flush()

    def _open(self, new: Metadata, append: bool) -> Metadata:
        """Return the description to start from: a new one, or that of the dataset which is continued."""
        if append and (self.folder / NAME).exists():
            old = Metadata.read(self.folder)
            for name in ("environment", "leaves", "has_states", "key_impl"):
                difference = first_difference(getattr(old, name), getattr(new, name), name)
                if difference is not None:
                    raise DatasetError(f"{self.folder} holds other data: {difference}; write to another folder")
            return dataclasses.replace(old, is_finished=False)
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise FileExistsError(f"{self.folder} holds files already; name another folder, or append to a dataset")
        return new

    def _require_fitting(self, episode: RecordedEpisode, arrays: dict[str, NDArray]) -> None:
        """Raise `ValueError` unless an episode fits the description of the dataset."""
        num_steps = episode.num_steps
        if num_steps < 1:
            raise ValueError(f"an episode must have at least 1 step, got {num_steps}; leave it out")
        names = self.metadata.array_names
        if names != arrays.keys():
            lacking, unknown = sorted(names - arrays.keys()), sorted(arrays.keys() - names)
            raise ValueError(
                f"an episode must have the arrays of the dataset, got one that lacks {lacking or 'none'} and has also "
                f"{unknown or 'none'}; see states and key_impl of the writer"
            )
        for name, array in arrays.items():
            expected = num_steps + is_per_state(name)
            if array.shape[:1] != (expected,):
                raise ValueError(
                    f"{name} must have {expected} rows in {num_steps} steps, got shape {list(array.shape)}"
                )
            dtype, shape = self.metadata.leaves.get(name, (str(array.dtype), array.shape[1:]))
            if (str(array.dtype), array.shape[1:]) != (dtype, shape):
                raise ValueError(
                    f"{name} must be {dtype}{list(shape)} at each step, got {array.dtype}{list(array.shape[1:])}; "
                    "record it in the environment of this dataset"
                )
        ends = np.flatnonzero(arrays["terminated"] | arrays["truncated"])
        if ends.size and ends[0] != num_steps - 1:
            raise ValueError(
                f"an episode must end at its last step, {num_steps - 1}, got an end at step {ends[0]}; divide it"
            )


def _require_single(env: AnyEnv) -> None:
    """Raise `ValueError` if an environment is a batch of environments."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(env):
        if np.ndim(leaf) > parameter_ndim(env, path):
            name = jax.tree_util.keystr(path[-1:], simple=True)
            raise ValueError(
                f"a dataset holds episodes of one environment, got a batch, because its {name} has the shape "
                f"{np.shape(leaf)}; record each environment to a folder of its own"
            )
