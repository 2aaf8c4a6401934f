"""The size of the programs of worlds: what a step costs to trace and to compile grows with its equations."""

import jax
import pytest
from jax.extend import core

import funcenv

# equations of a step, on any machine; write smaller numbers here after making a program smaller
EQUATIONS = {
    "LunarLander-v3": 5488,
    "BipedalWalker-v3": 6767,
    "BipedalWalkerHardcore-v3": 8486,
    "CarRacing-v3": 3762,
}


def count_equations(jaxpr):
    """Return the number of equations with those of loops and branches, without calls, which only hold others."""
    inner = [sub for equation in jaxpr.eqns for sub in _jaxprs_of(equation)]
    calls = sum(equation.primitive.name in ("jit", "closed_call") for equation in jaxpr.eqns)
    return len(jaxpr.eqns) - calls + sum(map(count_equations, inner))


def _jaxprs_of(equation):
    for value in equation.params.values():
        for part in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(part, core.ClosedJaxpr):
                yield part.jaxpr
            elif isinstance(part, core.Jaxpr):
                yield part


@pytest.mark.parametrize("name", EQUATIONS)
def test_a_step_has_few_equations(name):
    env = funcenv.make(name)
    key = funcenv.key(0)
    state, action = jax.eval_shape(env.initial, key), jax.eval_shape(env.action_space.sample, key)
    count = count_equations(jax.make_jaxpr(env.transition)(state, action, key).jaxpr)
    assert count <= 1.1 * EQUATIONS[name], f"{name} has {count} equations"
    assert count >= 0.9 * EQUATIONS[name], f"{name} has {count} equations: lower the bound"
