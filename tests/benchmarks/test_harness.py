"""Workers take turns and are compared."""

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
    start = benchmarks.harness.Worker.program
    workers = [start("a", scripted(tmp_path, "a", [1, 2, 4])), start("b", scripted(tmp_path, "b", [3, 2, 8]))]
    rows = benchmarks.harness.compare(workers, rounds=3)
    assert rows["a"]["steps_per_cpu_second"] == 50 and rows["b"]["ratio_of_first"] == 2
    assert rows["b"]["ratio_range"] == [1, 3]
    assert rows["a"]["compile_cpu"] == 2.5


def test_a_peer_that_fails_has_its_error_in_its_row(benchmarks, tmp_path):
    start, harness = benchmarks.harness.Worker.program, benchmarks.harness
    workers = [start("a", scripted(tmp_path, "a", [1] * 3)), start("b", scripted(tmp_path, "b", [1], dies=True))]
    rows = harness.compare(workers, rounds=3)
    assert "out of luck" in rows["b"]["error"] and rows["a"]["ratio_of_first"] == 1
    with pytest.raises(harness.PeerError, match="out of luck"):
        harness.compare([start("b", scripted(tmp_path, "b", [], dies=True)), workers[0]], rounds=1)


def test_a_peer_that_cannot_be_installed_says_so(benchmarks, tmp_path, monkeypatch):
    harness = benchmarks.harness
    stderr = "WARNING: x\nERROR: No matching distribution found for envpool from https://example.org/simple\n"
    monkeypatch.setattr(harness, "CACHE", tmp_path)
    monkeypatch.setattr(harness.venv, "create", lambda *args, **kwargs: None)
    monkeypatch.setattr(
        harness.subprocess, "run", lambda *args, **kwargs: types.SimpleNamespace(returncode=1, stderr=stderr)
    )
    with pytest.raises(harness.PeerError, match="envpool.* cannot be installed on Python") as error:
        harness.peer_python("envpool")
    assert "example.org" not in str(error.value)


def test_work_is_repeated_until_a_turn_takes_its_time(benchmarks, tmp_path):
    path = tmp_path / "burn.py"
    path.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(benchmarks.harness.HERE)!r})\n"
        "from protocol import serve\n"
        "def burn():\n"
        "    end = time.process_time() + 0.002\n"
        "    while time.process_time() < end: pass\n"
        "serve(lambda options: (burn, {'steps': 10}))\n"
    )
    worker = benchmarks.harness.Worker.program("burn", [sys.executable, str(path), json.dumps({"seconds": 0.02})])
    turn = worker.run()
    worker.close()
    assert worker.facts["steps"] % 10 == 0 and worker.facts["steps"] >= 30
    assert turn["cpu"] == pytest.approx(0.002 * worker.facts["steps"] / 10, rel=0.5)
    assert turn["peak_mb"] > 1


def test_the_worker_of_funcenv_runs_a_rollout(benchmarks):
    worker = benchmarks.suite_rows.ours("CartPole-v1", 2048, True, 0.001)
    turn = worker.run()
    worker.close()
    assert worker.facts["steps"] % (2048 * 256) == 0
    num_steps = 256  # CartPole's reward is 1 a step
    assert turn["result"]["reward"] == pytest.approx(2048 * num_steps, rel=1e-4)
    assert turn["result"]["episodes"] == pytest.approx(2048 * num_steps / 22, rel=0.05)
