"""Show to critics what agents do not see."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import Action, State
from funcenv.spaces import Box, Dict
from funcenv.spaces.space import AnySpace
from funcenv.struct import field
from funcenv.wrappers._spaces import array_space, first_env, info_shapes
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.state_observation import StateObservation

STATE = "state"
"""What stands for the whole state, where no entry has this name."""


class CriticObservation(Wrapper[State, Action, dict[str, Any]]):
    """Observes what only a critic sees: a dict `{"critic_observation": ..., "observation": ...}`.

    A critic is needed during training alone, and may therefore see what the agent will not see later, such as the state
    behind a noisy or partial observation, or the parameters that an episode was drawn with (Pinto et al., "Asymmetric
    actor critic for image-based robot learning", 2018). Put it outside wrappers that change observations.

    Args:
        env: an environment.
        name: an entry of a `Dict` of observations, which is taken out of them; or else an entry of `state_info`, whose
            arrays are shown; or else "state", for all arrays of the state.

    Raises:
        ValueError: There is no such entry, or the observation has no other one.

    >>> import funcenv
    >>> env = CriticObservation(funcenv.make("MountainCar-v0"), "state")
    >>> _, timestep = env.reset(funcenv.key(0))
    >>> sorted(timestep.observation), sorted(timestep.observation["critic_observation"])
    (['critic_observation', 'observation'], ['elapsed_steps', 'env_state.position', 'env_state.velocity'])
    """

    name: str = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        entries, info = self._entries, self._info
        if self.name not in {*entries, *info, STATE}:
            raise ValueError(
                f"CriticObservation finds no {self.name!r}: observations have the entries {sorted(entries)}, and info "
                f"has {sorted(info)}; name one of these, or {STATE!r} for the whole state"
            )
        if set(entries) == {self.name}:
            raise ValueError(
                f"the observation has no entry but {self.name!r}, and the agent would see nothing; leave it an entry"
            )

    def observation(self, state: State, key: jax.Array) -> dict[str, Any]:
        """Return the observation of the agent, and what critics see beside it."""
        shown: Any = self.env.observation(state, key)
        if self.name in self._entries:
            hidden, shown = shown[self.name], {name: shown[name] for name in shown if name != self.name}
        elif self.name in self._info:
            hidden = jnp.asarray(self.env.state_info(state)[self.name])
        else:
            hidden = StateObservation.arrays_of(state)
        return {"critic_observation": hidden, "observation": shown}

    @property
    def observation_space(self) -> AnySpace:
        """The space of the agent's observation, and that of what critics see beside it."""
        space, entries = self.env.observation_space, self._entries
        if self.name in entries:
            return Dict(
                critic_observation=entries[self.name],
                observation=Dict({name: entry for name, entry in entries.items() if name != self.name}),
            )
        info = self._info
        hidden = info[self.name] if self.name in info else StateObservation(self.env).state_space
        return Dict(critic_observation=hidden, observation=space)

    @property
    def _entries(self) -> dict[str, AnySpace]:
        space = first_env(self.env).observation_space
        return dict(space.spaces) if isinstance(space, Dict) else {}

    @property
    def _info(self) -> dict[str, Box]:
        return {name: array_space(leaf) for name, leaf in info_shapes(self.env).items() if hasattr(leaf, "dtype")}
