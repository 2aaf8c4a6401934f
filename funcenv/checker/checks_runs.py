"""Checks that run the environment: transformations, values, actions out of the ordinary, and gradients."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checker.checks_noise import check_noise
from funcenv.checker.findings import Finding, Severity, error, warning
from funcenv.checker.runs import (
    Runs,
    StepResult,
    Transitions,
    compile_quickly,
    contains_each,
    differences,
    not_finite,
    take,
)
from funcenv.checker.trace import EnvUnderTest, Failure, format_values, leaves_by_path

NUM_COMPARED_ROWS = 8
NUM_HELD_STEPS = 5  # steps with one action outside the space, or after the end of an episode
OUTSIDE_DISTANCES = (-1000, -1, 1, 1000)  # distances from the largest magnitude of a member


def check_runs(tested: EnvUnderTest) -> Iterator[Finding]:
    """Compile and run the environment, and check its results."""
    runs = Runs(tested)
    recorded = tested.attempt(lambda: runs.recorded)
    if isinstance(recorded, Failure):
        seen = f"sixteen environments under jax.vmap and lax.scan raise {recorded}"
        yield error("vmap-fails", tested.env, "step", seen, "use operations that can be batched")
        return
    yield from check_transforms(runs)
    wrong_values = list(check_values(runs))
    yield from wrong_values
    if not any(finding.severity is Severity.ERROR for finding in wrong_values):  # they would be reported again
        yield from check_actions(runs)
        yield from check_noise(runs)
        yield from check_gradients(runs)


def check_transforms(runs: Runs) -> Iterator[Finding]:
    """Check that `step` compiles once, and that plain, compiled and batched calls agree on recorded steps."""
    yield from _compilations(runs)
    for compare in (_repeated_step, _reset, _plain_step, _batched_step):
        findings = list(compare(runs))
        yield from findings
        if findings:
            return  # the others would report the same again


def _compilations(runs: Runs) -> Iterator[Finding]:
    state, given = take(runs.recorded[0].result.state, 0), runs.transition(0, 0)
    state, _ = runs.step(state, given.action, given.key)
    copy = "an equal copy of the environment, by env.replace()"
    for occasion, env in (("a state from step", runs.env), (copy, runs.env.replace())):
        traces_before = runs.num_step_traces
        state, _ = runs.step(state, given.action, given.key, env)
        if runs.num_step_traces > traces_before:
            seen = f"jax.jit compiled it again for {occasion}"
            remedy = "keep shapes and dtypes the same from call to call, and give static fields an __eq__ by value"
            yield error("recompiles", runs.env, "step", seen, remedy)


def _repeated_step(runs: Runs) -> Iterator[Finding]:
    """Compare two equal compiled calls, which differ if the program calls back into Python."""
    given = runs.transition(0, 0)
    first, second = (runs.step(given.state, given.action, given.key) for _ in range(2))
    for difference in differences(first, second)[:1]:
        seen = f"two compiled calls with the same arguments differ in {difference}"
        remedy = "draw random numbers from the key instead of through a callback"
        yield error("impure-result", runs.env, "step", seen, remedy)


def _reset(runs: Runs) -> Iterator[Finding]:
    """Compare a plain reset with a row of the batch. If they differ, a compiled call says which of them is wrong."""
    key, batched = runs.reset_keys[0], take(runs.recorded[0].result, 0)
    plain = runs.tested.attempt(lambda: StepResult(*runs.env.reset(key)))
    if isinstance(plain, Failure) or differences(plain, batched):
        compiled = runs.reset(key)
        yield from _plain_findings(runs, "reset", plain, compiled)
        yield from _batch_findings(runs, "reset", batched, compiled)


def _plain_step(runs: Runs) -> Iterator[Finding]:
    given = runs.transition(1, 0)
    state, action = jax.tree.map(jnp.asarray, (given.state, given.action))
    plain = runs.tested.attempt(lambda: StepResult(*runs.env.step(state, action, given.key)))
    yield from _plain_findings(runs, "step", plain, runs.step(state, action, given.key))


def _batched_step(runs: Runs) -> Iterator[Finding]:
    """Compare rows of the batch, spread over the recording, with the same calls for one environment."""
    last_step = len(runs.recorded[1].in_space) - 1
    rows = (runs.transition(i * last_step // (NUM_COMPARED_ROWS - 1), i * 2 + i % 2) for i in range(NUM_COMPARED_ROWS))
    found = (_batch_findings(runs, "step", row.result, runs.step(row.state, row.action, row.key)) for row in rows)
    yield from itertools.islice(itertools.chain.from_iterable(found), 1)


def _plain_findings(runs: Runs, name: str, plain: StepResult | Failure, compiled: StepResult) -> Iterator[Finding]:
    if isinstance(plain, Failure):
        problems = [f"it works compiled, but called plainly it raises {plain}"]
    else:
        problems = [f"called plainly and compiled it differs in {seen}" for seen in differences(plain, compiled)[:1]]
    for seen in problems:
        remedy = "compute from the arguments alone, with jnp functions, and do not ask whether a value is traced"
        yield error("jit-differs", runs.env, name, seen, remedy)


def _batch_findings(runs: Runs, name: str, batched: StepResult, alone: StepResult) -> Iterator[Finding]:
    for difference in differences(batched, alone)[:1]:
        seen = f"a row of jax.vmap and the same call alone differ in {difference}"
        remedy = "reduce over the axes of one environment only, and use no collective over a batch"
        yield error("vmap-differs", runs.env, name, seen, remedy)


def check_values(runs: Runs) -> Iterator[Finding]:
    """Check that recorded numbers are finite, observations in their space, and episodes not over at the start."""
    starts, transitions = runs.recorded
    first_states, first_timesteps = starts.result
    next_states, timesteps = transitions.result
    values = {
        "initial": first_states,
        "transition": next_states,
        "observation": timesteps.observation,
        "reward": timesteps.reward,
    }
    bad_numbers = [(function, bad) for function, tree in values.items() for bad in not_finite(tree)]
    for function, bad in bad_numbers[:1]:
        code = "reward-not-finite" if function == "reward" else "not-finite"
        remedy = "guard divisions, roots and logarithms with jnp.where on their arguments, and clip what can grow"
        yield error(code, runs.env, function, f"it gave {bad}", remedy)
    outside = [("reset", take(first_timesteps.observation, *row)) for row in _first_false(starts.in_space)]
    outside += [("step", take(timesteps.observation, *row)) for row in _first_false(transitions.in_space)]
    for function, observation in outside[:1] if not bad_numbers else ():
        seen = f"{function} gave {format_values(observation)}, which is not in {runs.env.observation_space!r}"
        remedy = "widen the space, or clip the state or the observation"
        yield error("observation-outside-space", runs.env, "observation", seen, remedy)
    if starts.ended.any():
        seen = f"{starts.ended.sum()} of {starts.ended.size} first states are terminal or truncated already, which "
        remedy = "draw first states that an episode can continue from"
        yield warning("starts-ended", runs.env, "initial", seen + "reset hides", remedy)


def _first_false(flags: Any) -> Any:
    """Return the index of the first flag that is False, as an array `[0 or 1, flags.ndim]`."""
    return np.argwhere(~np.asarray(flags))[:1]


def check_actions(runs: Runs) -> Iterator[Finding]:
    """Check that actions reach the environment as members, and that other actions and late steps are defined."""
    env, transitions = runs.env, runs.recorded[1]
    actions = take(transitions.action, slice(None), 0)
    for row in _first_false(contains_each(env.action_space, actions)):
        seen = f"{env.action_space!r} drew {format_values(take(actions, *row))}, which it does not contain"
        remedy = "make sample and contains of the space agree"
        yield error("action-outside-space", env, "action_space", seen, remedy)
    for row in _first_false(transitions.inner_actions_in_space):
        inner = env.unwrapped
        seen = f"action {format_values(take(transitions.action, *row))} of {env.action_space!r} reaches "
        seen += f"{type(inner).__name__} as an action outside {inner.action_space!r}"
        remedy = "map the whole action space of the wrapper into that of the environment inside"
        yield error("action-outside-space", env, "transition", seen, remedy)
    yield from itertools.islice(_undefined_actions(runs), 1)
    yield from itertools.islice(_undefined_ends(runs), 1)


def _undefined_actions(runs: Runs) -> Iterator[Finding]:
    """Hold each action outside the space for some steps: numbers stay finite, and observations in their space."""
    given = runs.transition(0, 0)
    for action in _actions_outside(runs.env.action_space, given.action):
        state = given.state
        for _ in range(NUM_HELD_STEPS):
            stepped = runs.tested.attempt(lambda: jax.device_get(runs.step(state, action, given.key)))  # noqa: B023
            if isinstance(stepped, Failure):  # code on the host may raise
                seen = f"action {format_values(action)}, outside {runs.env.action_space!r}, raised {_reason(stepped)}"
                remedy = "treat every other value as one of the members, and say so in the docstring"
                yield error("action-undefined", runs.env, "transition", seen, remedy)
                break
            state, timestep = stepped
            bad = not_finite(StepResult(state, timestep))
            if not bad and not contains_each(runs.env.observation_space, take(timestep.observation, None))[0]:
                bad = [f"observation {format_values(timestep.observation)}, outside its space"]
            if bad:
                seen = f"action {format_values(action)}, outside {runs.env.action_space!r}, led to {', '.join(bad)}"
                remedy = "clip the action, or treat every other value as one of the members, and say so in the "
                yield error("action-undefined", runs.env, "transition", seen, remedy + "docstring")
            if timestep.done:
                break


def _reason(failure: Failure) -> str:
    """Return the last line of an error, which names the exception that the host's code raised."""
    return str(failure.error).strip().splitlines()[-1]


def _actions_outside(space: Any, member: Any) -> list[Any]:
    """Return actions of the shape and dtype of a member that the space does not contain."""
    candidates = jax.tree.map(lambda leaf: np.stack([_moved(leaf, distance) for distance in OUTSIDE_DISTANCES]), member)
    return [take(candidates, row) for row in np.flatnonzero(~np.asarray(contains_each(space, candidates)))]


def _moved(leaf: Any, distance: int) -> Any:
    """Move a leaf beyond its own magnitude, within its dtype."""
    if leaf.dtype.kind == "b":
        return leaf
    moved = np.sign(distance) * np.abs(leaf.astype(float)) + distance
    if leaf.dtype.kind in "iu":
        limits = np.iinfo(leaf.dtype)
        moved = np.clip(moved, max(limits.min, -(2**31)), min(limits.max, 2**31 - 1))
    return moved.astype(leaf.dtype)


def _undefined_ends(runs: Runs) -> Iterator[Finding]:
    """Step on where episodes ended: numbers stay finite."""
    ends = np.argwhere(runs.recorded[1].result.timestep.done)
    for step, row in ends[:: max(1, len(ends) // 4)]:
        given = runs.transition(step, row)
        result = given.result
        for _ in range(NUM_HELD_STEPS):
            result = runs.step(result.state, given.action, given.key)
        if bad := not_finite(result):
            seen = f"{NUM_HELD_STEPS} steps after the end of an episode led to {', '.join(bad)}"
            remedy = "continue the dynamics, or keep the state where it ended"
            yield error("end-undefined", runs.env, "transition", seen, remedy)


class Gradients(NamedTuple):
    """Derivatives with respect to each argument of a step, with a leading axis of recorded steps."""

    parameters: Any
    state: Any
    action: Any


def check_gradients(runs: Runs) -> Iterator[Finding]:
    """Check that one step has finite derivatives with respect to float parameters, state and action.

    Problems are errors if the environment declares `differentiable = True`, and warnings if it declares nothing.
    Nothing is checked with `differentiable = False`, nor without float states.
    """
    declared = [level.differentiable for level in runs.tested.levels]
    report = error if True in declared else warning
    given = jax.tree.map(lambda leaf: leaf[:: max(1, len(leaf) // 4), 0], runs.recorded[1])
    if False in declared or not (True in declared or any(map(_is_float, jax.tree.leaves(given.state)))):
        return
    gradients = runs.tested.attempt(lambda: _gradients(runs, given))
    if isinstance(gradients, Failure):
        code, seen = "gradient-fails", f"differentiating it raises {gradients}"
        remedy = "use operations that have a derivative, such as lax.scan for while_loop"
    else:
        bad = [path for path, leaf in leaves_by_path(gradients).items() if not np.isfinite(leaf).all()]
        if not bad:
            return
        code = "gradient-not-finite"
        seen = f"the derivative of next state and reward with respect to {', '.join(bad)} is NaN or infinite"
        remedy = "guard roots, quotients and arcs with jnp.where on their arguments"
    remedy += ", or declare the class attribute differentiable = False"
    yield report(code, runs.env, "step", seen, remedy)


def _gradients(runs: Runs, given: Transitions) -> Gradients:
    """Differentiate the sum of all floats that a step returns; arguments that are not floats get zeros."""

    def total(env: Any, state: Any, action: Any, key: jax.Array) -> jax.Array:
        next_state, timestep = (env or runs.env).step(state, action, key)
        outputs = jax.tree.leaves((next_state, timestep.observation, timestep.reward))
        return sum((leaf.astype(float).sum() for leaf in outputs if _is_float(leaf)), start=jnp.zeros((), float))

    def gradients_of_one(*args: Any) -> Any:
        gradients = jax.grad(total, argnums=(0, 1, 2), allow_int=True)(*args)
        return jax.tree.map(lambda leaf: leaf if _is_float(leaf) else jnp.zeros(()), gradients)

    program = compile_quickly(jax.vmap(gradients_of_one, in_axes=(None, 0, 0, 0)))
    return Gradients(*program(runs.argument(runs.env), given.state, given.action, given.key))


def _is_float(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))
