"""Domain randomisation: draw new parameters for every episode.

Tobin et al., "Domain randomization for transferring deep neural networks from simulation to the real world", IROS 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from funcenv.func_env import Action, AnyEnv, FuncEnv, Obs
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import StatefulWrapper, Wrapper, layers

Sampler = Callable[[jax.Array, AnyEnv], Any]


class RandomizeParametersState(PyTreeNode):
    """The inner state and the parameters of this episode."""

    env_state: Any
    parameters: dict[str, Array]  # the drawn values by class and field: {"CartPole.gravity": ...}


class RandomizeParameters(StatefulWrapper[RandomizeParametersState, Action, Obs]):
    """Draws parameters at the start of every episode, without recompilation.

    The state holds the drawn values, which every function of the episode uses. The spaces are always those of the
    `env` that was passed. If they depend on drawn parameters, pass an `env` whose spaces contain all others.

    The parameters of wrappers inside can be drawn, too, and `RescaleAction` inside follows the drawn bounds. Wrappers
    outside see the declared spaces only. Put it inside `Autoreset`.

    Args:
        env: the environment.
        sampler: a traceable function `sampler(key, env)`. It returns a dict of new values for some parameters of
            `env.unwrapped`, or an environment that differs from `env` in parameters only, as `env.replace` returns it.
            The values have the shapes of those that they replace.

    Raises:
        TypeError: The sampler returns something else, or names an unknown parameter.
        ValueError: The sampler changes a static field or a shape, or draws nothing.

    >>> import funcenv, jax
    >>> def sampler(key, env):
    ...     return {"length": jax.random.uniform(key, minval=0.4, maxval=0.6)}
    >>> env = RandomizeParameters(funcenv.make("CartPole-v1"), sampler)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> sorted(state.parameters), bool(0.4 <= state.parameters["CartPole.length"] <= 0.6)
    (['CartPole.length'], True)
    """

    sampler: Sampler = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.sampler):
            raise TypeError(f"sampler must be a function of a key and an environment, got {self.sampler!r}")

    def inner_env(self, state: RandomizeParametersState) -> AnyEnv:
        """Return the environment inside, with the parameters of this episode."""
        return _with(self.env, state.parameters)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Unbounded, because the rewards may depend on drawn parameters."""
        return -math.inf, math.inf

    def initial(self, key: jax.Array) -> RandomizeParametersState:
        """Draw parameters, and return the first state under them."""
        parameters = _changes(self.env, _draw(self.sampler, self.extra_key(key), self.env))
        env_state = _with(self.env, parameters).initial(key)
        return RandomizeParametersState(env_state=env_state, parameters=parameters)

    def transition(self, state: RandomizeParametersState, action: Action, key: jax.Array) -> RandomizeParametersState:
        """Return the next state, with the same parameters."""
        return state.replace(env_state=self.inner_env(state).transition(state.env_state, action, key))


def _draw(sampler: Sampler, key: jax.Array, env: AnyEnv) -> Any:
    try:
        return sampler(key, env)
    except Exception as error:
        error.add_note(
            "raised by the sampler, which is called as sampler(key, env) and returns a dict of new parameters, "
            f"such as {{name: jax.random.uniform(key)}}; env is the {type(env).__name__} that it was given"
        )
        raise


def _changes(env: AnyEnv, drawn: Any) -> dict[str, Array]:
    """Return the parameters that the sampler changed, by name."""
    if isinstance(drawn, Mapping):
        drawn = _replace_unwrapped(env, drawn)
    if not isinstance(drawn, FuncEnv):
        raise TypeError(f"sampler must return an environment or a dict of parameters, got {type(drawn).__name__}")
    given: Any = jax.tree.structure(drawn)
    wanted: Any = jax.tree.structure(env)
    if given != wanted:
        raise ValueError(
            "sampler must return the same environment with other parameters; compile-time choices, such as sizes, "
            f"cannot be drawn: got {given} for {wanted}"
        )
    changes = {}
    for name, old, new in zip(_names(env), jax.tree.leaves(env), jax.tree.leaves(drawn), strict=True):
        if np.shape(new) != np.shape(old):
            raise ValueError(f"sampler must draw {name} with shape {np.shape(old)}, got {np.shape(new)}")
        if new is not old:
            changes[name] = jnp.asarray(new)
    if not changes:
        raise ValueError("sampler drew no parameter; return a dict of them, or env.replace(...)")
    return changes


def _replace_unwrapped(env: AnyEnv, parameters: Mapping[str, Any]) -> AnyEnv:
    if isinstance(env, Wrapper):
        return env.replace(env=_replace_unwrapped(env.env, parameters))
    return env.replace(**parameters)


def _with(env: AnyEnv, parameters: dict[str, Array]) -> AnyEnv:
    """Replace some parameters by name."""
    leaves, structure = jax.tree.flatten(env)
    return jax.tree.unflatten(
        structure, [parameters.get(name, leaf) for name, leaf in zip(_names(env), leaves, strict=True)]
    )


def _names(env: AnyEnv) -> list[str]:
    """Name every parameter by the class of its layer and its field, with a number where two layers share both."""
    stack = list(layers(env))
    names: list[str] = []
    for path, _ in jax.tree_util.tree_leaves_with_path(env):
        depth = 0
        while isinstance(stack[depth], Wrapper) and path[depth] == jax.tree_util.GetAttrKey("env"):
            depth += 1
        name = f"{type(stack[depth]).__name__}.{jax.tree_util.keystr(path[depth:], simple=True, separator='.')}"
        twins = sum(other.split("#")[0] == name for other in names)
        names.append(f"{name}#{twins + 1}" if twins else name)
    return names
