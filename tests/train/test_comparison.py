"""Runs are compared, reported and exported to other tools; the runs here are written by hand."""

import dataclasses
import json

import numpy as np
import pytest
from rich.console import Console

from funcenv.cli import main
from funcenv.cli.report import Options, write_report
from funcenv.train import ppo, run
from funcenv.train.reports.comparison import compare, group_runs, read_run
from funcenv.train.reports.page import build_report
from funcenv.train.runs.folder import describe_run, write_config
from funcenv.train.runs.metrics import MetricsFile

CONFIG = ppo.Config(num_envs=2, num_steps=8, total_timesteps=16 * 4, num_seeds=2)


def write_run(folder, returns, **changes):
    """Write the folder of a run with returns `[num_updates, num_seeds]`."""
    config = dataclasses.replace(CONFIG, num_seeds=np.shape(returns)[1], **changes)
    folder.mkdir()
    write_config(folder, describe_run(ppo, config))
    returns = np.float32(returns)
    steps = np.broadcast_to(np.arange(1, len(returns) + 1)[:, None] * 16, returns.shape)
    figures = {"env_steps": steps, "episodes": steps, "mean_return": returns, "mean_length": returns}
    MetricsFile(folder / "metrics.csv").append(1, figures, wall_seconds=2.0, cpu_seconds=1.0)
    return folder


@pytest.fixture
def folders(tmp_path):
    """Return three runs: two that differ in their seeds alone, and one with another learning rate."""
    fast = [[np.nan, 100], [200, 300], [480, 400], [490, 500]]
    return [
        write_run(tmp_path / "one", fast),
        write_run(tmp_path / "two", [[100], [200], [300], [400]], seed=5),
        write_run(tmp_path / "slow", [[10, 20], [20, 30], [30, 40], [40, 500]], learning_rate=1e-4),
    ]


def test_runs_that_differ_in_their_seeds_alone_are_one_method(folders):
    fast, slow = group_runs(map(read_run, folders))
    assert [one.folder for one in fast.runs] == folders[:2] and [one.folder for one in slow.runs] == folders[2:]
    assert (fast.label, slow.label) == ("learning_rate 0.001", "learning_rate 0.0001")
    assert fast.final.tolist() == [[490], [500], [400]]
    steps, curves = fast.curve()
    assert steps.tolist() == [32, 48, 64] and curves[:, 0].tolist() == [
        [200, 480, 490],
        [300, 400, 500],
        [200, 300, 400],
    ]


def test_the_figures_of_a_comparison(folders):
    figures = compare(group_runs(map(read_run, folders)))
    fast, slow = figures["methods"]
    assert fast["interquartile_mean"] == pytest.approx((490 + 500 + 400) / 3) and fast["solved_at"] is None
    assert (fast["num_agents"], fast["worst"], fast["best"], fast["wall_seconds"]) == (3, 400, 500, 4.0)
    assert fast["interval"] == [400, 500] and slow["interval"] == [None, None]  # of three agents, and of two
    assert slow["greedy_returns"] is None and slow["judged_by"] == "the last 100 episodes"
    assert figures["differences"] == {"learning_rate": [0.001, 0.0001]}
    assert figures["improvements"][0]["probability"] is None  # because there are two slow agents


def test_a_probability_of_improvement_needs_three_agents_of_each_method(folders, tmp_path, capsys):
    third = write_run(tmp_path / "third", [[10], [20], [30], [35]], learning_rate=1e-4, seed=9)
    (improvement,) = compare(group_runs(map(read_run, [*folders, third])))["improvements"]
    assert improvement["probability"] == pytest.approx((2 + 2.5 + 2) / 9)  # of 9 pairs
    assert main(["compare", *map(str, folders)]) == 0
    text = "too few agents to say which is better; train at least 3 of each with --num-seeds"
    assert text in capsys.readouterr().out


def test_methods_are_named_after_what_sets_them_apart(tmp_path):
    others = {"learning_rate": 1e-4, "gamma": 0.9, "gae_lambda": 0.8, "clip_epsilon": 0.1}
    changes = {"a": {}, "b": others, "c": {"env_id": "Acrobot-v1", "gamma": 0.5}}
    folders = [write_run(tmp_path / name, [[1.0]], **change) for name, change in changes.items()]
    found = [one.label for one in group_runs(map(read_run, folders))]
    assert len(set(found)) == 3 and found[2] == "Acrobot-v1"
    assert found[0].startswith("CartPole-v1, ") and all(folder.name not in found for folder in folders)


def test_a_method_is_solved_where_its_last_run_is(tmp_path):
    one = write_run(tmp_path / "one", [[480], [100], [490]])
    two = write_run(tmp_path / "two", [[100], [480], [490]], seed=1)
    (method,) = group_runs([read_run(one), read_run(two)])
    assert method.solved_at() == 32 and method.label == "CartPole-v1, ppo"


def test_the_command_prints_a_table_and_writes_files(folders, tmp_path, capsys):
    files = ["--json", str(tmp_path / "x.json"), "--marl-eval", str(tmp_path / "marl.json")]
    assert main(["compare", *map(str, folders), *files]) == 0
    out = capsys.readouterr().out
    assert "learning_rate 0.001 " in out and "463.3 [400.0, 500.0]" in out
    figures = json.loads((tmp_path / "x.json").read_text())
    assert main(["compare", *map(str, folders), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == figures
    data = json.loads((tmp_path / "marl.json").read_text())["funcenv"]["CartPole-v1"]
    assert set(data) == {"learning_rate 0.001", "learning_rate 0.0001"}
    agents = data["learning_rate 0.001"]
    assert set(agents) == {"one-agent0", "one-agent1", "two-agent0"}
    assert agents["one-agent1"]["step_0"] == {"step_count": 32, "mean_episode_return": [300.0]}
    assert agents["one-agent1"]["absolute_metrics"] == {"mean_episode_return": [500.0]}


def test_a_run_that_has_played_at_its_end_alone_has_those_returns(tmp_path):
    folder = write_run(tmp_path / "run", [[np.nan, np.nan], [np.nan, np.nan]])
    with pytest.raises(ValueError, match="has no returns yet"):
        read_run(folder)
    found = {"update": 2, "num_episodes": 4, "greedy": [20.0, 30.0], "exploring": [1.0, 2.0]}
    (folder / "evaluation.json").write_text(json.dumps(found))
    record = read_run(folder)
    assert record.is_evaluated and record.env_steps.tolist() == [32] and record.returns.tolist() == [[20.0, 30.0]]


@pytest.mark.parametrize("command", ["compare", "report"])
def test_mistakes_are_reported(command, folders, tmp_path, capsys):
    unfinished = write_run(tmp_path / "unfinished", [[np.nan]])
    flag = {"compare": "--json", "report": "--output"}[command]
    for arguments, message in (
        ([], f"{command} needs RUN, the folders of runs"),
        (["no_such_run"], "no_such_run is not a run"),
        ([str(unfinished)], "has no returns yet, as no episode has ended"),
        ([str(folders[0]), flag, "nowhere/x"], f"{flag}: there is no folder nowhere"),
    ):
        assert main([command, *arguments]) in (1, 2)
        assert message in capsys.readouterr().err


def test_the_report_is_one_page_that_loads_nothing(folders, tmp_path, capsys):
    path = tmp_path / "report.html"
    assert main(["report", *map(str, folders), "--output", str(path), "--replay-episodes", "0", "--no-open"]) == 0
    text = path.read_text()
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert text.count("<svg") == 4 and "#0000" not in text and "var(--series-1)" in text  # two plots in two sizes
    for part in ("463.3", "[400.0, 500.0]", "learning_rate 0.0001", "too few agents", "Settings that differ"):
        assert part in text
    assert "Best and worst" not in text and str(path) in capsys.readouterr().out


def test_the_report_plays_the_best_and_the_worst_episode(tmp_path):
    config = dataclasses.replace(CONFIG, hidden_sizes=(8,), num_minibatches=1, total_timesteps=16 * 8)
    result = run.start(config, tmp_path / "run", replay_episodes=0, console=Console(quiet=True))
    page = str(tmp_path / "report.html")
    text = write_report(Options(runs=(str(result.folder),), output=page, replay_episodes=3, open=False)).read_text()
    assert text.count("<iframe") == 1 and "best and worst of 6 episodes" in text
    assert "Best, agent" in text and "Worst, agent" in text


def test_names_are_escaped_in_the_report(folders):
    (method,) = group_runs([read_run(folders[0])])
    page = build_report([dataclasses.replace(method, label="<script>alert(1)</script>")], [])
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_report_fits_its_window(folders, tmp_path, browser, width, dark):
    path = tmp_path / "report.html"
    path.write_text(build_report(group_runs(map(read_run, folders)), []))
    browser.look(width, 900, dark=dark, mobile=width < 500)
    browser.open(path)
    assert browser.run("return document.documentElement.scrollWidth") == width and not browser.errors()
    shown = browser.run("return [...document.querySelectorAll('.plot')].filter(plot => plot.offsetWidth).length")
    background = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert shown == 2 and background == ("rgb(14, 16, 19)" if dark else "rgb(244, 245, 247)")
