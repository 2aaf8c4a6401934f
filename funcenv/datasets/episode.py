"""One episode of a dataset, in NumPy arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt32

from funcenv.datasets.leaves import from_named, named
from funcenv.struct import NDArray

FLAGS = ("terminated", "truncated")


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedEpisode:
    """One episode, or the part of it that was recorded.

    Entry 0 of states, observations and keys belongs to the reset, and entry t + 1 to the step with action t. Typed keys
    are stored as words; `jax.random.wrap_key_data` makes keys of them.
    """

    observation: Any  # every leaf `[num_steps + 1, ...]`
    action: Any  # every leaf `[num_steps, ...]`
    reward: Float[NDArray, "num_steps"]
    terminated: Bool[NDArray, "num_steps"]
    truncated: Bool[NDArray, "num_steps"]  # if neither flag is set at the end, the recording stopped there
    state: Any = None  # every leaf `[num_steps + 1, ...]`; None if states were left out
    key: UInt32[NDArray, "num_steps+1 words"] | None = None  # words of the keys of the calls; None if unknown

    @property
    def num_steps(self) -> int:
        """Number of steps."""
        return len(self.reward)

    @property
    def episode_return(self) -> float:
        """Sum of the rewards."""
        return float(self.reward.sum(dtype=np.float64))

    def without_states(self) -> RecordedEpisode:
        """Return the episode without its states; the keys stay."""
        return dataclasses.replace(self, state=None)

    def arrays(self) -> dict[str, NDArray]:
        """Return all arrays by name, such as "observation" or "state.theta"."""
        found = {
            **named("observation", self.observation),
            **named("action", self.action),
            "reward": self.reward,
            "terminated": self.terminated,
            "truncated": self.truncated,
        }
        if self.state is not None:
            found |= named("state", self.state)
        return found if self.key is None else {**found, "key": self.key}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], templates: Mapping[str, Any]) -> RecordedEpisode:
        """Return the episode with these arrays; templates are the pytrees "observation", "action" and maybe "state"."""
        trees = {part: from_named(part, template, arrays) for part, template in templates.items()}
        return cls(**trees, reward=arrays["reward"], **{name: arrays[name] for name in FLAGS}, key=arrays.get("key"))


def is_per_state(name: str) -> bool:
    """Return whether an array of an episode has an entry for the reset, too.

    >>> is_per_state("observation.position"), is_per_state("action")
    (True, False)
    """
    return name.partition(".")[0] in ("state", "observation", "key")
