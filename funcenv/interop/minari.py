"""Datasets in the format of Minari, the Farama Foundation's library of offline data, and the other way.

Minari has no place for states and keys. They go into the `infos` of an episode under "funcenv", so that a dataset that
comes back can be replayed as before. The environment's specification is in the metadata, under "funcenv" as well.
"""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from typing import Any

import jax
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer

from funcenv.adapters.gymnasium.member_conversion import has_own_form
from funcenv.adapters.gymnasium.registration import gymnasium_id, register_envs
from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.datasets.dataset import Dataset
from funcenv.datasets.episode import RecordedEpisode
from funcenv.datasets.leaves import Layout, from_file, from_named, named, to_file
from funcenv.datasets.metadata import DatasetError
from funcenv.datasets.writer import MAX_BYTES, DatasetWriter
from funcenv.func_env import AnyEnv
from funcenv.registry import EnvSpec, spec

_OWN = "funcenv"  # entry of `infos` and of the metadata


def to_minari(dataset: Dataset, dataset_id: str, **description: Any) -> minari.MinariDataset:
    """Write a dataset to Minari's local folder, and return it as Minari does.

    Arrays are stored without loss. Spaces are those of Gymnasium, and `recover_environment` builds the environment if
    its id and parameters are registered ones.

    Args:
        dataset: Dataset.
        dataset_id: Id in Minari, such as "cartpole/expert-v0".
        **description: What Minari stores besides, such as `author`, `algorithm_name` or `description`. Minari's
            warnings about what is left out are not shown.

    Raises:
        DatasetError: The dataset is damaged or empty, or its environment is not known.
        TypeError: A space has no plain form, such as text and graphs.
        ValueError: Minari refuses the id, or has a dataset of that id.

    >>> import os, tempfile, funcenv
    >>> os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp()
    >>> env = funcenv.make("CartPole-v1")
    >>> ours = funcenv.datasets.record(env, funcenv.random_policy(env), funcenv.key(0), 5, f"{tempfile.mkdtemp()}/data")
    >>> theirs = to_minari(ours, "cartpole/random-v0", author="Ada")
    >>> theirs.total_episodes, theirs.observation_space.shape
    (5, (4,))
    """
    if not len(dataset):
        raise DatasetError(f"{dataset.folder} has no episode, which Minari needs; record some first")
    env = dataset.env
    _require_plain(env)
    spaces = {f"{name}_space": to_gymnasium(getattr(env, f"{name}_space")) for name in ("observation", "action")}
    theirs: minari.MinariDataset | None = None
    for index, episode in enumerate(dataset):
        buffer = [_to_buffer(index, episode)]
        if theirs is None:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*(is set to None|env_spec is None)", UserWarning)
                theirs = minari.create_dataset_from_buffers(
                    dataset_id, buffer, env=_registered_id(dataset), jpeg_encoding=False, **spaces, **description
                )
            metadata = dataset.metadata
            own = {"spec": metadata.spec, "key_impl": metadata.key_impl, "has_states": metadata.has_states}
            theirs.storage.update_metadata({_OWN: json.dumps({**own, "source": metadata.source})})
        else:
            theirs.update_dataset_from_buffer(buffer)
    assert theirs is not None
    return theirs


def from_minari(
    dataset: minari.MinariDataset | str,
    path: str | os.PathLike[str],
    env: AnyEnv | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    trust_code: bool = False,
) -> Dataset:
    """Write a dataset of Minari to a folder in our format, and return it.

    Observations, actions and rewards get the dtypes of `env`: 32 bits where Minari often has 64. States and keys exist
    only in datasets that `to_minari` wrote; others can be sampled and learned from, but not replayed.

    Args:
        dataset: Dataset, or its id, which must be in Minari's local folder.
        path: Folder to write to; see `funcenv.datasets.DatasetWriter`.
        env: Environment of the dataset. It may be left out if `to_minari` wrote the dataset.
        max_bytes: Bound on the size before compression.
        trust_code: Also import an environment that the dataset names as `module:name`.

    Raises:
        ValueError: `env` is missing, or observations or actions do not fit it.
        FileExistsError: The folder holds files.
        funcenv.datasets.DatasetFullError: The dataset would exceed `max_bytes`.

    >>> import os, tempfile, funcenv
    >>> os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp()
    >>> env = funcenv.make("CartPole-v1")
    >>> ours = funcenv.datasets.record(env, funcenv.random_policy(env), funcenv.key(0), 5, f"{tempfile.mkdtemp()}/data")
    >>> theirs = to_minari(ours, "cartpole/random-v1", author="Ada")
    >>> again = from_minari("cartpole/random-v1", f"{tempfile.mkdtemp()}/data")
    >>> funcenv.datasets.verify_dataset(again).outcome.value
    'equal bit for bit'
    """
    theirs = minari.load_dataset(dataset) if isinstance(dataset, str) else dataset
    own = json.loads(theirs.storage.metadata.get(_OWN, "{}"))
    if env is None and own.get("spec") is not None:
        env = EnvSpec.from_json(json.dumps(own["spec"]), trust_code=trust_code).make()
    if env is None:
        raise ValueError(
            f"the environment of {theirs.id} is not known here, because to_minari did not write it; pass env=..."
        )
    _require_plain(env)
    layout, has_states = Layout.of(env), bool(own.get("has_states", False))
    source = {"minari": theirs.id, **own.get("source", {})}
    options: dict[str, Any] = {"states": has_states, "source": source, "max_bytes": max_bytes}
    with DatasetWriter(path, env, own.get("key_impl"), **options) as writer:
        for episode in theirs.iterate_episodes():
            writer.add(_from_data(episode, layout, has_states))
    return Dataset(path, env)


def _to_buffer(index: int, episode: RecordedEpisode) -> EpisodeBuffer:
    arrays = episode.arrays()
    infos = {name: to_file(array) for name, array in arrays.items() if name == "key" or name.startswith("state")}
    return EpisodeBuffer(
        id=index,
        observations=episode.observation,
        actions=episode.action,
        rewards=episode.reward,
        terminations=episode.terminated,
        truncations=episode.truncated,
        infos={_OWN: infos} if infos else {},
    )


def _from_data(episode: Any, layout: Layout, has_states: bool) -> RecordedEpisode:
    own = (episode.infos or {}).get(_OWN, {})
    state = None
    if has_states:
        dtypes = {name: dtype for name, (dtype, _) in layout.leaves().items()}
        names = named("state", layout.state)
        state = from_named("state", layout.state, {name: from_file(own[name], dtypes[name]) for name in names})
    return RecordedEpisode(
        observation=_as_layout("observations", episode.observations, layout.observation),
        action=_as_layout("actions", episode.actions, layout.action),
        reward=np.asarray(episode.rewards, layout.reward.dtype),
        terminated=np.asarray(episode.terminations, bool),
        truncated=np.asarray(episode.truncations, bool),
        state=state,
        key=own.get("key"),
    )


def _as_layout(what: str, tree: Any, like: Any) -> Any:
    """Return arrays in the dtypes of an environment."""
    theirs: Any = jax.tree.structure(tree)
    ours: Any = jax.tree.structure(like)
    if theirs != ours:
        raise ValueError(f"{what} must have the structure {ours} of the environment, got {theirs}; pass another env")
    return jax.tree.map(lambda leaf, one: np.asarray(leaf, one.dtype), tree, like)


def _require_plain(env: AnyEnv) -> None:
    """Raise `TypeError` if members of a space have another form in Gymnasium than arrays."""
    for space in (env.observation_space, env.action_space):
        if has_own_form(space):
            raise TypeError(f"Minari holds spaces of arrays, got {space}; flatten it before you record")


def _registered_id(dataset: Dataset) -> str | None:
    """Return the id in Gymnasium that builds the environment, or None if its parameters are others."""
    if dataset.metadata.spec is None:
        return None
    found = EnvSpec.from_json(json.dumps(dataset.metadata.spec), trust_code=True)
    register_envs()
    known = spec(found.id)
    return gymnasium_id(found.id) if dataclasses.asdict(known) == dataclasses.asdict(found) else None
