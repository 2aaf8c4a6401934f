"""Numbers that an environment carries from step to step and also shows.

Where an observation is made of parts of the state, as in CartPole, or is the state, one word can serve both. That is
read from jaxprs: it is so if the entry of the observation and the leaf of the state are one variable, or the same
number, wherever observations come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import Literal

from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState

Shared = dict[int, tuple[int, int]]
"""For the number of a leaf of the vector state without its keys: the leaf of the observation, and where it begins."""


def shared_words(venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any], actions: Any) -> Shared:
    """Which leaves of the vector state are entries of the observation, after a step, a reset, and a second look.

    Args:
        venv: the environments.
        vstate: their state, or its shapes and dtypes.
        actions: likewise.

    >>> import funcenv, jax.numpy as jnp
    >>> venv = FuncVectorEnv(funcenv.make("CartPole-v1"), 3)
    >>> vstate, _ = venv.reset(funcenv.key(0))
    >>> shared_words(venv, vstate, jnp.zeros(3, jnp.int32))
    {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (0, 3)}
    """
    alone = venv.replace(autoreset_mode=AutoresetMode.DISABLED)

    def parts(vstate: VectorState[Any], observation: Any) -> tuple[Any, Any]:
        return observation, vstate.replace(key=None)

    def step(vstate: VectorState[Any], actions: Any) -> tuple[Any, Any]:
        vstate, timestep = alone.step(vstate, actions)
        return parts(vstate, timestep.observation)

    def reset(vstate: VectorState[Any]) -> tuple[Any, Any]:
        vstate, timestep = alone.reset(vstate=vstate)
        return parts(vstate, timestep.observation)

    def look(vstate: VectorState[Any]) -> tuple[Any, Any]:
        return parts(vstate, alone.observation(vstate))

    found = _shared_in(look, vstate)
    for function, args in ((reset, (vstate,)), (step, (vstate, actions))):
        if found:  # else there is nothing to lose
            others = _shared_in(function, *args)
            both = {leaf: places & others.get(leaf, set()) for leaf, places in found.items()}
            found = {leaf: places for leaf, places in both.items() if places}
    return {leaf: min(places) for leaf, places in found.items()}


def _shared_in(function: Callable[..., tuple[Any, Any]], *args: Any) -> dict[int, set[tuple[int, int]]]:
    """All places in the observation that a leaf of the state stands in; of a function that returns both."""
    closed, (observation, _) = jax.make_jaxpr(function, return_shape=True)(*args)
    jaxpr, num_shown = closed.jaxpr, len(jax.tree.leaves(observation))
    makers = {variable: equation for equation in jaxpr.eqns for variable in equation.outvars}
    places: dict[Any, set[tuple[int, int]]] = {}
    for leaf, shown in enumerate(jaxpr.outvars[:num_shown]):
        for entry, variable in enumerate(_entries(shown, makers)):
            places.setdefault(_identity(variable, makers), set()).add((leaf, entry))
    kept = ((leaf, _identity(variable, makers)) for leaf, variable in enumerate(jaxpr.outvars[num_shown:]))
    return {leaf: places[identity] for leaf, identity in kept if identity in places}


def _entries(shown: Any, makers: dict[Any, Any]) -> Sequence[Any]:
    """The variables, each `[num_envs]`, that an observation `[num_envs, entries]` is made of; or it itself."""
    maker = None if isinstance(shown, Literal) else makers.get(shown)
    if maker is None or len(shown.aval.shape) != 2:
        return [shown]
    axis = 1
    if maker.primitive.name == "transpose" and maker.params["permutation"] == (1, 0):  # stacked along the first axis
        axis, maker = 0, makers.get(maker.invars[0])
    if maker is not None and maker.primitive.name == "stack" and maker.params["axis"] == axis:
        stacked: Sequence[Any] = maker.invars
        return stacked
    if maker is not None and maker.primitive.name == "concatenate" and maker.params["dimension"] == axis:
        rows = [makers.get(row) for row in maker.invars if row.aval.shape[axis] == 1]  # as older versions of JAX stack
        if len(rows) == len(maker.invars) and all(row and row.primitive.name in _UNCHANGED for row in rows):
            return [row.invars[0] for row in rows if row]
    return [shown]


def _identity(variable: Any, makers: dict[Any, Any]) -> Any:
    """Equal for what is always the same: a variable, or a number and the shape and dtype that it fills."""
    if isinstance(variable, Literal):
        return str(variable.aval), str(variable.val)
    maker = makers.get(variable)
    if maker is not None and maker.primitive.name == "broadcast_in_dim" and isinstance(maker.invars[0], Literal):
        return str(variable.aval), str(maker.invars[0].val)
    return variable


_UNCHANGED = frozenset(["broadcast_in_dim", "reshape", "expand_dims"])
