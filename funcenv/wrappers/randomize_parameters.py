"""Draw new parameters for every episode: domain randomisation.

Tobin et al., "Domain randomization for transferring deep neural networks from simulation to the real world", IROS 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, FuncEnv, Obs
from funcenv.scene import Scene
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import Wrapper, layers

Sampler = Callable[[jax.Array, FuncEnv[Any, Any, Any]], Any]


class RandomizeParametersState(PyTreeNode):
    """The inner state and the parameters of this episode."""

    env_state: Any
    parameters: dict[str, Array]  # what was drawn, by class and field: {"CartPole.gravity": ...}


class RandomizeParameters(Wrapper[RandomizeParametersState, Action, Obs]):
    """Plays every episode with parameters drawn at its `initial`; nothing is compiled anew.

    What was drawn is kept in the state and used by every function of the episode. The spaces are those of `env` as it
    was passed, whatever is drawn: where they depend on what is drawn, pass it with parameters whose spaces hold all
    the others.

    Wrappers inside belong to what is randomised: their parameters can be drawn, too, and `RescaleAction` inside
    stretches to the drawn bounds. Wrappers outside see the declared spaces only. Put it inside `Autoreset`.

    Args:
        env: the environment.
        sampler: `sampler(key, env)`, in JAX. It returns either new values for some parameters of `env.unwrapped`, as a
            dict, or a whole environment that differs from `env` in its parameters only, as `env.replace` makes it.
            Values have the shapes of those they replace.

    Raises:
        TypeError: the sampler returns something else or names an unknown parameter.
        ValueError: it changes a compile-time choice or a shape, or draws nothing.

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

    def inner(self, state: RandomizeParametersState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def drawn(self, state: RandomizeParametersState) -> FuncEnv[Any, Any, Any]:
        """The environment inside, with the parameters of this episode."""
        return _with(self.env, state.parameters)

    def initial(self, key: jax.Array) -> RandomizeParametersState:
        """New parameters, and the first state with them."""
        sampler_key, initial_key = jax.random.split(key)
        parameters = _changes(self.env, self.sampler(sampler_key, self.env))
        env_state = _with(self.env, parameters).initial(initial_key)
        return RandomizeParametersState(env_state=env_state, parameters=parameters)

    def transition(self, state: RandomizeParametersState, action: Action, key: jax.Array) -> RandomizeParametersState:
        """The inner transition."""
        return state.replace(env_state=self.drawn(state).transition(state.env_state, action, key))

    def observation(self, state: RandomizeParametersState, key: jax.Array) -> Obs:
        """What the agent sees of a state."""
        return self.drawn(state).observation(state.env_state, key)

    def reward(
        self, state: RandomizeParametersState, action: Action, next_state: RandomizeParametersState
    ) -> Float[Array, ""]:
        """The reward of a transition."""
        return self.drawn(state).reward(state.env_state, action, next_state.env_state)

    def terminal(self, state: RandomizeParametersState) -> Bool[Array, ""]:
        """Whether the MDP ended here."""
        return self.drawn(state).terminal(state.env_state)

    def truncated(self, state: RandomizeParametersState) -> Bool[Array, ""]:
        """Whether the episode is stopped here from outside the MDP."""
        return self.drawn(state).truncated(state.env_state)

    def state_info(self, state: RandomizeParametersState) -> dict[str, Any]:
        """Extra facts about a state."""
        return self.drawn(state).state_info(state.env_state)

    def transition_info(
        self, state: RandomizeParametersState, action: Action, next_state: RandomizeParametersState
    ) -> dict[str, Any]:
        """Extra facts about a transition."""
        return self.drawn(state).transition_info(state.env_state, action, next_state.env_state)

    def scene(self, state: RandomizeParametersState) -> Scene:
        """A picture of the state."""
        return self.drawn(state).scene(state.env_state)

    def text(self, state: RandomizeParametersState, action: Action | None = None) -> str:
        """The state in a terminal."""
        return self.drawn(state).text(state.env_state, action)


def _changes(env: FuncEnv[Any, Any, Any], drawn: Any) -> dict[str, Array]:
    """What the sampler changed, by path."""
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


def _replace_unwrapped(env: FuncEnv[Any, Any, Any], parameters: Mapping[str, Any]) -> FuncEnv[Any, Any, Any]:
    if isinstance(env, Wrapper):
        return env.replace(env=_replace_unwrapped(env.env, parameters))
    return env.replace(**parameters)


def _with(env: FuncEnv[Any, Any, Any], parameters: dict[str, Array]) -> FuncEnv[Any, Any, Any]:
    """The environment with some parameters replaced, by name."""
    leaves, structure = jax.tree.flatten(env)
    return jax.tree.unflatten(
        structure, [parameters.get(name, leaf) for name, leaf in zip(_names(env), leaves, strict=True)]
    )


def _names(env: FuncEnv[Any, Any, Any]) -> list[str]:
    """A name for every parameter: its layer's class and its field; numbered where two layers share both."""
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
