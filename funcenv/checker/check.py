"""Run every check on one environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax

from funcenv.checker import checks_kinds, checks_parameters, checks_play, checks_runs, checks_traces
from funcenv.checker.findings import EnvCheckError, Finding, Severity, format_findings
from funcenv.checker.trace import EnvUnderTest
from funcenv.func_env import AnyEnv, FuncEnv, require_env
from funcenv.names import import_module, require_builder
from funcenv.random import key as new_key
from funcenv.random import require_typed_key

STAGES: tuple[tuple[Callable[[EnvUnderTest], Iterator[Finding]], ...], ...] = (
    (checks_kinds.check_results, checks_kinds.check_states, checks_traces.check_keys),
    (
        checks_kinds.check_composition,
        checks_traces.check_purity,
        checks_traces.check_promotion,
        checks_traces.check_x64,
        checks_kinds.check_scene,
        checks_play.check_action_names,
        checks_play.check_keys,
        checks_parameters.check_pickling,
        checks_parameters.check_parameters,
    ),
    (checks_runs.check_runs,),  # the only stage that compiles and runs
)

# After one of these findings the later stages are skipped: no program can be built, or its results say nothing new.
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


def check_func_env(env: AnyEnv, key: jax.Array) -> list[Finding]:
    """Check that an environment keeps its contract.

    The checks cover purity; equal results under `jit`, `vmap` and in plain calls; a single compilation of `step`;
    states that `scan` can carry; single use of keys; members of the declared spaces; strict promotion; 64-bit mode;
    finite numbers and gradients; parameters that can be batched and have an effect; actions outside the space; steps
    after the end; `scene`, `action_names` and `get_keys_to_action`; and pickling. A small environment takes a few
    seconds, nearly all of it compiling.

    Three properties declare what is intended: `fixed_start = True`, that every episode starts alike;
    `differentiable = True` or `False`, that a step has gradients, or none; `noise_bounds`, how a step uses its key.

    Args:
        env: the environment, bare or in wrappers.
        key: a typed key; the recorded steps depend on it.

    Returns:
        The warnings, in the order in which they were found. The list is empty if nothing was found.

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


def find_problems(env: AnyEnv, key: jax.Array, *, run: bool = True) -> list[Finding]:
    """Check an environment as `check_func_env` does, and return errors as well instead of raising.

    Args:
        env: the environment.
        key: a typed key.
        run: whether to compile and run the environment. The checks that only trace take a fraction of a second.

    Returns:
        All findings, in the order in which they were found.

    Raises:
        TypeError: `env` is not a `FuncEnv`, or a legacy key.

    >>> import funcenv
    >>> class Unfinished(FuncEnv): pass
    >>> [finding.code for finding in find_problems(Unfinished(), funcenv.key(0))]
    ['space-missing', 'space-missing']
    """
    require_env("the checker", env)
    require_typed_key(key)
    # JAX's default settings; checks that need stricter ones set them.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), jax.debug_key_reuse(False):
        return _find_problems(env, key, run)


def _find_problems(env: AnyEnv, key: jax.Array, run: bool) -> list[Finding]:
    tested = EnvUnderTest(env, key)
    findings = [*checks_kinds.check_spaces(tested)]
    if findings:
        return findings
    findings += checks_parameters.check_parameter_kinds(tested)
    if not findings:
        findings += checks_parameters.check_parameter_tracing(tested)
    if findings:  # the other checks still work with constant parameters
        tested = EnvUnderTest(env, key, traced_parameters=False)
    findings += checks_kinds.check_functions(tested)
    if tested.report.failures:
        return findings
    for stage in STAGES if run else STAGES[:-1]:
        if not BLOCKING.isdisjoint(finding.code for finding in findings):
            break
        for check in stage:
            findings += check(tested)
    return findings


def run_check(target: str, seed: int = 0, *, make: Callable[[str], AnyEnv] | None = None) -> list[Finding]:
    """Check the environment that a command line names.

    Args:
        target: `"module:EnvClass"`, built without arguments; `"module:function"`, which returns an environment; or,
            with `make`, a registered id, `"module:Name-v0"` included.
        seed: the seed of the recorded steps.
        make: a function that builds a registered id, such as `funcenv.make`.

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


def resolve(target: str, make: Callable[[str], AnyEnv] | None = None) -> AnyEnv:
    """Build the environment that `"module:EnvClass"` or an id names; see `run_check`.

    >>> type(resolve("funcenv.envs:CartPole")).__name__
    'CartPole'
    """
    module, _, attribute = target.rpartition(":")
    found = getattr(import_module(module), attribute, None) if module else None
    if found is None:
        if make is None:
            raise ValueError(f"{target!r} names no environment; write it as module:EnvClass")
        return make(target)
    if callable(found):
        require_builder(target, found)
    try:
        env = found() if callable(found) else found
    except TypeError as missing:
        remedy = "name a function that builds the environment"
        raise TypeError(f"{target} needs arguments ({missing}); {remedy}") from missing
    if not isinstance(env, FuncEnv):
        raise TypeError(
            f"{target} is not an environment but {env!r}; name a FuncEnv class or a function that builds one"
        )
    return env
