"""Transformations change nothing: `jit`, `vmap` and a plain call agree, and `step` compiles once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.checker.findings import Finding, error
from funcenv.checker.runs import Outcome, Runs, differences
from funcenv.checker.subject import Failure

PURE = "compute from the arguments alone, with jnp functions, and do not ask whether a value is traced"


def check_transforms(runs: Runs) -> Iterator[Finding]:
    """Compare the ways to call `reset` and `step` on recorded states, actions and keys."""
    yield from _compilations(runs)
    for compare in (_repeated, _reset, _plain_step, _row_step):
        findings = list(compare(runs))
        yield from findings
        if findings:
            return  # the others would see the same once more


def _compilations(runs: Runs) -> Iterator[Finding]:
    """Step from what `reset` gave, from what `step` gave, and in a copy that was built anew."""
    state = _row(runs.recorded[0], 0).state
    given = runs.transition(0, 0)
    calls: list[tuple[str, Any]] = [("a state from reset", runs.env), ("a state from step", runs.env)]
    calls.append(("an equal copy of the environment, by env.replace()", runs.env.replace()))
    before = 0
    for occasion, env in calls:
        state, _ = runs.step(state, given.action, given.key, env)
        if before and runs.counted_step.count > before:
            yield error(
                "recompiles",
                f"{runs.subject.name}.step",
                f"jax.jit compiled it again for {occasion}",
                "keep shapes and dtypes the same from call to call, and give static fields an __eq__ by value",
            )
        before = runs.counted_step.count


def _repeated(runs: Runs) -> Iterator[Finding]:
    """Two compiled calls with the same arguments, which differ if the program calls back into Python."""
    given = runs.transition(0, 0)
    first, second = (runs.step(given.state, given.action, given.key) for _ in range(2))
    for seen in differences(first, second)[:1]:
        yield error(
            "impure-result",
            f"{runs.subject.name}.step",
            f"two compiled calls with the same arguments differ in {seen}",
            "draw random numbers from the key instead of through a callback",
        )


def _reset(runs: Runs) -> Iterator[Finding]:
    """A plain call against a compiled row of a batch; if they differ, one compiled call says which of the two it is."""
    key, row = runs.reset_keys[0], _row(runs.recorded[0], 0)
    batched = Outcome(row.state, row.timestep)
    plain = runs.subject.attempt(lambda: Outcome(*runs.env.reset(key)))
    if isinstance(plain, Failure) or differences(plain, batched):
        alone = runs.reset(key)
        yield from _plain_findings(runs, "reset", plain, alone)
        yield from _row_findings(runs, "reset", batched, alone)


def _plain_step(runs: Runs) -> Iterator[Finding]:
    given = runs.transition(1, 0)
    state, action = jax.tree.map(jnp.asarray, (given.state, given.action))
    plain = runs.subject.attempt(lambda: Outcome(*runs.env.step(state, action, given.key)))
    yield from _plain_findings(runs, "step", plain, runs.step(state, action, given.key))


def _row_step(runs: Runs) -> Iterator[Finding]:
    """Rows of the batch, spread over the recording, against the same call for one environment."""
    num_steps = len(runs.recorded[1].inside)
    for number in range(8):
        given = runs.transition(number * (num_steps - 1) // 7, number * 2 + number % 2)
        alone = runs.step(given.state, given.action, given.key)
        findings = list(_row_findings(runs, "step", Outcome(given.next_state, given.timestep), alone))
        yield from findings
        if findings:
            return


def _plain_findings(runs: Runs, name: str, plain: Any, compiled: Any) -> Iterator[Finding]:
    where = f"{runs.subject.name}.{name}"
    if isinstance(plain, Failure):
        yield error("jit-differs", where, f"it works compiled, but called plainly it raises {plain}", PURE)
        return
    for seen in differences(plain, compiled)[:1]:
        yield error("jit-differs", where, f"called plainly and compiled it differs in {seen}", PURE)


def _row_findings(runs: Runs, name: str, batched: Any, alone: Any) -> Iterator[Finding]:
    for seen in differences(batched, alone)[:1]:
        yield error(
            "vmap-differs",
            f"{runs.subject.name}.{name}",
            f"a row of jax.vmap and the same call alone differ in {seen}",
            "reduce over the axes of one environment only, and use no collective over a batch",
        )


def _row(tree: Any, number: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[number], tree)
