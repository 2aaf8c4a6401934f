"""The command `funcenv benchmark`, on a suite of two tasks."""

import json
import shlex

import pytest

from funcenv.cli import main
from funcenv.train import benchmark
from funcenv.train.suites import SUITES, find_suite, references

TINY = shlex.split("--algo reinforce --num-envs 2 --num-steps 8 --hidden-sizes 8 --num-episodes 3")
TINY += shlex.split("--total-timesteps 512 --max-episode-steps 50 --seeds 2")


@pytest.fixture(autouse=True)
def tiny_suite(monkeypatch):
    monkeypatch.setitem(SUITES, "tiny", ("CartPole-v1", "CartPole-v0"))


FINISHED = {
    "algorithm": "reinforce",
    "planned_steps": 512,
    "steps": 512,
    "returns": [20.0, 30.0],
    "cpu_seconds": 9.0,
    "curve_steps": [16, 512],
    "curve_returns": [[9.0, 10.0], [20.0, 30.0]],
    "episode_returns": [[19.0, 21.0], [29.0, 31.0]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a benchmark that was stopped in its first task, and whose second task is finished."""
    folder = tmp_path_factory.mktemp("benchmark") / "tiny"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny", ("CartPole-v1", "CartPole-v0"))
        start = benchmark.run.start
        patch.setattr(
            benchmark.run, "start", lambda *args, **options: start(*args, **{**options, "max_cpu_seconds": 0})
        )
        assert main(["benchmark", "tiny", *TINY, "--output", str(folder), "--budget", "9", "--quiet"]) == 0
    assert json.loads((folder / "summary.json").read_text())["left"] == ["CartPole-v1", "CartPole-v0"]
    (folder / "results" / "CartPole-v0.json").write_text(json.dumps(FINISHED))
    return folder


@pytest.mark.dear
def test_a_benchmark_goes_on_without_repeating_what_is_finished(folder, monkeypatch, capsys):
    monkeypatch.setattr(benchmark.run, "start", None)  # the run of the first task is resumed
    command = ["benchmark", "tiny", *TINY, "--output", str(folder)]
    assert main([*command, "--json", "-"]) == 0
    figures = json.loads(capsys.readouterr().out)
    first, second = figures["tasks"]
    assert first["env_id"] == "CartPole-v1" and second["env_id"] == "CartPole-v0" and not figures["left"]
    assert first["score"] == pytest.approx(references()["CartPole-v1"].scores(first["interquartile_mean"]))
    assert second["interquartile_mean"] == 25 and second["score"] is None  # it has no reference
    result = json.loads((folder / "results" / "CartPole-v1.json").read_text())
    assert len(result["episode_returns"]) == 2 and len(result["episode_returns"][0]) == 3
    assert len(result["curve_returns"][-1]) == 2 and result["steps"] == 512
    monkeypatch.setattr(benchmark.run, "resume", None)
    assert main([*command, "--beside", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "25.0 [20.0, 30.0]" in said and "task 1" not in said
    assert f"over 2 of 2 tasks; everything is in {folder}" in said.splitlines()[-1]
    for name in ("summary.png", "curves.png"):
        assert (folder / name).stat().st_size > 10_000


def test_a_folder_holds_one_benchmark(folder, tmp_path, capsys):
    command = ["benchmark", "tiny", *TINY, "--output", str(folder)]
    for change, difference in (
        (["--gamma", "0.5"], "gamma of CartPole-v1 is 0.99 there, 0.5 here"),
        (["--num-episodes", "9"], "num_episodes is 3 there, 9 here"),
    ):
        assert main([*command, *change]) == 1
        assert f"holds a benchmark with other settings: {difference}; name another" in capsys.readouterr().err
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["benchmark", "tiny", *TINY, "--output", str(tmp_path)]) == 1
    assert "holds something else than a benchmark" in capsys.readouterr().err


def test_a_damaged_result_is_named(folder, capsys):
    path = folder / "results" / "CartPole-v0.json"
    text = path.read_text()
    path.write_text(text[:40])
    try:
        assert main(["benchmark", "tiny", *TINY, "--output", str(folder)]) == 1
        assert "CartPole-v0.json is damaged" in capsys.readouterr().err
    finally:
        path.write_text(text)


@pytest.mark.parametrize(
    ("progress", "status", "said"),
    [
        (({}, ["CartPole-v1"], {}, 2), 130, "stopped and saved, CartPole-v1 left; go on with: funcenv benchmark tiny"),
        (({}, ["CartPole-v1"], {"CartPole-v1": "the loss is nan"}, None), 1, "it is not finished, CartPole-v1 left"),
        (({}, ["CartPole-v1"], {}, None), 0, "the 0.5 CPU-hours are used up, CartPole-v1 left; go on with: funcenv"),
    ],
)
def test_what_is_left_is_said(progress, status, said, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(benchmark, "run_benchmark", lambda *args, **options: benchmark.Progress(*progress))
    assert main(["benchmark", "tiny", "--budget", "0.5", "--output", str(tmp_path)]) == status
    captured = capsys.readouterr()
    assert said in captured.err and "no task is finished" in captured.out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "benchmark needs SUITE, one of classic, box2d"),
        (["clasic"], 2, "there is no suite 'clasic'; did you mean classic? The suites are classic, box2d"),
        (["classic", "--budget", "0"], 2, "--budget must be above 0 CPU-hours, got 0; leave it out for no limit"),
        (["classic", "--budget", "nan"], 2, "--budget must be above 0 CPU-hours, got nan"),
        (["classic", "--seeds", "0"], 2, "--seeds must be at least 1, got 0"),
        (["classic", "--num-seeds", "2"], 2, "there is no flag --num-seeds here: write --seeds"),
        (["classic", "--gae-lambda", "1"], 2, "not all algorithms have it; write --algo plr or ppo"),
        (["classic", "--algo", "poo"], 2, "there is no algorithm 'poo'; did you mean ppo?"),
        (["classic", "--beside", "nowhere"], 1, "nowhere is no benchmark: it has no benchmark.json"),
        (["classic", "--json", "nowhere/x.json"], 1, "--json: there is no folder nowhere"),
        (["minatar", "--algo", "sac"], 1, "sac takes float Box actions with bounds, got Discrete(4)"),
    ],
)
def test_mistakes_are_reported(arguments, status, message, capsys):
    assert main(["benchmark", *arguments]) == status
    assert message in capsys.readouterr().err


def test_tasks_are_left_out_that_an_algorithm_cannot_learn(monkeypatch, tmp_path, capsys):
    plans = []

    def note(plan, folder, **options):
        plans.append(plan)
        return benchmark.Progress({}, [], {}, None)

    monkeypatch.setattr(benchmark, "run_benchmark", note)
    assert main(["benchmark", "classic", "--algo", "dqn", "--output", str(tmp_path)]) == 0
    assert list(plans[0].configs) == ["CartPole-v1", "Acrobot-v1", "MountainCar-v0"]
    assert "without Pendulum-v1: dqn takes Discrete actions" in capsys.readouterr().err


def test_every_task_of_a_suite_has_a_reference():
    for suite in ("classic", "box2d", "mujoco-v5", "minatar", "arcade"):
        for env_id in find_suite(suite):
            assert references()[env_id].scores(references()[env_id].random) == 0
