"""Observation entries that are also leaves of the state.

Where an observation consists of parts of the state, as in CartPole, one stored word can serve both. A jaxpr of the
observation function shows that: the entry of the observation and the leaf of the state are one variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import Literal

from funcenv.vector import AnyVectorEnv, VectorState

_SHAPE_ONLY = frozenset(["broadcast_in_dim", "reshape", "expand_dims"])


def observation_aliases(venv: AnyVectorEnv, vstate: VectorState[Any]) -> dict[int, tuple[int, int]]:
    """Find the leaves of the vector state that are entries of the observation.

    Args:
        venv: the environments.
        vstate: their state, or its shapes and dtypes.

    Returns:
        For the index of such a leaf, among the leaves of the state without keys, the index of a leaf of the observation
        and the index of the entry there.

    >>> import funcenv
    >>> venv = funcenv.FuncVectorEnv(funcenv.make("CartPole-v1"), 3)
    >>> vstate, _ = venv.reset(funcenv.key(0))
    >>> observation_aliases(venv, vstate)
    {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (0, 3)}
    """

    def observe(vstate: VectorState[Any]) -> tuple[Any, Any]:
        return venv.observation(vstate), vstate.replace(key=None)

    closed, (observation, _) = jax.make_jaxpr(observe, return_shape=True)(vstate)
    outputs, num_observed = closed.jaxpr.outvars, len(jax.tree.leaves(observation))
    makers = {variable: equation for equation in closed.jaxpr.eqns for variable in equation.outvars}
    entries: dict[Any, tuple[int, int]] = {}
    for leaf, observed in enumerate(outputs[:num_observed]):
        for index, variable in enumerate(_entries(observed, makers)):
            if not isinstance(variable, Literal):
                entries.setdefault(variable, (leaf, index))
    return {leaf: entries[state] for leaf, state in enumerate(outputs[num_observed:]) if state in entries}


def _entries(observed: Any, makers: dict[Any, Any]) -> Sequence[Any]:
    """Return the variables `[num_envs]` that are stacked to an observation `[num_envs, entries]`; else itself."""
    maker = None if isinstance(observed, Literal) else makers.get(observed)
    if maker is None or len(observed.aval.shape) != 2:
        return [observed]
    axis = 1
    if maker.primitive.name == "transpose" and maker.params["permutation"] == (1, 0):  # stacked along the first axis
        axis, maker = 0, makers.get(maker.invars[0])
    if maker is not None and maker.primitive.name == "stack" and maker.params["axis"] == axis:
        stacked: Sequence[Any] = maker.invars
        return stacked
    if maker is not None and maker.primitive.name == "concatenate" and maker.params["dimension"] == axis:
        rows = [makers.get(row) for row in maker.invars if row.aval.shape[axis] == 1]  # as older versions of JAX stack
        if len(rows) == len(maker.invars) and all(row and row.primitive.name in _SHAPE_ONLY for row in rows):
            return [row.invars[0] for row in rows if row]
    return [observed]
