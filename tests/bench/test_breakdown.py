"""Environments without parts of their work."""

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.bench import Timing, breakdown
from funcenv.bench.breakdown import PARTS, Constants, ReadingPolicy, ReducedEnv


def test_an_environment_with_all_its_parts_is_unchanged(walk):
    env = walk.Walk()
    reduced = ReducedEnv(env, Constants(env, funcenv.key(3)))
    policy = funcenv.random_policy(env)
    outcomes = [
        funcenv.rollout(funcenv.FuncVectorEnv(each, 4), act, funcenv.key(0), 30)[1]
        for each, act in ((env, policy), (reduced, ReadingPolicy(policy)))
    ]
    jax.tree.map(np.testing.assert_array_equal, *outcomes)


def test_parts_are_removed(walk):
    env = walk.Walk()
    constants = Constants(env, funcenv.key(3))
    still = ReducedEnv(env, constants, physics=False)
    state, _ = still.reset(funcenv.key(0))
    after, timestep = still.step(state, jnp.int32(1), funcenv.key(1))
    assert after == state and timestep.reward == 0 and not timestep.done
    starts = [ReducedEnv(env, constants, resets=False).reset(funcenv.key(seed))[0] for seed in (0, 1)]
    assert starts[0] == starts[1]


def operations(jaxpr):
    """Count the operations of a program; those of a loop count as often as they run."""
    total = 0
    for equation in jaxpr.eqns:
        values = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda value: hasattr(value, "eqns"))
        inner = [operations(value) for value in values if hasattr(value, "eqns")]
        total += equation.params.get("length", 1) * sum(inner) if inner else 1
    return total


def test_the_work_is_found_in_its_part(walk, monkeypatch):
    def count(programs, *, seconds, rounds):
        counted = {name: operations(jax.make_jaxpr(program)()) for name, program in programs.items()}
        return {name: Timing((float(number),) * rounds, float(number)) for name, number in counted.items()}

    monkeypatch.setattr(breakdown, "time_in_turns", count)
    parts = breakdown.break_down(walk.arduous(), 8, num_steps=10, rounds=2).nanoseconds
    assert sorted(parts) == sorted(PARTS) and max(parts, key=parts.get) == "physics"
    assert parts["physics"] > 10 * sum(parts[name] for name in PARTS if name != "physics")
