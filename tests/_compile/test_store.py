"""Programs are found by what they are made of: the same parts find the same program, and any other part finds none."""

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile import fingerprint, store
from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.single_kernel import SingleKernel
from funcenv.adapters import FunctionalEnv, FunctionalVectorEnv
from funcenv.adapters.engine.programs_single import EnvPrograms
from funcenv.adapters.engine.programs_vector import VectorPrograms
from funcenv.train.algorithms import ppo
from tests.support.tiny_envs import Walk

pytestmark = pytest.mark.fast_path
REPOSITORY = pathlib.Path(funcenv.__file__).parent.parent


@pytest.fixture
def folder(tmp_path):
    store.use_folder(tmp_path)
    return tmp_path


def of_package(function):
    """Say that a function of this file is one of the package, which makes it describable."""
    function.__module__ = "funcenv.tests"
    return function


@of_package
def double(x):
    return x * 2


def kept(function, *args, parts="source"):
    program = KeptJit(function, "function", parts)
    return program(*args)


def test_without_a_folder_nothing_has_a_name():
    assert store.describe("kernel", "source") is None and store.entries() == []


def test_a_program_is_found_by_the_next_process(folder):
    assert kept(double, jnp.float32(2)) == 4
    entry = program_entry()
    before = entry.stat().st_mtime_ns

    def fails(x):
        raise AssertionError("it is traced")

    assert kept(of_package(fails), jnp.float32(3)) == 6
    assert program_entry() == entry and entry.stat().st_mtime_ns >= before


def program_entry():
    """Return the entry of the only program, beside that of the time it took to compile."""
    (entry,) = [path for path in store.entries() if not path.name.startswith("time-of-")]
    return entry


def names(*variants):
    return [store.describe("kernel", *variant) for variant in variants]


def test_every_part_counts(folder, monkeypatch):
    env, args = funcenv.make("CartPole-v1"), (jnp.zeros(3),)
    found = names(
        (env, args),
        (funcenv.make("CartPole-v1", max_episode_steps=9), args),
        (env.replace(env=env.env.replace(gravity=1.0)), args),
        (funcenv.make("Pendulum-v1"), args),
        (env, (jnp.zeros(4),)),
        (env, (np.zeros(3, np.int32),)),
        (env, args, {"level": 1}),
        (functools.partial(funcenv.make, 1), args),
        (functools.partial(funcenv.make, 2), args),
        (jnp.arange(3), args),
        (jnp.arange(3) + 1, args),
    )
    with jax.numpy_dtype_promotion("standard"):
        found += names((env, args))
    with jax.enable_x64(True):
        found += names((env, args))
    monkeypatch.setenv("XLA_FLAGS", "--another")
    found += names((env, args))
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.setattr(fingerprint, "_versions", lambda: "another source")
    found += names((env, args))
    assert None not in found and len(set(found)) == len(found)
    assert store.describe("program", env, args) not in found


def test_equal_parts_have_one_name(folder):
    one, other = names(*[(funcenv.make("LunarLander-v3"), (funcenv.key(0), 1.0))] * 2)
    assert one == other is not None


@pytest.mark.parametrize(
    "part",
    [lambda x: x, Walk(), funcenv.wrappers.TimeLimit(Walk(), 3), functools.partial(kept, 1), sys.modules[__name__]],
)
def test_code_of_somebody_else_has_no_name(folder, part):
    assert store.describe("kernel", part) is None
    assert kept(lambda x: x + 1, jnp.float32(1), parts=part) == 2 and store.entries() == []


def test_closures_of_the_package_are_described_with_what_they_hold(folder):
    def make(number):
        return of_package(lambda x: x + number)

    one, same, other = names((make(1),), (make(1),), (make(2),))
    assert one == same != other and None not in (one, other)


@pytest.mark.parametrize("damage", [lambda all: all[:-1], lambda all: b"", lambda all: all[:50] + b"\0" + all[51:]])
def test_a_damaged_entry_is_compiled_again(folder, damage):
    assert kept(double, jnp.float32(2)) == 4
    entry = program_entry()
    contents = entry.read_bytes()
    entry.write_bytes(damage(contents))
    assert kept(double, jnp.float32(2)) == 4
    assert len(entry.read_bytes()) == len(contents)


def test_an_entry_of_somebody_else_is_not_read(folder, monkeypatch, tmp_path_factory):
    name = store.describe("fact", "source")
    store.keep(name, store.Fact(1))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("another")))
    assert store.find(name) is None


def test_programs_that_call_other_code_are_not_kept(folder):
    kind = jax.ShapeDtypeStruct((), np.float32)
    calls = of_package(lambda x: jax.pure_callback(lambda x: x + 1, kind, x))
    assert kept(calls, jnp.float32(1)) == 2
    assert store.entries() == []


def test_lapack_is_looked_up_before_a_program_that_calls_it_is_loaded(tmp_path):
    """In a process that has lowered no call of it, the program would end in a crash."""
    code = (
        "import sys, jax, jax.numpy as jnp, pathlib; from funcenv._compile import store, kept_jit\n"
        "store.use_folder(pathlib.Path(sys.argv[1])); f = lambda x: jnp.linalg.qr(x)[1]; f.__module__ = 'funcenv'\n"
        "print(kept_jit.KeptJit(f, 'qr')(jnp.eye(2)).tolist(), len(store.entries()))"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")} | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    first, second = [subprocess.run(command, env=env, check=True, capture_output=True, text=True) for _ in range(2)]
    assert first.stdout == second.stdout and first.stdout.endswith("]] 2\n")  # with the time it took


def test_the_oldest_entries_are_deleted(folder, monkeypatch):
    listed = [store.describe("fact", number) for number in range(3)]
    for age, name in enumerate(listed):
        store.keep(name, store.Fact(name))
        os.utime(folder / f"{name}{store.SUFFIX}", (1000 + age, 1000 + age))
    assert store.find(listed[0]) is not None  # which makes it the newest
    monkeypatch.setattr(store, "MAX_BYTES", 3 * len((folder / f"{listed[0]}{store.SUFFIX}").read_bytes()))
    store.keep(store.describe("fact", 3), store.Fact(listed[0]))
    assert [store.find(name) is not None for name in listed] == [True, False, True]


def test_a_disk_that_cannot_be_written_costs_one_warning(folder, monkeypatch):
    def full(path, contents):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(store, "write_bytes", full)
    with pytest.warns(RuntimeWarning, match="compiled programs are not kept: .*No space left") as warnings:
        assert [kept(double, jnp.float32(2)), kept(double, jnp.float32(3))] == [4, 6]
    assert len(warnings) == 1 and store.folder() is None


def test_a_trial_is_not_repeated(folder):
    trials = []

    def plain(x):
        trials.append(x)
        return 2 * x

    def program():
        return SingleKernel(of_package(lambda x: x + x), plain=plain, parts="doubling")

    first = program()
    assert first(jnp.int32(4)) == 8 and first.refusal is None and trials
    del trials[:]
    again = program()
    assert again(jnp.int32(5)) == 10 and again.refusal is None and not trials
    assert again(jnp.arange(2)).tolist() == [0, 2] and trials  # other shapes are a trial of their own


def test_a_refusal_is_remembered(folder):
    def program():
        return SingleKernel(of_package(lambda x: x + x), plain=of_package(lambda x: 3 * x), parts="wrong")

    for _ in range(2):
        refused = program()
        assert refused(jnp.int32(4)) == 12 and "differ" in refused.refusal


@pytest.fixture
def unshared(monkeypatch):
    """Let every environment look for its own programs, as in a process of its own."""
    monkeypatch.setattr("funcenv.adapters.engine.session.env_programs", EnvPrograms)
    monkeypatch.setattr("funcenv.adapters.engine.vector_session.vector_programs", VectorPrograms)


@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1"])
def test_kept_programs_of_stateful_environments_give_the_same_results(folder, unshared, id):
    def play():
        env = FunctionalEnv(funcenv.make(id, max_episode_steps=2))
        start, actions = env.reset(seed=3)[0], (1, 0)
        return start, [env.step(action)[:4] for action in actions], env.reset()[0]

    expected = play()
    assert store.entries()
    jax.tree.map(np.testing.assert_array_equal, play(), expected)


def test_kept_programs_of_vector_environments_give_the_same_results(folder, unshared):
    def play():
        env = FunctionalVectorEnv(funcenv.make("CartPole-v1", max_episode_steps=9), 4)
        return env.reset(seed=3)[0], [env.step(np.array([0, 1, 0, 1]))[:4] for _ in range(12)]

    jax.tree.map(np.testing.assert_array_equal, play(), play())


SCRIPT = """
import sys, jax, pathlib
sys.path.insert(0, sys.argv[1])
import funcenv
from funcenv import adapters, programs
assert pathlib.Path(funcenv.__file__).is_relative_to(sys.argv[1])
assert programs.enable_cache(sys.argv[2])
traced = []
jax.monitoring.register_event_duration_secs_listener(lambda name, seconds, **more: traced.append(more.get("fun_name")))
env = adapters.make("MountainCarContinuous-v0")
env.reset(seed=0)
print(env.step([1.0])[0].tolist(), int("_step" in str(traced)))
"""


@pytest.mark.dear
def test_an_edited_environment_never_finds_an_old_program(tmp_path):
    """The second process traces nothing; the third, after an edit, compiles the new law."""
    copy, cache = tmp_path / "copy", tmp_path / "cache"
    copy.mkdir()
    shutil.copytree(
        REPOSITORY / "funcenv", copy / "funcenv", symlinks=False, ignore=shutil.ignore_patterns("__pycache__")
    )

    def run():
        command = [sys.executable, "-P", "-c", textwrap.dedent(SCRIPT), str(copy), str(cache)]
        env = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
        return subprocess.run(
            command, env=env | {"JAX_PLATFORMS": "cpu"}, check=True, capture_output=True, text=True
        ).stdout

    first, second = run(), run()
    assert first.endswith(" 1\n") and second == first.replace(" 1\n", " 0\n")
    path = copy / "funcenv" / "envs" / "classic_control" / "mountain_car_dynamics.py"
    source = path.read_text()
    assert source.count("(push - slope") == 1
    path.write_text(source.replace("(push - slope", "(2 * push - slope"))
    third = run()
    assert third.endswith(" 1\n") and third != first


def test_an_algorithm_with_its_settings_has_a_name(folder):
    one, same, other = names(*[((ppo, ppo.Config(learning_rate=rate)),) for rate in (1e-4, 1e-4, 1e-3)])
    assert one == same != other and None not in (one, other)


def test_stages_are_announced_with_what_they_took_last_time(folder, monkeypatch):
    def stages():
        entered = []
        with store.announced_stages(entered.append):
            kept(double, jnp.float32(2))
        return entered

    assert stages() == ["tracing", "compiling (kept for the next run)"]
    assert stages() == []
    monkeypatch.setattr(fingerprint, "_versions", lambda: "another source")
    (_, compiling) = stages()
    assert compiling.startswith("compiling (") and compiling.endswith(" CPU-s last time, kept for the next run)")
    store.use_folder(None)
    with store.announced_stages(pytest.fail):
        assert kept(double, jnp.float32(2)) == 4


def test_a_program_is_compiled_for_shapes_before_its_arguments_are_there(folder):
    seen = []

    def starts_compiling():
        program = KeptJit(double, "function")
        program.compile(jax.ShapeDtypeStruct((2,), jnp.float32), meanwhile=lambda shapes: seen.append(shapes.shape))
        return program

    assert starts_compiling()(jnp.ones(2)).tolist() == [2, 2] and seen == [(2,)]
    again = starts_compiling()
    assert again(jnp.ones(2)).tolist() == [2, 2] and seen == [(2,)]  # It was kept, so nothing happened meanwhile.


def test_a_program_that_is_not_kept_is_compiled_ahead_as_well():
    traces = []

    def function(x):
        traces.append(x)
        return x + 1

    program = KeptJit(function, "function")
    program.compile(jax.ShapeDtypeStruct((), jnp.int32), meanwhile=lambda shapes: None)
    assert program(jnp.int32(1)) == 2 and len(traces) == 1
    assert program(jnp.arange(2)).tolist() == [1, 2] and len(traces) == 2
