"""The entry points: what raises, what is returned, what a command line can name."""

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


def test_sound_environment_has_no_findings():
    assert check_func_env(CartPole(), funcenv.key(0)) == []


def test_errors_raise_with_all_findings(zoo):
    with pytest.raises(EnvCheckError) as raised:
        check_func_env(zoo.kinds.FloatFlag(), funcenv.key(0))
    assert [finding.code for finding in raised.value.findings] == ["flag-not-bool"]
    message = str(raised.value)
    assert "FloatFlag.terminal" in message
    assert "it returns float32" in message
    assert "return a comparison" in message
    assert pickle.loads(pickle.dumps(raised.value)).findings == raised.value.findings


def test_warnings_are_returned(zoo):
    findings = check_func_env(zoo.purity.IgnoresKey(), funcenv.key(0))
    assert [(finding.code, finding.severity) for finding in findings] == [("key-ignored", Severity.WARNING)]


def test_declared_gradients_turn_a_warning_into_an_error(zoo):
    (warned,) = find_problems(zoo.running.RootOfZero(), funcenv.key(0))
    (failed,) = find_problems(zoo.running.PromisesGradients(), funcenv.key(0))
    assert (warned.severity, failed.severity) == (Severity.WARNING, Severity.ERROR)


def test_a_failure_in_the_environment_is_located(zoo):
    (finding,) = find_problems(zoo.kinds.PythonBranch(), funcenv.key(0))
    assert "of kinds.py" in finding.seen


def test_settings_of_the_caller_change_nothing(zoo):
    """What is strict the checker tries by itself, so a test suite that is strict throughout gets the same findings."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), jax.debug_key_reuse(True):
        (finding,) = find_problems(zoo.settings.MixedDtypes(), funcenv.key(0))
    assert finding.code == "dtype-promotion"
    assert jax.config.jax_numpy_dtype_promotion == "strict"
    (finding,) = find_problems(zoo.settings.MixedDtypes(), funcenv.key(0))
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
        (CartPole, None, "build the environment first"),
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
        ("zoo.kinds:FloatFlag", ["flag-not-bool"]),
        ("zoo.kinds:NoSpace", ["space-missing"]),
        ("zoo.line:make_line", []),
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
        ("zoo.kinds:NoSuchEnv", ValueError, "NoSuchEnv"),
        ("zoo.line:Point", TypeError, "zoo.line:Point"),
        ("zoo.line:EXHIBITS", TypeError, "is not an environment"),
        ("funcenv.wrappers:TimeLimit", TypeError, "TimeLimit"),
    ],
)
def test_run_check_of_what_is_no_environment(zoo, target, error, message):
    with pytest.raises(error, match=message):
        run_check(target, make=funcenv.make)


def test_without_a_registry_there_are_no_ids():
    with pytest.raises(ValueError, match="write it as module:EnvClass"):
        run_check("CartPole-v1")
