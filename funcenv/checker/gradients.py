"""Gradients: the next state and the reward have finite derivatives, unless the environment says it has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.single_kernel import quick_options
from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.runs import Runs, Transitions
from funcenv.checker.subject import Failure, leaves_by_path


class Gradients(NamedTuple):
    """Derivatives by what they are taken of, with a leading axis of rows."""

    parameters: Any
    state: Any
    action: Any


def check_gradients(runs: Runs) -> Iterator[Finding]:
    """Differentiate one step with respect to float parameters, state and action, at recorded transitions.

    An error where the environment declares `differentiable = True`, a warning where it says nothing; nothing is
    checked with `differentiable = False`, or without float states.
    """
    declared = [level.differentiable for level in runs.subject.levels]
    finding = error if True in declared else warning
    given: Transitions = jax.tree.map(lambda leaf: leaf[:: max(1, len(leaf) // 4), 0], runs.recorded[1])
    if False in declared or not (True in declared or any(map(_is_float, jax.tree.leaves(given.state)))):
        return
    where = f"{runs.subject.name}.step"
    gradients = runs.subject.attempt(lambda: _gradients(runs.env if runs.subject.traced else None, runs, given))
    if isinstance(gradients, Failure):
        yield finding(
            "gradient-fails",
            where,
            f"differentiating it raises {gradients}",
            "use operations that have a derivative, such as lax.scan for while_loop, or declare the class attribute "
            "differentiable = False",
        )
        return
    bad = [path for path, leaf in leaves_by_path(gradients).items() if not np.isfinite(leaf).all()]
    if bad:
        yield finding(
            "gradient-not-finite",
            where,
            f"the derivative of next state and reward with respect to {', '.join(bad)} is NaN or infinite",
            "guard roots, quotients and arcs with jnp.where on their arguments, or declare the class attribute "
            "differentiable = False",
        )


def _gradients(env: Any, runs: Runs, given: Transitions) -> Gradients:
    """Of the sum of all floats that a step gives; zeros for arguments that are not floats."""

    def total(env: Any, state: Any, action: Any, key: jax.Array) -> jax.Array:
        next_state, timestep = (env or runs.env).step(state, action, key)
        outputs = jax.tree.leaves((next_state, timestep.observation, timestep.reward))
        return sum((leaf.astype(float).sum() for leaf in outputs if _is_float(leaf)), start=jnp.zeros((), float))

    def of_one(*args: Any) -> Any:
        gradients = jax.grad(total, argnums=(0, 1, 2), allow_int=True)(*args)
        return jax.tree.map(lambda leaf: leaf if _is_float(leaf) else jnp.zeros(()), gradients)

    program = jax.jit(jax.vmap(of_one, in_axes=(None, 0, 0, 0)), compiler_options=quick_options())
    rows = program(env, given.state, given.action, given.key)
    return Gradients(*rows)


def _is_float(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))
