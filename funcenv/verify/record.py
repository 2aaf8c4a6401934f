"""Records as packaged data: one small JSON file for each environment, which an id keeps for ever."""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import json
import warnings
from collections.abc import Mapping
from typing import Any

from funcenv.registry import spec
from funcenv.verify.digest import Trace

FORMAT = 1
EXACT_FLAGS = "--xla_cpu_max_isa=AVX --xla_cpu_experimental_ynn_fusion_type="
"""The flags with which results do not depend on how XLA divides a program, nor on the size of a batch: it contracts no
multiplication and addition to one operation, and leaves no large sum to a library, which adds in another order."""


@dataclasses.dataclass(frozen=True)
class Record:
    """What an environment did when it was recorded.

    Attributes:
        id: The registered id.
        declared: Its limit, threshold, parameters and spaces as text.
        traces: For each autoreset mode, by value, what its steps were without special flags.
        exact_bits: For each mode the digests of all bits with `EXACT_FLAGS`.
        made_with: The versions of the packages that made it.
    """

    id: str
    declared: Mapping[str, Any]
    traces: Mapping[str, Trace]
    exact_bits: Mapping[str, tuple[str, ...]]
    made_with: Mapping[str, str]

    def to_json(self) -> str:
        """Serialize the record, one line for each list."""
        modes = {
            mode: {
                "bits": " ".join(trace.bits),
                "exact_bits": " ".join(self.exact_bits[mode]),
                "integers": " ".join(trace.integers),
                "sketches": [" ".join(f"{number:.9g}" for number in one) for one in trace.sketches],
            }
            for mode, trace in self.traces.items()
        }
        contents = {
            "format": FORMAT,
            "id": self.id,
            "declared": dict(self.declared),
            "made_with": dict(self.made_with),
            "modes": modes,
        }
        return json.dumps(contents, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Restore a record from the output of `to_json`.

        Raises:
            ValueError: Another version of the package wrote it in another format.
        """
        found = json.loads(text)
        if found["format"] != FORMAT:
            raise ValueError(f"records have format {FORMAT}, got {found['format']}; install funcenv again")
        traces, exact = {}, {}
        for mode, one in found["modes"].items():
            sketches = tuple(tuple(map(float, row.split())) for row in one["sketches"])
            traces[mode] = Trace(tuple(one["bits"].split()), tuple(one["integers"].split()), sketches)
            exact[mode] = tuple(one["exact_bits"].split())
        return cls(found["id"], found["declared"], traces, exact, found["made_with"])

    @property
    def fingerprint(self) -> str:
        """The last digest in exact mode of SAME_STEP, which tells two records apart."""
        return self.exact_bits["SameStep"][-1]


def file_name(id: str) -> str:
    """Return the name of a record's file.

    >>> file_name("MinAtar/Breakout-v1")
    'MinAtar--Breakout-v1.json'
    """
    return f"{id.replace('/', '--')}.json"


@functools.cache
def recorded_ids() -> tuple[str, ...]:
    """Return all ids that have a record.

    >>> "CartPole-v1" in recorded_ids()
    True
    """
    names = [entry.name for entry in _folder().iterdir() if entry.name.endswith(".json")]
    return tuple(sorted(name.removesuffix(".json").replace("--", "/") for name in names))


def load_record(id: str) -> Record | None:
    """Return the record of an id, or None if it has none.

    >>> load_record("CartPole-v1").declared["max_episode_steps"]
    500
    >>> load_record("somebody/Elses-v0") is None
    True
    """
    if id not in recorded_ids():
        return None
    return Record.from_json((_folder() / file_name(id)).read_text())


def declaration(id: str, env: Any) -> dict[str, Any]:
    """Return what an id declares, as its record keeps it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ids without a version
        known = spec(id)
    return {
        "max_episode_steps": known.max_episode_steps,
        "reward_threshold": known.reward_threshold,
        "kwargs": json.loads(json.dumps(dict(known.kwargs), default=repr)),
        "observation_space": repr(env.observation_space),
        "action_space": repr(env.action_space),
    }


def _folder() -> Any:
    return importlib.resources.files("funcenv.verify") / "records"
