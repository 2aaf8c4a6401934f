"""Keep some entries of an observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcenv.func_env import Action, State
from funcenv.spaces import Dict, Tuple
from funcenv.spaces.space import AnySpace
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.transform_observation import ObservationWrapper


class FilterObservation(ObservationWrapper[State, Action, Any]):
    """Keeps the chosen entries of a `Dict` observation (by key) or of a `Tuple` observation (by index).

    Put it inside wrappers that join the entries to one array, such as `FlattenObservation`.

    Args:
        env: an environment with a `Dict` or `Tuple` of observations.
        filter_keys: the keys of a dict, or the indices of a tuple, which may be negative. A tuple has the entries in
            this order.

    Raises:
        TypeError: The observations are neither, or the keys have another type than those of the observations.
        ValueError: There is no key, a key is unknown, or a key is given twice.

    >>> import funcenv
    >>> env = funcenv.wrappers.TimeAwareObservation(funcenv.make("CartPole-v1"), flatten=False)
    >>> FilterObservation(env, ["time"]).reset(funcenv.key(0))[1].observation
    {'time': Array([0], dtype=int32)}
    """

    filter_keys: Sequence[str | int] = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.filter_keys, str) or not isinstance(self.filter_keys, Sequence):
            raise TypeError(f'filter_keys must be a sequence, such as ["position"], got {self.filter_keys!r}')
        object.__setattr__(self, "filter_keys", tuple(self.filter_keys))
        entries = _entries(first_env(self.env).observation_space)
        kinds = tuple({type(key) for key in entries})
        for key in self.filter_keys:
            if type(key) not in kinds:
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise TypeError(f"filter_keys must hold {wanted} for these observations, got {key!r}")
            if key not in entries:
                raise ValueError(f"filter_keys names {key!r}, which is not among {list(entries)}; name some of these")
        if not self.filter_keys or len(set(self.filter_keys)) < len(self.filter_keys):
            raise ValueError(f"filter_keys must name at least one entry and none twice, got {self.filter_keys}")

    def outer_observation(self, observation: Any) -> Any:
        """Return the entries that are kept."""
        if isinstance(observation, dict):
            return {key: observation[key] for key in self.filter_keys}
        return tuple(observation[index] for index in self.filter_keys)

    @property
    def observation_space(self) -> AnySpace:
        """The space of the entries that are kept."""
        space = self.env.observation_space
        entries = _entries(space)
        if isinstance(space, Dict):
            return Dict({key: entries[key] for key in self.filter_keys}, sort_keys=space.sort_keys)
        return Tuple(entries[index] for index in self.filter_keys)


def _entries(space: AnySpace) -> dict[Any, AnySpace]:
    """Return the entries of a space by key or index."""
    if isinstance(space, Dict):
        return space.spaces
    if isinstance(space, Tuple):
        return {index: space.spaces[index] for index in range(-len(space.spaces), len(space.spaces))}
    raise TypeError(
        f"FilterObservation needs a Dict or Tuple of observations, got {space!r}; "
        "put it inside the wrapper that flattens them, or use TransformObservation"
    )
