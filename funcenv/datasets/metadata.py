"""The description of a dataset: a small JSON file beside the chunks, which says what they hold.

    dataset.json        format, environment, leaves, versions, source, and the chunks with their digests
    chunk-00000.npz     whole episodes as arrays, one after the other

A chunk counts as soon as `dataset.json` names it, and that file is replaced as a whole. A writer that is killed leaves
at most a chunk that is not named, which readers ignore and a later writer replaces.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from typing import Any, Self

from funcenv.datasets.episode import FLAGS
from funcenv.files import write_text
from funcenv.verify.run import surroundings

FORMAT = "funcenv dataset 1"
"""The version of the format, under "format"."""
NAME = "dataset.json"
"""The name of the description in the folder of a dataset."""


class DatasetError(ValueError):
    """A dataset that is damaged, incomplete, of another format, or of another environment."""


@dataclasses.dataclass(frozen=True)
class Chunk:
    """A file of whole episodes."""

    lengths: tuple[int, ...]  # steps of each episode
    num_bytes: int  # size of the arrays before compression
    sha256: str  # digest of the file

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the chunk that a JSON object describes.

        Raises:
            TypeError, KeyError: The object has another form.
        """
        lengths = value["lengths"]
        if not all(type(length) is int and length > 0 for length in lengths):
            raise TypeError(f"lengths must be positive integers, got {lengths!r:.200}")
        return cls(tuple(lengths), int(value["num_bytes"]), str(value["sha256"]))


@dataclasses.dataclass(frozen=True)
class Metadata:
    """The contents of `dataset.json`."""

    environment: dict[str, Any]  # as `describe_env` returns it
    spec: dict[str, Any] | None  # `EnvSpec.to_json` of the environment, if an id builds it
    leaves: dict[str, tuple[str, tuple[int, ...]]]  # dtype and shape of every stored leaf of one step, by name
    has_states: bool
    key_impl: str | None  # generator of the keys; None if there are no keys
    source: dict[str, Any]  # how the data were made, in JSON values
    versions: dict[str, str] = dataclasses.field(default_factory=surroundings)
    chunks: tuple[Chunk, ...] = ()
    is_finished: bool = False  # False while the dataset is written, and if the writer was killed

    @property
    def lengths(self) -> tuple[int, ...]:
        """Steps of each episode."""
        return tuple(length for chunk in self.chunks for length in chunk.lengths)

    @property
    def num_bytes(self) -> int:
        """Size of all arrays before compression."""
        return sum(chunk.num_bytes for chunk in self.chunks)

    @property
    def array_names(self) -> set[str]:
        """Names of the arrays in every chunk."""
        return {*self.leaves, *FLAGS, *(() if self.key_impl is None else ("key",))}

    def write(self, folder: pathlib.Path) -> None:
        """Write the description, which appears complete or not at all."""
        values = {"format": FORMAT, **dataclasses.asdict(self)}
        write_text(folder / NAME, json.dumps(values, indent=1) + "\n")

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """Read the description of a dataset.

        Raises:
            FileNotFoundError: The folder holds no dataset.
            DatasetError: The description is damaged, lacks something, or has another format.
        """
        path = pathlib.Path(folder) / NAME
        if not path.is_file():
            raise FileNotFoundError(f"there is no dataset in {folder}, because it has no {NAME}; record one first")
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DatasetError(f"{path} is no JSON: {error}; record the dataset again") from error
        if not isinstance(values, dict) or "format" not in values:
            raise DatasetError(f"{path} names no format; name the folder of a dataset that funcenv recorded")
        found = values.pop("format")
        if found != FORMAT:
            writer = values.get("versions", {})
            by = f", which funcenv {writer.get('funcenv')} wrote" if isinstance(writer, dict) and writer else ""
            raise DatasetError(f"{path} has the format {found!r}{by}; this version reads {FORMAT!r}, install the other")
        names = [entry.name for entry in dataclasses.fields(cls)]
        if missing := [name for name in names if name not in values]:
            raise DatasetError(f"{path} lacks {', '.join(missing)}; record the dataset again")
        try:
            return cls._from_values({name: values[name] for name in names})
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise DatasetError(f"{path} is damaged: {error}; record the dataset again") from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        for name, kind in (("environment", dict), ("source", dict), ("versions", dict), ("leaves", dict)):
            if not isinstance(values[name], kind):
                raise TypeError(f"{name} must be an object, got {values[name]!r:.100}")
        values["leaves"] = {name: (str(dtype), tuple(shape)) for name, (dtype, shape) in values["leaves"].items()}
        values["chunks"] = tuple(map(Chunk.from_json, values["chunks"]))
        return cls(**values)


def chunk_path(folder: pathlib.Path, index: int) -> pathlib.Path:
    """Return the file of a chunk. Its name follows from the index, so that no file can name another one."""
    return folder / f"chunk-{index:05d}.npz"
