"""The spaces of a stateful environment, as an environment that the pure wrappers take."""

from __future__ import annotations

from typing import Any

import jax

from funcenv.adapters.env import Env
from funcenv.adapters.spaces.space import GeneratorSpace
from funcenv.func_env import FuncEnv
from funcenv.struct import field


class _Described(FuncEnv[Any, Any, Any]):
    """The environment inside a pure wrapper: it has spaces, and an observation, which is the state."""

    observation_space: Any = field(pytree_node=False, default=None)
    action_space: Any = field(pytree_node=False, default=None)
    reward_range: Any = field(pytree_node=False, default=None)

    def observation(self, state: Any, key: jax.Array) -> Any:
        """Return the state."""
        del key
        return state


def described(wrapper: object, env: Env[Any, Any]) -> _Described:
    """Return an environment with the spaces of `env`, for the pure wrapper of the same name as `wrapper`.

    Raises:
        TypeError: `env` has a space of its own kind.
    """
    spaces = {}
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        if type(space) is not GeneratorSpace:
            raise TypeError(
                f"{type(wrapper).__name__} needs an {name} made of those in funcenv.adapters.spaces, got {space!r}"
            )
        spaces[name] = space.pure
    return _Described(**spaces, reward_range=env.reward_range)
