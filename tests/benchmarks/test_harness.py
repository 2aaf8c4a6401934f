"""Workers take turns and are compared."""

import argparse
import json
import sys
import types

import pytest


def scripted(tmp_path, name, turns, dies=False):
    """Return a command that follows the protocol and reports these CPU seconds."""
    path = tmp_path / f"{name}.py"
    path.write_text(
        "import json, sys\n"
        "print('a library says hello')\n"
        "print(json.dumps({'steps': 100, 'prepare_cpu': 1.0, 'first_cpu': 2.0, 'once_cpu': 0.5}), flush=True)\n"
        f"for cpu, line in zip({turns!r}, sys.stdin):\n"
        "    print(json.dumps({'cpu': cpu, 'wall': 1.0, 'result': None}), flush=True)\n"
        + ("sys.exit('out of luck')\n" if dies else "")
    )
    return [sys.executable, str(path)]


def test_ratios_are_taken_within_rounds(benchmarks, tmp_path):
    start = benchmarks.harness.Worker
    workers = [start("a", scripted(tmp_path, "a", [1, 2, 4])), start("b", scripted(tmp_path, "b", [3, 2, 8]))]
    rows = benchmarks.harness.compare(workers, rounds=3)
    assert rows["a"]["steps_per_cpu_second"] == 50 and rows["b"]["ratio_of_first"] == 2
    assert rows["b"]["ratio_range"] == [1, 3]
    assert rows["a"]["compile_cpu"] == 2.5


def test_a_peer_that_fails_has_its_error_in_its_row(benchmarks, tmp_path):
    start, harness = benchmarks.harness.Worker, benchmarks.harness
    workers = [start("a", scripted(tmp_path, "a", [1] * 3)), start("b", scripted(tmp_path, "b", [1], dies=True))]
    rows = harness.compare(workers, rounds=3)
    assert "out of luck" in rows["b"]["error"] and rows["a"]["ratio_of_first"] == 1
    with pytest.raises(benchmarks.libraries.LibraryError, match="out of luck"):
        harness.compare([start("b", scripted(tmp_path, "b", [], dies=True)), workers[0]], rounds=1)


def test_a_library_that_cannot_be_installed_says_so(benchmarks, tmp_path, monkeypatch):
    libraries = benchmarks.libraries
    stderr = "WARNING: x\nERROR: No matching distribution found for envpool from https://example.org/simple\n"
    monkeypatch.setattr(libraries, "CACHE", tmp_path)
    monkeypatch.setattr(libraries.venv, "create", lambda *args, **kwargs: None)
    monkeypatch.setattr(
        libraries.subprocess, "run", lambda *args, **kwargs: types.SimpleNamespace(returncode=1, stderr=stderr)
    )
    with pytest.raises(libraries.LibraryError, match="envpool.* cannot be installed on Python") as error:
        libraries.python_of("envpool")
    assert "example.org" not in str(error.value)


def test_interpreters_are_named_by_flags(benchmarks):
    parser = argparse.ArgumentParser()
    benchmarks.libraries.add_pythons(parser)
    given = dict(parser.parse_args(["--python", "brax=/a/python", "--python", "pgx=/b"]).python)
    assert given == {"brax": "/a/python", "pgx": "/b"}
    assert benchmarks.libraries.python_of("brax", given) == "/a/python"
    assert benchmarks.libraries.python_of("", given) == sys.executable


def answers(benchmarks, tmp_path, body, options, turns):
    """Run a worker with this body, whose clock advances by 2 ms with each run of the work, and return its lines."""
    path = tmp_path / "worker.py"
    path.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(benchmarks.harness.HERE)!r})\n"
        "from protocol import serve\n"
        "clock = [0.0]\n"
        "time.process_time = lambda: clock[0]\n"
        f"def work():\n    clock[0] += 0.002\n    {body}\n"
        "serve(lambda options: (work, {'steps': 10}))\n"
    )
    worker = benchmarks.harness.Worker("worker", [sys.executable, str(path), json.dumps(options)])
    lines = [worker.run() for _ in range(turns)]
    worker.close()
    return worker.facts, lines


def test_work_is_repeated_until_a_turn_takes_its_time(benchmarks, tmp_path):
    facts, (turn,) = answers(benchmarks, tmp_path, "return None", {"seconds": 0.0199}, turns=1)
    assert facts["steps"] == 100 and turn["cpu"] == pytest.approx(0.02)
    assert turn["peak_mb"] > 1


def test_work_is_repeated_as_often_as_asked(benchmarks, tmp_path):
    facts, turns = answers(benchmarks, tmp_path, "return None", {"repeats": 3}, turns=2)
    assert facts["steps"] == 30 and [turn["cpu"] for turn in turns] == pytest.approx([0.006, 0.006])


def test_a_worker_may_have_a_clock_of_its_own(benchmarks, tmp_path):
    _, (turn,) = answers(benchmarks, tmp_path, "return {'cpu': 7.0, 'more': 1}", {}, turns=1)
    assert turn["cpu"] == 7 and turn["result"] == {"more": 1}


@pytest.mark.dear
def test_the_worker_of_funcenv_runs_a_rollout(benchmarks):
    program = benchmarks.rows.OURS.of("CartPole-v1", 2048, True, 0.001)
    worker = program.start({}, {})
    turn = worker.run()
    worker.close()
    assert worker.facts["steps"] % (2048 * 256) == 0
    num_steps = 256  # CartPole's reward is 1 a step
    assert turn["result"]["reward"] == pytest.approx(2048 * num_steps, rel=1e-4)
    assert turn["result"]["episodes"] == pytest.approx(2048 * num_steps / 22, rel=0.05)
