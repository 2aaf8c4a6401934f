"""Timings, memory and the description of the engine."""

import funcenv
from funcenv.bench import describe_engine, footprint, measure, time_in_turns


def test_programs_take_turns_after_a_first_call_that_compiles():
    calls = []
    timings = time_in_turns({name: lambda name=name: calls.append(name) for name in "ab"}, seconds=0.0, rounds=2)
    assert calls == ["a", "a", "b", "b", "a", "b", "a", "b"]
    assert len(timings["a"].seconds) == 2 and timings["a"].compile_seconds >= 0


def test_the_state_is_its_fields_and_does_not_grow_with_the_number_of_steps(walk):
    venv = funcenv.FuncVectorEnv(walk.Walk(), 16)
    short, long = (footprint(venv, num_steps=num_steps) for num_steps in (200, 2000))
    # A float32, the key, the number of calls, done, return and length.
    assert short.state == long.state == 4 + 8 + 4 + 1 + 4 + 4
    assert short.outputs == long.outputs >= short.state
    # At most one integer a step, shared by all environments: the index of the step.
    assert 16 * (long.temporaries - short.temporaries) <= 4 * 1800


def test_the_engine_is_described_with_and_without_the_fast_path(monkeypatch):
    venv = funcenv.FuncVectorEnv(funcenv.make("FrozenLake-v1"), 4)
    monkeypatch.delenv("FUNCENV_NO_FAST_PATH")
    engine = describe_engine(venv, num_steps=10)
    assert (engine["program"], engine["resets"]) == ("one function", "as needed")
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    engine = describe_engine(venv, num_steps=10)
    assert (engine["program"], engine["resets"]) == ("plain", "at every step, selected")


def test_a_simulator_on_the_host_takes_fewer_steps():
    ids = "FrozenLake-v1", "InvertedPendulum-v5"
    measured = [measure(funcenv.make(env_id), 256, seconds=1e-3, rounds=1).num_steps for env_id in ids]
    assert measured == [1024, 16]
