"""The script that times rollouts on an accelerator, on a CPU, and the page that it writes."""

import contextlib
import json
import pathlib

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_programs_take_turns_and_a_peer_that_fails_is_reported(benchmarks, capsys):
    task = benchmarks.hardware.Task("CartPole-v1", 5, peers={"nowhere": {"env": "CartPole-v1"}})
    ((size, figures),) = benchmarks.hardware.measure(task, [2], 1, contextlib.nullcontext())
    assert size == 2 and set(figures) == {"funcenv", "funcenv in jit", "nowhere"}
    assert figures["nowhere"] == {"error": "ModuleNotFoundError: No module named 'rollout_nowhere'"}
    ours = figures["funcenv"]
    assert ours["steps"] == 10 and ours["result"] == figures["funcenv in jit"]["result"]
    assert ours["range"][0] <= ours["steps_per_second"] <= ours["range"][1]
    assert json.loads(capsys.readouterr().out.removeprefix("CartPole-v1 2 ")) == figures


def test_programs_can_be_chosen(benchmarks):
    (task,) = (one for one in benchmarks.hardware.TASKS if one.id == "MinAtar/Breakout-v1")
    assert set(task.programs()) == {"funcenv", "funcenv in jit", "gymnax", "pgx"}
    chosen = benchmarks.hardware.dataclasses.replace(task, chosen=["pgx"])
    assert chosen.programs() == {"pgx": ("pgx", {"env": "minatar-breakout"})}


def test_the_page_and_the_plot_are_those_of_the_results(benchmarks, tmp_path):
    page, plot = tmp_path / "accelerators.md", tmp_path / "hardware.svg"
    page.write_text((DOCS / "accelerators.md").read_text())
    results = json.loads(benchmarks.hardware.PUBLISHED.read_text())
    benchmarks.accelerator_page.write_measured(results, page)
    assert page.read_text() == (DOCS / "accelerators.md").read_text()
    benchmarks.plots.draw_hardware(results, plot)
    assert "MinAtar/Breakout-v1" in plot.read_text()
