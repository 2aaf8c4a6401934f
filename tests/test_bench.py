"""The benchmark suite's parts at tiny sizes, and `funcenv bench`."""

import importlib
import json
import pathlib
import shutil
import subprocess
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcenv
from funcenv.bench import PARTS, footprint, time_in_turns
from funcenv.bench.breakdown import Constants, ReadingPolicy, ReducedEnv
from funcenv.cli import main

ROOT = pathlib.Path(__file__).parent.parent
WALK = """
import jax, jax.numpy as jnp
import funcenv

class Walk(funcenv.FuncEnv):
    effort: int = funcenv.field(pytree_node=False, default=0)

    @property
    def observation_space(self): return funcenv.spaces.Box(-9.0, 9.0, (1,))
    @property
    def action_space(self): return funcenv.spaces.Discrete(2)
    def initial(self, key): return jax.random.uniform(key)
    def transition(self, state, action, key):
        state = jax.lax.fori_loop(0, self.effort, lambda _, x: x + 1e-9 * jnp.sqrt(x * x + 1), state)
        return state + jnp.where(action == 1, 1.0, -1.0)
    def observation(self, state, key): return state[None]
    def reward(self, state, action, next_state): return -1.0
    def terminal(self, state): return jnp.abs(state) > 5

def arduous(): return Walk(effort=1000)
"""


@pytest.fixture
def walk(tmp_path, monkeypatch):
    """A module with a small environment, which compiles fast."""
    (tmp_path / "walk_to_bench.py").write_text(WALK)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("walk_to_bench", None)
    return importlib.import_module("walk_to_bench")


@pytest.fixture
def benchmarks(monkeypatch):
    """The scripts in `benchmarks/`, imported by name."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    names = ("harness", "c_program", "suite_rows", "suite_goals", "suite_plots", "suite_report", "machine")
    return types.SimpleNamespace(**{name: importlib.import_module(name) for name in names})


# funcenv.bench


def test_programs_take_turns_and_the_first_call_is_told_apart():
    calls = []
    timings = time_in_turns({name: lambda name=name: calls.append(name) for name in "ab"}, seconds=0.0, rounds=2)
    assert calls == ["a", "a", "b", "b", "a", "b", "a", "b"]
    assert len(timings["a"].seconds) == 2 and timings["a"].compile_seconds >= 0


def test_what_is_carried_are_the_fields_and_does_not_grow_with_the_number_of_steps(walk):
    venv = funcenv.FuncVectorEnv(walk.Walk(), 16)
    short, long = (footprint(venv, num_steps=num_steps) for num_steps in (200, 2000))
    # One float32; the key; calls, done, return and length.
    assert short.state == long.state == 4 + 8 + 4 + 1 + 4 + 4
    assert short.outputs == long.outputs >= short.state
    # An integer a step at most, of all environments together: the numbers of the steps themselves.
    assert 16 * (long.temporaries - short.temporaries) <= 4 * 1800


def test_nothing_taken_away_leaves_the_environment_as_it_is(walk):
    env = walk.Walk()
    reduced = ReducedEnv(env, Constants(env, funcenv.key(3)))
    policy = funcenv.random_policy(env)
    outcomes = [
        funcenv.rollout(funcenv.FuncVectorEnv(each, 4), act, funcenv.key(0), 30)[1]
        for each, act in ((env, policy), (reduced, ReadingPolicy(policy)))
    ]
    jax.tree.map(np.testing.assert_array_equal, *outcomes)


def test_what_is_taken_away_is_gone(walk):
    env = walk.Walk()
    constants = Constants(env, funcenv.key(3))
    still = ReducedEnv(env, constants, physics=False)
    state, _ = still.reset(funcenv.key(0))
    after, timestep = still.step(state, jnp.int32(1), funcenv.key(1))
    assert after == state and timestep.reward == 0 and not timestep.done
    starts = [ReducedEnv(env, constants, resets=False).reset(funcenv.key(seed))[0] for seed in (0, 1)]
    assert starts[0] == starts[1]


# funcenv bench


def test_bench_finds_the_work_where_it_was_put_and_writes_every_figure(walk, tmp_path, capsys):
    out = tmp_path / "figures.json"
    arguments = ["--num-envs", "64", "--json", str(out), "--seconds", "0.01", "--rounds", "3"]
    assert main(["bench", "walk_to_bench:arduous", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "compile" in printed and [part for part in PARTS if part not in printed] == []
    figures = json.loads(out.read_text())
    (row,), parts = figures["measurements"], figures["breakdown"]["nanoseconds"]
    low, high = row["steps_per_second_range"]
    assert (
        row["num_envs"] == 64
        and low <= row["steps_per_second"] <= high
        and row["episodes"] > 100
        and 20 < row["mean_length"] < 40
    )
    assert sorted(parts) == sorted(PARTS) and max(parts, key=parts.get) == "physics"
    assert row["engine"]["generator"] == "threefry"


def test_bench_takes_another_generator(capsys):
    brief = ["--num-envs", "8", "--seconds", "0.001", "--rounds", "1", "--no-breakdown"]
    assert main(["bench", "FrozenLake-v1", *brief, "--impl", "philox4x32"]) == 0
    assert "generator: philox4x32" in capsys.readouterr().out


def test_a_program_that_cannot_be_one_function_is_told_to_be_plain(monkeypatch):
    venv = funcenv.FuncVectorEnv(funcenv.make("FrozenLake-v1"), 4)
    monkeypatch.delenv("FUNCENV_NO_FAST_PATH")
    told = funcenv.bench.describe_engine(venv, num_steps=10)
    assert (told["program"], told["resets"]) == ("one function", "as needed")
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    told = funcenv.bench.describe_engine(venv, num_steps=10)
    assert (told["program"], told["resets"]) == ("plain", "at every step, selected")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["CartPoel-v1"], "did you mean CartPole-v1"),
        (["no_such_module:Env"], "no_such_module"),
        (["CartPole-v1", "--impl", "dice"], "dice"),
        (["CartPole-v1", "--json", "/no/such/folder/x.json"], "there is no folder /no/such/folder"),
    ],
)
def test_mistakes_are_told_without_a_traceback(arguments, message, capsys):
    assert main(["bench", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["CartPole-v1", "--num-envs", "0"], ["CartPole-v1", "--rounds", "x"]])
def test_impossible_flags_are_refused(arguments, capsys):
    with pytest.raises(SystemExit):
        main(["bench", *arguments])
    assert "funcenv bench: error:" in capsys.readouterr().err


# The harness


def scripted(tmp_path, name, turns, dies=False):
    """A command that speaks the protocol and claims to have needed so many CPU seconds."""
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
    for worker in workers:
        worker.close()
    assert rows["a"]["steps_per_cpu_second"] == 50 and rows["b"]["ratio_of_first"] == 2
    assert rows["b"]["ratio_range"] == [1, 3]
    assert rows["a"]["compile_cpu"] == 2.5


def test_a_peer_that_breaks_down_has_its_reason_in_its_row(benchmarks, tmp_path):
    start, harness = benchmarks.harness.Worker.program, benchmarks.harness
    workers = [start("a", scripted(tmp_path, "a", [1] * 3)), start("b", scripted(tmp_path, "b", [1], dies=True))]
    rows = harness.compare(workers, rounds=3)
    assert "out of luck" in rows["b"]["error"] and rows["a"]["ratio_of_first"] == 1
    with pytest.raises(harness.PeerError, match="out of luck"):
        harness.compare([start("b", scripted(tmp_path, "b", [], dies=True)), workers[0]], rounds=1)
    workers[0].close()


def test_a_peer_that_cannot_be_installed_says_so(benchmarks, tmp_path, monkeypatch):
    harness = benchmarks.harness
    said = "WARNING: x\nERROR: No matching distribution found for envpool from https://example.org/simple\n"
    monkeypatch.setattr(harness, "CACHE", tmp_path)
    monkeypatch.setattr(harness.venv, "create", lambda *args, **kwargs: None)
    monkeypatch.setattr(
        harness.subprocess, "run", lambda *args, **kwargs: types.SimpleNamespace(returncode=1, stderr=said)
    )
    with pytest.raises(harness.PeerError, match="envpool.* cannot be installed on Python") as error:
        harness.peer_python("envpool")
    assert "example.org" not in str(error.value)


def test_a_turn_is_repeated_until_it_takes_its_time(benchmarks, tmp_path):
    path = tmp_path / "burn.py"
    path.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
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


def test_our_worker_plays(benchmarks):
    worker = benchmarks.suite_rows.ours("CartPole-v1", 2048, True, 0.001)
    turn = worker.run()
    worker.close()
    assert worker.facts["steps"] % (2048 * 256) == 0
    num_steps = 256  # CartPole pays 1 a step
    assert turn["result"]["reward"] == pytest.approx(2048 * num_steps, rel=1e-4)
    assert turn["result"]["episodes"] == pytest.approx(2048 * num_steps / 22, rel=0.05)


# The C program


def test_the_c_program_plays_the_same_game(benchmarks, tmp_path):
    c_program = benchmarks.c_program
    if shutil.which("cc") is None:
        with pytest.raises(benchmarks.harness.PeerError, match="no C compiler"):
            c_program.compile_program(1, tmp_path)
        return
    num_envs, num_steps = 1024, 500
    venv = funcenv.FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs)
    ours = funcenv.rollout(venv, funcenv.random_policy(venv), funcenv.key(0), num_steps, collect=None)[2]
    error = float(ours.std_length) / np.sqrt(float(ours.count))
    for generator in c_program.GENERATORS.values():
        program, _ = c_program.compile_program(generator, tmp_path)
        command = [str(program), str(num_envs), str(num_steps)]
        said = subprocess.run(command, input="\n", capture_output=True, text=True, check=True).stdout.splitlines()
        for result in (json.loads(line)["result"] for line in said):
            assert result["mean_length"] == pytest.approx(float(ours.mean_length), abs=6 * error)
            assert result["episodes"] == pytest.approx(int(ours.count), rel=0.02)


def test_the_c_program_refuses_what_it_cannot_do(benchmarks, tmp_path):
    if shutil.which("cc") is None:
        return
    program, _ = benchmarks.c_program.compile_program(1, tmp_path)
    outcome = subprocess.run([str(program), "100", "10"], capture_output=True, text=True)
    assert outcome.returncode == 2 and "a multiple of 256" in outcome.stderr


# Goals, tables and plots


def speeds(*ratios):
    """A row's figures: ours at 1e8, of which each peer is so many times slower."""
    row = {"ours": 1e8}
    figures = {"funcenv": 1.0, **dict(ratios)}
    return {
        name: {
            "steps_per_cpu_second": row["ours"] / ratio,
            "speed_range": [0.9 * row["ours"] / ratio, row["ours"] / ratio],
            "ratio_of_first": ratio,
            "ratio_range": [0.9 * ratio, 1.1 * ratio] if name != "funcenv" else [1, 1],
            "version": "1.0",
            "peak_mb": 300.0,
            "result": {"reward": 100.0 + ratio / 20, "episodes": 100},
        }
        for name, ratio in figures.items()
    }


@pytest.fixture
def results(benchmarks):
    """Invented figures of every section."""
    rows = [
        {"env": env, "num_envs": n, "keep": keep, "peers": speeds(("gymnax", 11.0), ("envpool", 50.0), ("C", 0.5))}
        for env in benchmarks.suite_rows.WITH_GOALS
        for n in (1, 16, 256, 4096, 65536)
        for keep in (False, True)
    ]
    rows[0]["peers"]["brax (comparable)"] = {"error": "brax==0 cannot be installed on Python 3.99"}
    parts = dict(zip(PARTS, (1.0, 2.0, 3.0, -0.1, 0.5), strict=True))
    anatomy = {"breakdown": {"num_envs": 4096, "nanoseconds": parts}, "engine": {"backend": "cpu", "resets": "select"}}
    return {
        "date": "2026-01-01",
        "mode": "quick",
        "command": "make bench",
        "machine": benchmarks.machine.describe(),
        "flags": {"PJRT_NPROC": "1"},
        "pinned_to_one_core": True,
        "versions": {"funcenv": "0", "jax": "0", "python": "3"},
        "speed": rows,
        "compile": [{"env": "CartPole-v1", "cold": 1.5, "cached": 0.4}],
        "soak": {"env": "CartPole-v1", "num_envs": 8, "steps": 10, "cpu": 1.0, "rss_mb": [1.0, 1.5], "growth_mb": 0.5},
        "anatomy": [{"env": "CartPole-v1", **anatomy, "footprint": {"state": 41, "outputs": 42, "temporaries": None}}],
        "latency": {"single": speeds(("gymnasium", 0.5)), "vector": {"16": speeds(("CartPoleVectorEnv", 2.0))}},
        "errors": {},
    }


def test_goals_are_judged(benchmarks, results):
    verdicts = {goal["what"]: goal for goal in benchmarks.suite_goals.judge(results)}
    assert verdicts["CartPole-v1, random policy, against gymnax"]["verdict"] == "met"
    assert verdicts["MountainCar-v0, random policy, against gymnax"]["verdict"] == "missed"
    assert verdicts["CartPole, of the speed of C"]["measured"].startswith("256: 50.0%")
    assert verdicts["CartPole, of the speed of C"]["verdict"] == "met"
    assert verdicts["CartPole, against envpool"]["verdict"] == "missed"
    assert verdicts["CartPole, against Gymnasium's CartPoleVectorEnv"]["verdict"] == "not run"
    assert verdicts["compile from JAX's persistent cache [CPU-s]"]["verdict"] == "missed"
    assert verdicts["rewards and episodes under the random policy, apart from gymnax's [%]"]["verdict"] == "met"
    assert verdicts["growth of resident memory [MB]"]["verdict"] == "met"


def test_nothing_measured_is_nothing_met(benchmarks):
    assert {goal["verdict"] for goal in benchmarks.suite_goals.judge({})} == {"not run"}


def test_the_page_holds_the_figures_and_small_pictures(benchmarks, results, tmp_path):
    results["goals"] = benchmarks.suite_goals.judge(results)
    files = benchmarks.suite_report.write_docs(results, tmp_path)
    pictures = [path for path in files if path.suffix == ".svg"]
    assert {path.stem for path in pictures} == {"speed_cartpole", "speed_envs", "speed_kept", "breakdown"}
    assert all(500 < path.stat().st_size < 100_000 for path in pictures)
    page = (tmp_path / "benchmarks_suite.md").read_text()
    assert "| 4,096 | **100** | 9.09 (11.0x; 9.90 - 12.1) |" in page
    assert "absent: brax==0 cannot be installed" in page
    assert all(f"assets/bench/{path.name}" in page for path in pictures)
    assert json.loads((tmp_path / "assets" / "bench" / "results.json").read_text())["date"] == "2026-01-01"
    for line in page.splitlines():
        assert not line.startswith("|") or line.endswith("|")


heights = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 1), min_size=1, max_size=8)


@given(heights)
def test_labels_never_overlap_and_keep_their_order(heights):
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        spread = importlib.import_module("suite_plots").spread
    finally:
        sys.path.pop(0)
    places = spread(heights, gap=0.05)
    ordered = sorted(places, key=places.get)
    assert [heights[name] for name in ordered] == sorted(heights.values())
    assert all(places[b] - places[a] > 0.05 - 1e-9 for a, b in zip(ordered, ordered[1:], strict=False))
    assert np.mean(list(places.values())) == pytest.approx(np.mean(list(heights.values())), abs=1e-9)
