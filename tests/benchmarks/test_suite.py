"""Goals, tables and plots of the suite."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcenv.bench import PARTS


def speeds(*ratios):
    """Return the results of a row: funcenv at 1e8 steps a CPU second, and each peer slower by its ratio."""
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
    """Return invented results of every section."""
    rows = [
        {"env": env, "num_envs": n, "keep": keep, "peers": speeds(("gymnax", 11.0), ("envpool", 50.0), ("C", 0.5))}
        for env in benchmarks.rows.WITH_GOALS
        for n in (1, 16, 256, 4096, 65536)
        for keep in (False, True)
    ]
    rows[0]["peers"]["brax (comparable)"] = {"error": "brax==0 cannot be installed on Python 3.99"}
    parts = dict(zip(PARTS, (1.0, 2.0, 3.0, -0.1, 0.5), strict=True))
    anatomy = {
        "breakdown": {"num_envs": 4096, "nanoseconds": parts},
        "engine": {"backend": "cpu", "resets": "select"},
        "footprint": {"state": 41, "outputs": 42, "temporaries": None},
    }
    compiled = {"empty cache": {"compile_cpu": 1.5}, "filled cache": {"compile_cpu": 0.4}}
    soak = {"steps": 10, "steps_per_cpu_second": 100.0, "rss_mb": [1.0, 1.5]}
    return {
        "date": "2026-01-01",
        "mode": "quick",
        "command": "make bench",
        "machine": benchmarks.machine.describe(),
        "flags": {"PJRT_NPROC": "1"},
        "pinned_to_one_core": True,
        "versions": {"funcenv": "0", "jax": "0", "python": "3"},
        "speed": rows,
        "loop": [{"env": "CartPole-v1", "policy": "network", "num_envs": 16, "peers": speeds(("gymnax", 1.5))}],
        "compile": [{"env": "CartPole-v1", "peers": compiled}],
        "soak": [{"env": "CartPole-v1", "num_envs": 8, "peers": {"funcenv": soak}}],
        "anatomy": [{"env": "CartPole-v1", "peers": {"funcenv": {"result": anatomy}}}],
        "latency": [{"env": "CartPole-v1", "peers": speeds(("gymnasium", 0.5))}],
        "vector": [{"env": "CartPole-v1", "num_envs": 16, "peers": speeds(("CartPoleVectorEnv", 2.0))}],
    }


def test_goals_are_judged(benchmarks, results):
    verdicts = {goal["what"]: goal for goal in benchmarks.goals.judge(results)}
    assert verdicts["CartPole-v1, random policy, against gymnax"]["verdict"] == "met"
    assert verdicts["MountainCar-v0, random policy, against gymnax"]["verdict"] == "missed"
    assert verdicts["CartPole, of the speed of C"]["measured"].startswith("256: 50.0%")
    assert verdicts["CartPole, of the speed of C"]["verdict"] == "met"
    assert verdicts["CartPole, against envpool"]["verdict"] == "missed"
    assert verdicts["CartPole, against Gymnasium's CartPoleVectorEnv"]["verdict"] == "not run"
    assert verdicts["the users' loop, network policy, against gymnax"]["measured"] == "CartPole at 16: 1.50x"
    assert verdicts["the users' loop, random policy, against gymnax"]["verdict"] == "not run"
    assert verdicts["compile from JAX's persistent cache [CPU-s]"]["verdict"] == "missed"
    assert verdicts["rewards and episodes under the random policy, apart from gymnax's [%]"]["verdict"] == "met"
    assert verdicts["growth of resident memory [MB]"]["verdict"] == "met"


def test_nothing_measured_is_nothing_met(benchmarks):
    assert {goal["verdict"] for goal in benchmarks.goals.judge({})} == {"not run"}


def test_the_page_holds_the_figures_and_small_plots(benchmarks, results, tmp_path):
    results["goals"] = benchmarks.goals.judge(results)
    files = benchmarks.report.write_docs(results, tmp_path)
    plots = [path for path in files if path.suffix == ".svg"]
    assert {path.stem for path in plots} == {"speed_cartpole", "speed_envs", "speed_kept", "breakdown"}
    assert all(500 < path.stat().st_size < 100_000 for path in plots)
    page = (tmp_path / "benchmarks_suite.md").read_text()
    assert "| 4,096 | **100** | 9.09 (11.0x; 9.90 - 12.1) |" in page
    opening = page.partition("## ")[0]
    assert "speed_cartpole.svg" in opening and "**100 million steps per CPU-second**" in opening
    assert page.index("## Speed without") < page.index("## Machine and method") < page.index("## Goals met")
    assert "absent: brax==0 cannot be installed" in page
    assert all(f"assets/bench/{path.name}" in page for path in plots)
    assert "| CartPole-v1 | 1.50 | 0.40 |" in page and "100 steps of 8 CartPole-v1 took 1 CPU-s." in page
    assert "| 16 | 0.160 (1.00x) | 0.320 (2.00x) |" in page  # microseconds of a step of all 16
    assert json.loads((tmp_path / "assets" / "bench" / "results.json").read_text())["date"] == "2026-01-01"
    for line in page.splitlines():
        assert not line.startswith("|") or line.endswith("|")


heights = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 1), min_size=1, max_size=8)


@given(heights)
def test_labels_never_overlap_and_keep_their_order(benchmarks, heights):
    places = benchmarks.plots.spread(heights, gap=0.05)
    ordered = sorted(places, key=places.get)
    assert [heights[name] for name in ordered] == sorted(heights.values())
    assert all(places[b] - places[a] > 0.05 - 1e-9 for a, b in zip(ordered, ordered[1:], strict=False))
    assert np.mean(list(places.values())) == pytest.approx(np.mean(list(heights.values())), abs=1e-9)
