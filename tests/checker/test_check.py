"""The entry points of the checker: what they raise, what they return, and which targets a command line can name."""

import pickle
import time

import jax
import pytest

import funcenv
from funcenv.checker import (
    EnvCheckError,
    Finding,
    Severity,
    check_func_env,
    find_problems,
    format_findings,
    run_check,
)
from funcenv.envs import CartPole
from funcenv.scene import palette
from tests.checker import broken_envs


def test_sound_environment_has_no_findings():
    assert check_func_env(CartPole(), funcenv.key(0)) == []


def test_errors_raise_with_all_findings():
    with pytest.raises(EnvCheckError) as raised:
        check_func_env(broken_envs.kinds.FloatFlag(), funcenv.key(0))
    assert [finding.code for finding in raised.value.findings] == ["flag-not-bool"]
    message = str(raised.value)
    assert "FloatFlag.terminal" in message
    assert "it returns float32" in message
    assert "return a comparison" in message
    assert pickle.loads(pickle.dumps(raised.value)).findings == raised.value.findings


def test_warnings_are_returned():
    findings = check_func_env(broken_envs.purity.IgnoresKey(), funcenv.key(0))
    assert [(finding.code, finding.severity) for finding in findings] == [("key-ignored", Severity.WARNING)]


def test_a_misspelled_trait_is_named():
    (misspelled,) = find_problems(broken_envs.parameters.MisspelledTrait(), funcenv.key(0), run=False)
    (forgotten,) = find_problems(broken_envs.parameters.ForgottenAnnotation(), funcenv.key(0), run=False)
    assert "did you mean differentiable = True?" in misspelled.remedy and "did you mean" not in forgotten.remedy


def test_declared_gradients_turn_a_warning_into_an_error():
    (warned,) = find_problems(broken_envs.runs.RootOfZero(), funcenv.key(0))
    (failed,) = find_problems(broken_envs.runs.PromisesGradients(), funcenv.key(0))
    assert (warned.severity, failed.severity) == (Severity.WARNING, Severity.ERROR)


def test_a_failure_in_the_environment_is_located():
    (finding,) = find_problems(broken_envs.kinds.PythonBranch(), funcenv.key(0))
    assert "of kinds.py" in finding.seen


def test_settings_of_the_caller_change_nothing():
    """The checker sets the strict settings itself, so a strict test suite gets the same findings."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), jax.debug_key_reuse(True):
        (finding,) = find_problems(broken_envs.precision.MixedDtypes(), funcenv.key(0))
    assert finding.code == "dtype-promotion"
    assert jax.config.jax_numpy_dtype_promotion == "strict"
    (finding,) = find_problems(broken_envs.precision.MixedDtypes(), funcenv.key(0))
    assert finding.code == "dtype-promotion"


def test_with_64_bits_throughout():
    with jax.enable_x64(True):
        assert find_problems(CartPole(), funcenv.key(0)) == []


def test_any_generator_will_do():
    assert find_problems(CartPole(), jax.random.key(3, impl="threefry2x32")) == []


def test_a_small_environment_takes_seconds():
    start = time.process_time()
    find_problems(CartPole(masscart=1.5), funcenv.key(0))
    assert time.process_time() - start < 15


@pytest.mark.parametrize(
    ("env", "key", "message"),
    [
        (CartPole, None, "build it first"),
        (CartPole(), jax.numpy.zeros(2, "uint32"), "a key must be a typed key"),
        (CartPole(), 0, "a key must be a typed key"),
    ],
)
def test_wrong_arguments(env, key, message):
    with pytest.raises(TypeError, match=message):
        find_problems(env, key)


def test_codes_are_known():
    with pytest.raises(ValueError, match="'oops' is not a kind of finding"):
        Finding("oops", Severity.ERROR, "here", "seen", "remedy")


def test_format_puts_errors_first():
    late = Finding("flag-not-bool", Severity.ERROR, "Env.terminal", "it returns int32", "compare")
    early = Finding("key-ignored", Severity.WARNING, "Env.initial", "it ignores the key", "draw")
    assert format_findings([early, late]).splitlines() == [str(late), str(early), "1 error, 1 warning"]
    assert format_findings([]) == "no findings"


@pytest.mark.parametrize(
    ("target", "codes"),
    [
        ("tests.checker.broken_envs.kinds:FloatFlag", ["flag-not-bool"]),
        ("tests.checker.broken_envs.kinds:NoSpace", ["space-missing"]),
        ("tests.checker.broken_envs.line:make_line", []),
        ("CartPole-v1", []),
        ("funcenv.envs:CartPole-v1", []),
    ],
)
def test_run_check(target, codes):
    assert [finding.code for finding in run_check(target, seed=1, make=funcenv.make)] == codes


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("CartPol-v1", ValueError, "did you mean CartPole-v1"),
        ("no_such_module:Env", ImportError, "no_such_module"),
        ("tests.checker.broken_envs.kinds:NoSuchEnv", ValueError, "NoSuchEnv"),
        ("tests.checker.broken_envs.line:Point", TypeError, "tests.checker.broken_envs.line:Point"),
        ("tests.checker.broken_envs.line:BROKEN_ENVS", TypeError, "is not an environment"),
        ("funcenv.wrappers:TimeLimit", TypeError, "TimeLimit"),
    ],
)
def test_run_check_of_what_is_no_environment(target, error, message):
    with pytest.raises(error, match=message):
        run_check(target, make=funcenv.make)


def test_without_a_registry_there_are_no_ids():
    with pytest.raises(ValueError, match="write it as module:EnvClass"):
        run_check("CartPole-v1")


def test_a_portability_finding_names_the_class_at_fault_and_raises_no_error():
    env = funcenv.wrappers.TimeLimit(broken_envs.precision.MixedRanks(), 5)
    (found,) = check_func_env(env, funcenv.key(0))
    assert (found.code, found.severity) == ("rank-promotion", Severity.PORTABILITY)
    assert found.where == "MixedRanks.reward"
    assert "which is not the default" in found.seen


def test_a_class_inside_a_function_is_not_blamed_for_pickling():
    class Local(broken_envs.Line):
        pass

    assert find_problems(Local(), funcenv.key(0), run=False) == []


def test_a_misspelt_colour_is_no_fault_of_the_shapes():
    class Green(CartPole):
        def scene(self, state):
            return palette.GRASS

    with pytest.raises(EnvCheckError, match=r"has no attribute 'GRASS'; write LEAF\. Remedy: correct that name"):
        check_func_env(Green(), funcenv.key(0))
