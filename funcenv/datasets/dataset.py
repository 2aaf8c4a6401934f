"""Reading a dataset: episodes, states to continue from, and minibatches."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import pathlib
import zipfile
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.checks import require_size
from funcenv.datasets.description import describe_env, first_difference
from funcenv.datasets.episode import FLAGS, RecordedEpisode, is_per_state
from funcenv.datasets.leaves import Layout, from_file, from_named, from_words
from funcenv.datasets.metadata import DatasetError, Metadata, chunk_path
from funcenv.datasets.programs import NUM_ROWS, reset_rows, step_rows
from funcenv.datasets.sampler import Sampler
from funcenv.func_env import AnyEnv, require_env
from funcenv.random.generators import find_impl
from funcenv.registry import EnvSpec
from funcenv.struct import NDArray


class Dataset:
    """A dataset on the disk: a sequence of `RecordedEpisode`, read chunk by chunk.

    A dataset is data. Its environment is built from an id that is registered here, and no code in the folder or named
    by it runs, unless `trust_code` says so.

    Any recorded state can be restored, and is then the start of as many branches as you like:

    >>> import tempfile, funcenv
    >>> from funcenv.datasets import record
    >>> env = funcenv.make("Pendulum-v1")
    >>> folder = f"{tempfile.mkdtemp()}/pendulum"
    >>> dataset = record(env, funcenv.random_policy(env), funcenv.key(0), num_episodes=3, path=folder)
    >>> len(dataset), dataset.num_steps, dataset[0].observation.shape
    (3, 600, (201, 3))
    >>> state = dataset.restore(episode=2, step=50)
    >>> torques = np.linspace(-2, 2, 100, dtype=np.float32)[:, None]
    >>> branches, timesteps = jax.vmap(dataset.env.step, in_axes=(None, 0, None))(state, torques, funcenv.key(1))
    >>> timesteps.reward.shape
    (100,)

    Args:
        path: Folder of the dataset.
        env: Environment that it was recorded in; by default it is built by its id.
        trust_code: Also import an environment that the dataset names as `module:name`; for datasets of people whom you
            trust.

    Raises:
        FileNotFoundError: The folder holds no dataset.
        DatasetError: The dataset is damaged or has another format, or `env` is another environment.
        funcenv.names.UntrustedCodeError: Its environment is no registered one.
    """

    def __init__(self, path: str | os.PathLike[str], env: AnyEnv | None = None, *, trust_code: bool = False) -> None:
        self.folder = pathlib.Path(path)
        self.metadata = Metadata.read(self.folder)
        self._loaded: tuple[int, dict[str, NDArray]] | None = None
        if env is not None:
            require_env("Dataset", env)
        elif self.metadata.spec is not None:
            env = EnvSpec.from_json(json.dumps(self.metadata.spec), trust_code=trust_code).make()
        if env is not None:
            self._require_environment(env)
        self._env = env

    @property
    def env(self) -> AnyEnv:
        """Environment that the dataset was recorded in.

        Raises:
            DatasetError: No id builds it, and it was not passed.
        """
        if self._env is None:
            name = self.metadata.environment.get("class")
            raise DatasetError(f"no id builds the environment of {self.folder}, a {name}; pass it: Dataset(path, env)")
        return self._env

    @property
    def lengths(self) -> NDArray:
        """Steps of each episode, `[num_episodes]`."""
        return np.array(self.metadata.lengths, np.int64)

    @property
    def num_steps(self) -> int:
        """Number of transitions."""
        return sum(self.metadata.lengths)

    @functools.cached_property
    def returns(self) -> NDArray:
        """Sum of the rewards of each episode, `[num_episodes]`."""
        return np.array([episode.episode_return for episode in self])

    def __len__(self) -> int:
        return len(self.metadata.lengths)

    def __getitem__(self, index: int) -> RecordedEpisode:
        """Return an episode; a negative index counts from the end."""
        episode = range(len(self))[index]  # raises the IndexError of a sequence
        sizes = np.cumsum([len(chunk.lengths) for chunk in self.metadata.chunks])
        number = int(np.searchsorted(sizes, episode, side="right"))
        lengths = self.metadata.chunks[number].lengths
        episode -= int(sizes[number]) - len(lengths)  # number within the chunk
        begin, end = sum(lengths[:episode]), sum(lengths[: episode + 1])
        arrays = {
            name: array[begin + episode : end + episode + 1] if is_per_state(name) else array[begin:end]
            for name, array in self.chunk_arrays(number).items()
        }
        return RecordedEpisode.from_arrays(arrays, self._templates)

    def __iter__(self) -> Iterator[RecordedEpisode]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        state = "" if self.metadata.is_finished else ", unfinished"
        return f"Dataset({str(self.folder)!r}: {len(self)} episodes, {self.num_steps} steps{state})"

    def restore(self, episode: int, step: int) -> Any:
        """Return the state after `step` steps of an episode, as `FuncEnv.step` takes it; 0 is the first state.

        Without stored states, the episode is replayed up to this step.

        Raises:
            IndexError: There is no such episode or step.
            DatasetError: There are neither states nor keys.
        """
        recorded = self[episode]
        if not 0 <= step <= recorded.num_steps:
            raise IndexError(f"a state of episode {episode} has a number from 0 to {recorded.num_steps}, got {step}")
        if recorded.state is not None:
            state = jax.tree.map(lambda leaf: leaf[step], recorded.state)
        else:
            state = self._replayed_state(recorded, step)
        return from_words(state, Layout.of(self.env).state)

    def key(self, episode: int, step: int) -> jax.Array:
        """Return the key of the call that led to the state after `step` steps: the reset for 0, else a step.

        Raises:
            IndexError: There is no such episode or step.
            DatasetError: There are no keys.
        """
        words = self._require_keys(self[episode])
        if not 0 <= step < len(words):
            raise IndexError(f"a key of episode {episode} has a number from 0 to {len(words) - 1}, got {step}")
        found: jax.Array = jax.random.wrap_key_data(words[step], impl=self.key_impl)
        return found

    @property
    def key_impl(self) -> Any:
        """Generator of the keys, as JAX takes it."""
        return None if self.metadata.key_impl is None else find_impl(self.metadata.key_impl)

    def sampler(self, batch_size: int) -> Sampler:
        """Return a pure function that draws minibatches, with all observations and actions on the device.

        Args:
            batch_size: Transitions in a minibatch.

        Raises:
            DatasetError: The dataset has no transition, or is damaged.
            ValueError: `batch_size` is below 1.

        >>> import tempfile, funcenv
        >>> from funcenv.datasets import record
        >>> env = funcenv.make("CartPole-v1")
        >>> folder = f"{tempfile.mkdtemp()}/data"
        >>> sample = record(env, funcenv.random_policy(env), funcenv.key(0), 10, folder).sampler(batch_size=32)
        >>> @jax.jit
        ... def mean_rewards(sample, key):
        ...     return jax.lax.map(lambda key: sample(key).reward.mean(), jax.random.split(key, 5))
        >>> mean_rewards(sample, funcenv.key(1)).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0]
        """
        batch_size = require_size("batch_size", batch_size)
        if not self.num_steps:
            raise DatasetError(f"{self.folder} has no transition to draw from; record episodes first")
        names = [name for name in self.metadata.leaves if not name.startswith("state")] + list(FLAGS)
        chunks = [self.chunk_arrays(index) for index in range(len(self.metadata.chunks))]
        arrays = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names}
        trees = {
            part: jax.tree.map(jax.numpy.asarray, from_named(part, self._templates[part], arrays))
            for part in ("observation", "action")
        }
        episode = np.repeat(np.arange(len(self)), self.lengths)
        return Sampler(
            **trees,
            **{name: jax.numpy.asarray(arrays[name]) for name in ("reward", *FLAGS)},
            observation_row=jax.numpy.asarray(np.arange(self.num_steps) + episode, "int32"),
            batch_size=batch_size,
        )

    def chunk_arrays(self, index: int) -> dict[str, NDArray]:
        """Return the arrays of all episodes of a chunk by name, one after the other; the latest chunk is kept.

        Raises:
            DatasetError: The chunk is missing or damaged.
        """
        if self._loaded is None or self._loaded[0] != index:
            self._loaded = index, self._read(index)
        return self._loaded[1]

    @functools.cached_property
    def _templates(self) -> dict[str, Any]:
        """The pytrees that episodes consist of; dicts of leaves by name if the environment is not known."""
        parts = ("observation", "action", *(("state",) if self.metadata.has_states else ()))
        layout = None if self._env is None else Layout.of(self._env)
        return {part: self._template(part, layout) for part in parts}

    def _template(self, part: str, layout: Layout | None) -> Any:
        if layout is not None:
            return getattr(layout, part)
        names = [name for name in self.metadata.leaves if name.partition(".")[0] == part]
        return 0 if names == [part] else {name.partition(".")[2]: 0 for name in names}

    def _read(self, index: int) -> dict[str, NDArray]:
        path, chunk = chunk_path(self.folder, index), self.metadata.chunks[index]
        if not path.is_file():
            raise DatasetError(f"{path} is missing, which {self.folder} needs; copy the folder again")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != chunk.sha256:
            raise DatasetError(f"{path} is damaged: its digest is not the one that was recorded; copy the folder again")
        leaves, names = self.metadata.leaves, self.metadata.array_names
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                if missing := sorted(names - set(file.files)):
                    raise DatasetError(f"{path} lacks {', '.join(missing)}; record the dataset again")
                arrays = {
                    name: from_file(file[name], leaves[name][0] if name in leaves else str(file[name].dtype))
                    for name in names
                }
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            if isinstance(error, DatasetError):
                raise
            raise DatasetError(f"{path} cannot be read: {error}; record the dataset again") from error
        for name, array in arrays.items():
            rows = sum(chunk.lengths) + is_per_state(name) * len(chunk.lengths)
            dtype, shape = leaves.get(name, (str(array.dtype), array.shape[1:]))
            if (len(array), str(array.dtype), array.shape[1:]) != (rows, dtype, shape):
                raise DatasetError(
                    f"{path} must hold {name} as {dtype}{[rows, *shape]}, got {array.dtype}{list(array.shape)}; "
                    "record the dataset again"
                )
        return arrays

    def _require_environment(self, env: AnyEnv) -> None:
        """Raise `DatasetError` unless the dataset was recorded in an environment."""
        difference = first_difference(self.metadata.environment, json.loads(json.dumps(describe_env(env))))
        if difference is not None:
            raise DatasetError(
                f"{self.folder} was recorded in another environment: {difference}; pass the one it names"
            )
        wanted = Layout.of(env).leaves(self.metadata.has_states)
        for name in sorted({*wanted, *self.metadata.leaves}):
            theirs, ours = self.metadata.leaves.get(name), wanted.get(name)
            if theirs != ours:
                raise DatasetError(
                    f"{self.folder} does not fit its environment: {name} is {theirs} there and {ours} here; open it "
                    "with the version and with jax_enable_x64 as it was recorded"
                )

    def _require_keys(self, episode: RecordedEpisode) -> NDArray:
        if episode.key is None:
            raise DatasetError(f"{self.folder} has no keys, so nothing can be replayed; record it with this package")
        return episode.key

    def _replayed_state(self, episode: RecordedEpisode, step: int) -> Any:
        key, impl = self._require_keys(episode), self.metadata.key_impl

        def alike(tree: Any) -> Any:
            return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (NUM_ROWS, *np.shape(leaf))), tree)

        state = reset_rows(self.env, alike(key[0]), impl).state
        for number in range(step):
            action = jax.tree.map(lambda leaf, number=number: leaf[number], episode.action)
            state = step_rows(self.env, state, alike(action), alike(key[number + 1]), impl).state
        return jax.tree.map(lambda leaf: leaf[0], jax.device_get(state))
