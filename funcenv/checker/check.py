"""Run every check on one environment."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import jax

from funcenv.checker.actions import check_actions
from funcenv.checker.drift import check_drift, check_whole
from funcenv.checker.findings import EnvCheckError, Finding, Severity, error, format_findings
from funcenv.checker.gradients import check_gradients
from funcenv.checker.interface import examine
from funcenv.checker.keys import check_keys
from funcenv.checker.parameters import check_parameters
from funcenv.checker.portable import check_pickle, check_scene
from funcenv.checker.promotion import check_promotion
from funcenv.checker.purity import check_purity
from funcenv.checker.results import check_results
from funcenv.checker.runs import Runs
from funcenv.checker.subject import Failure, Subject
from funcenv.checker.transforms import check_transforms
from funcenv.checker.values import check_values
from funcenv.checker.x64 import check_x64
from funcenv.func_env import FuncEnv
from funcenv.random import key as new_key
from funcenv.random import require_typed_key

Make = Callable[[str], FuncEnv[Any, Any, Any]]

KIND_CHECKS = (check_results, check_drift, check_keys)
TRACED_CHECKS = (
    check_whole,
    check_purity,
    check_promotion,
    check_x64,
    check_scene,
    check_pickle,
    check_parameters,
)

# With one of these no program can be built, or what it does says nothing new: the checks that follow are left out.
BLOCKING = {
    "flag-not-bool",
    "flag-not-scalar",
    "impure-trace",
    "info-not-dict",
    "key-in-state",
    "observation-kind",
    "reset-fails",
    "reward-not-scalar",
    "space-broken",
    "state-drift",
    "step-fails",
    "tracer-leak",
}


def check_func_env(env: FuncEnv[Any, Any, Any], key: jax.Array) -> list[Finding]:
    """Look for what is wrong with an environment.

    Everything that the contract promises is put to the test: purity, the same results under `jit`, `vmap`, and called
    plainly, one compilation of `step`, kinds that `scan` can carry, single use of keys, members of the declared
    spaces, strict promotion, 64-bit mode, finite numbers and gradients, parameters that can be batched and have an
    effect, actions outside the space, steps after the end, `scene`, and pickling. A small environment takes a few
    seconds, nearly all of it compiling.

    Two class attributes tell it what is meant: `fixed_start = True`, that every episode starts alike;
    `differentiable = True` or `False`, that gradients are promised, or that there are none.

    Args:
        env: the environment, bare or in wrappers.
        key: a typed key; the recorded steps depend on it.

    Returns:
        The warnings, in the order in which they were found; an empty list is a clean bill.

    Raises:
        EnvCheckError: there are errors. Its `findings` holds them, and the warnings.
        TypeError: `env` is not a `FuncEnv`, or a legacy key.

    >>> import funcenv
    >>> check_func_env(funcenv.make("CartPole-v1"), funcenv.key(0))
    []
    """
    findings = find_problems(env, key)
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise EnvCheckError(format_findings(findings), findings)
    return findings


def find_problems(env: FuncEnv[Any, Any, Any], key: jax.Array, *, run: bool = True) -> list[Finding]:
    """As `check_func_env`, but errors are returned like warnings instead of raised.

    Args:
        env: the environment.
        key: a typed key.
        run: with False nothing is compiled and run; what tracing alone shows takes a fraction of a second.

    >>> import funcenv
    >>> class Unfinished(FuncEnv): pass
    >>> [finding.code for finding in find_problems(Unfinished(), funcenv.key(0))]
    ['space-missing', 'space-missing']
    """
    if not isinstance(env, FuncEnv):
        raise TypeError(f"the checker takes a FuncEnv, got {env!r}; build the environment first, as in CartPole()")
    require_typed_key(key)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), jax.debug_key_reuse(False):
        return _find_problems(env, key, run)


def _find_problems(env: FuncEnv[Any, Any, Any], key: jax.Array, run: bool) -> list[Finding]:
    """Check by check, under JAX's default settings; what is stricter is tried where it is the question."""
    subject, findings = examine(env, key)
    if any(finding.code == "space-missing" for finding in findings) or subject.survey.failures:
        return findings
    for check in KIND_CHECKS:
        findings += check(subject)
    if not _blocked(findings):
        for check in TRACED_CHECKS:
            findings += check(subject)
    if run and not _blocked(findings):
        findings += _run_checks(subject)
    return findings


def _blocked(findings: list[Finding]) -> bool:
    return not BLOCKING.isdisjoint(finding.code for finding in findings)


def _run_checks(subject: Subject) -> Iterator[Finding]:
    runs = Runs(subject)
    recorded = subject.attempt(lambda: runs.recorded)
    if isinstance(recorded, Failure):
        yield error(
            "vmap-fails",
            f"{subject.name}.step",
            f"sixteen environments under jax.vmap and lax.scan raise {recorded}",
            "use operations that can be batched",
        )
        return
    yield from check_transforms(runs)
    wrong_values = list(check_values(runs))
    yield from wrong_values
    if not any(finding.severity is Severity.ERROR for finding in wrong_values):  # else they only show up once more
        yield from check_actions(runs)
        yield from check_gradients(runs)


def run_check(target: str, seed: int = 0, *, make: Make | None = None) -> list[Finding]:
    """Check what a command line names.

    Args:
        target: `"module:EnvClass"`, built without arguments; `"module:function"`, which returns an environment; or,
            with `make`, a registered id, `"module:Name-v0"` included.
        seed: of the recorded steps.
        make: builds a registered id: `funcenv.make`.

    Returns:
        All findings, errors and warnings.

    Raises:
        ImportError: the module cannot be imported.
        TypeError: the target is not an environment, or cannot be built without arguments.
        ValueError: nothing is registered under that id, or the module has nothing of that name.

    >>> import funcenv
    >>> run_check("funcenv.envs:Pendulum")
    []
    >>> run_check("Pendulum-v1", make=funcenv.make)
    []
    """
    return find_problems(resolve(target, make), new_key(seed))


def resolve(target: str, make: Make | None = None) -> FuncEnv[Any, Any, Any]:
    """The environment that `"module:EnvClass"` or an id names; see `run_check`.

    >>> type(resolve("funcenv.envs:CartPole")).__name__
    'CartPole'
    """
    module, _, attribute = target.rpartition(":")
    found = getattr(importlib.import_module(module), attribute, None) if module else None
    if found is None:
        if make is None:
            raise ValueError(f"{target!r} names no environment; write it as module:EnvClass")
        return make(target)
    try:
        env = found() if callable(found) else found
    except TypeError as missing:
        raise TypeError(
            f"{target} needs arguments ({missing}); name a function that builds the environment"
        ) from missing
    if not isinstance(env, FuncEnv):
        raise TypeError(
            f"{target} is not an environment but {env!r}; name a FuncEnv class or a function that builds one"
        )
    return env
