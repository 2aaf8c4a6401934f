"""Show the state to the policy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import Action, State
from funcenv.spaces import Dict
from funcenv.spaces.space import AnySpace
from funcenv.wrappers._spaces import array_space, state_shapes
from funcenv.wrappers.base import Wrapper


class StateObservation(Wrapper[State, Action, dict[str, Any]]):
    """Observes the whole state: a dict `{"observation": ..., "state": ...}`.

    The state is a dict of arrays, one for each leaf of the state inside, by the names of the fields that lead to it
    (`"env_state.x"`). `state_of` makes a state of it again, bit for bit, from which a policy can plan and a critic can
    learn. Put it outside everything but `PolicyMemory` and `Autoreset`.

    Args:
        env: the environment.

    >>> import funcenv
    >>> env = StateObservation(funcenv.make("CartPole-v1"))
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> sorted(timestep.observation["state"])
    ['elapsed_steps', 'env_state.theta', 'env_state.theta_dot', 'env_state.x', 'env_state.x_dot']
    >>> bool(env.state_of(timestep.observation).env_state.x == state.env_state.x)
    True
    """

    def observation(self, state: State, key: jax.Array) -> dict[str, Any]:
        """Return the inner observation and the arrays of the state."""
        return {"observation": self.env.observation(state, key), "state": self.arrays_of(state)}

    def state_of(self, observation: dict[str, Any]) -> Any:
        """Return the state that an observation shows."""
        leaves, structure = jax.tree_util.tree_flatten_with_path(state_shapes(self.env))
        return jax.tree.unflatten(structure, [jnp.asarray(observation["state"][_name(path)]) for path, _ in leaves])

    @staticmethod
    def arrays_of(state: Any) -> dict[str, jax.Array]:
        """Return the leaves of a state by name."""
        return {_name(path): jnp.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(state)}

    @property
    def observation_space(self) -> AnySpace:
        """The inner space and `state_space`."""
        return Dict(observation=self.env.observation_space, state=self.state_space)

    @property
    def state_space(self) -> Dict:
        """A `Box` for each array of the state, with the bounds of its dtype."""
        leaves = jax.tree_util.tree_leaves_with_path(state_shapes(self.env))
        return Dict({_name(path): array_space(leaf) for path, leaf in leaves})


def _name(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "state"
