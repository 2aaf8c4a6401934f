"""The check of `noise_bounds`, by which stateful environments remember the results of steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.checker.findings import Finding, error
from funcenv.checker.runs import Runs, StepResult, compile_quickly, differences, take
from funcenv.func_env import split_call_key
from funcenv.traits import declared_noise_bounds

NUM_STATES = 16
NUM_KEYS = 64
MARGIN = 1e-6  # distance to a bound within which rounding may decide


def check_noise(runs: Runs) -> Iterator[Finding]:
    """Check that the keys of a step decide nothing but which of the declared bounds the noise reaches."""
    levels: Any = runs.tested.levels
    *wrappers, env = levels
    bounds = declared_noise_bounds(env)
    if bounds is None:
        return
    states = jax.tree.map(lambda leaf: leaf[:: max(1, len(leaf) // NUM_STATES), 0][:NUM_STATES], runs.recorded[1].state)
    for wrapper in wrappers:
        states = wrapper.inner(states)
    noise, results = _steps(env, states, jax.random.split(runs.step_key, NUM_KEYS))
    reached = (noise[..., None] >= np.asarray(bounds)).sum(axis=-1)
    is_near = (np.abs(noise[..., None] - np.asarray(bounds)) < MARGIN).any(axis=-1)
    for row in range(len(noise)):
        for number in range(len(bounds) + 1):
            alike = np.flatnonzero((reached[row] == number) & ~is_near[row])
            for other in alike[1:]:
                found = differences(take(results, row, alike[0]), take(results, row, other))
                if found:
                    seen = f"steps whose noise reaches {number} of {bounds} differ in {found[0]}"
                    remedy = (
                        "leave it out, unless transition compares jax.random.uniform(key, (), float) with these alone"
                    )
                    yield error("noise-bounds", env, "noise_bounds", seen, remedy)
                    return


def _steps(env: Any, states: Any, keys: jax.Array) -> tuple[Any, Any]:
    """Step each state with each key; return the noise of each step and its result, `[num_states, num_keys]`."""

    def step(state: Any, number: jax.Array, key: jax.Array) -> Any:
        action = env.action_space.sample(jax.random.fold_in(keys[0], number))
        transition_key, _ = split_call_key(key)
        return jax.random.uniform(transition_key, (), float), StepResult(*env.step(state, action, key))

    by_key = jax.vmap(step, in_axes=(None, None, 0))
    numbers = np.arange(len(jax.tree.leaves(states)[0]), dtype=np.uint32)
    noise, results = compile_quickly(jax.vmap(by_key, in_axes=(0, 0, None)))(states, numbers, keys)
    return np.asarray(noise, np.float64), jax.tree.map(np.asarray, results)
