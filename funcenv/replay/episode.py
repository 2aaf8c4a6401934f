"""One episode as a value: scenes, rewards and actions on the host."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from funcenv.replay.scene_stack import take_steps
from funcenv.scene import Scene
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
    """One episode, in NumPy arrays.

    Raises:
        ValueError: `reward` or `action` does not fit the number of scenes.
    """

    scenes: Scene  # every array has a leading axis [num_steps + 1]: the first state, then the state after each step
    reward: NDArray  # [num_steps]
    action: Any = None  # members of the action space, with a leading axis [num_steps] on every array; None: not known
    terminated: bool = False
    truncated: bool = False  # if neither flag is set, the recording stopped before the episode ended
    title: str = "Episode"
    action_space: AnySpace | None = None
    action_names: tuple[str, ...] = ()  # effect of each action, as in `FuncEnv.action_names`

    def __post_init__(self) -> None:
        num_states = len(self.scenes.camera.width)
        num_steps = num_states - 1
        if np.shape(self.reward) != (num_steps,):
            raise ValueError(
                f"reward must have one number for each of the {num_steps} steps between {num_states} states, "
                f"got shape {list(np.shape(self.reward))}"
            )
        for leaf in jax.tree.leaves(self.action):
            if np.shape(leaf)[:1] != (num_steps,):
                raise ValueError(
                    f"action must have a leading axis of {num_steps} steps, one less than there are states, "
                    f"got shape {list(np.shape(leaf))}"
                )

    @property
    def num_steps(self) -> int:
        """Number of steps."""
        return len(self.reward)

    @property
    def episode_return(self) -> float:
        """Sum of the rewards."""
        return float(self.reward.sum(dtype=np.float64))

    def clip(self, start: int, stop: int) -> Episode:
        """Return the steps from `start` to `stop`, as far as they exist."""
        stop = min(stop, self.num_steps)
        start = min(start, stop)
        reaches_end = stop == self.num_steps
        return dataclasses.replace(
            self,
            scenes=take_steps(self.scenes, slice(start, stop + 1)),
            reward=self.reward[start:stop],
            action=jax.tree.map(lambda leaf: leaf[start:stop], self.action),
            terminated=self.terminated and reaches_end,
            truncated=self.truncated and reaches_end,
        )
