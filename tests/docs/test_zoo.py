"""The table of what presets reach: its rows, and the tool that measures them, on a short run."""

import dataclasses
import doctest
import json

import pytest

import funcenv
from funcenv.train.presets import PIXEL_PRESETS, PRESETS, preset

TRAINED = {
    "algorithm": "ppo",
    "other_settings": {},
    "planned_steps": 200_000,
    "steps": 199_680,
    "episodes": 100,
    "returns": [500.0, 480.0, 490.0],
    "deviations": [0.0, 1.0, 2.0],
    "solved_at": 107_520,
    "compile_seconds": 6.5,
    "cpu_seconds": 13.0,
}


def row(environment_pages, env_id="CartPole-v1", optimum=None, **changes):
    return environment_pages.zoo_row(funcenv.spec(env_id), {"optimum": optimum, "trained": {**TRAINED, **changes}})


def test_a_row_says_what_was_reached_and_what_it_cost(environment_pages):
    assert row(environment_pages) == (
        "| `CartPole-v1` | PPO | 3 | 199,680 | 490.0 [480.0, 500.0] | 475 | yes, at 107,520 | 6.5 | 13 |"
    )


def test_a_row_says_where_a_run_differs_from_its_preset(environment_pages):
    assert "| 50,000 of 200,000 |" in row(environment_pages, steps=50_000)
    assert "| 199,680, with `gamma=0.9` |" in row(environment_pages, other_settings={"gamma": 0.9})


def test_a_row_of_one_agent_has_no_interval_and_one_below_the_threshold_is_not_solved(environment_pages):
    shown = row(environment_pages, returns=[474.9], solved_at=None, compile_seconds=None, cpu_seconds=None)
    assert shown == "| `CartPole-v1` | PPO | 1 | 199,680 | 474.9 | 475 | no | - | - |"
    assert "| yes |" in row(environment_pages, solved_at=None)


@pytest.mark.parametrize(("value", "reached"), [(-13.0, "yes"), (-13.1, "yes"), (-13.2, "no")])
def test_a_return_near_the_optimum_reaches_the_goal(environment_pages, value, reached):
    shown = row(environment_pages, "CliffWalking-v1", optimum=-13.0, returns=[value], solved_at=None)
    assert f"| -13.0 (optimum) | {reached} |" in shown
    assert "| 0.7 or 0.74 (optimum) |" in row(environment_pages, "FrozenLake-v1", optimum=0.744)


def test_an_id_without_a_measurement_is_listed_as_such(environment_pages):
    spec = funcenv.spec("CarRacing-v3")
    assert environment_pages.zoo_row(spec, {}) == "| `CarRacing-v3` | - | - | - | not measured | 900 | - | - | - |"


def test_every_id_has_a_row(environment_pages):
    table = environment_pages.zoo().splitlines()
    ids = [spec.id for page in environment_pages.env_pages() for spec in page.specs]
    assert [line.split("`")[1] for line in table[2:] if line.split("`")[2].startswith(" | ")] == ids
    assert len({line.count(" | ") for line in table if "---" not in line}) == 1
    assert {env_id for algorithm, env_id in PRESETS if algorithm == "ppo"} <= set(ids)


def test_a_run_with_images_or_another_algorithm_has_a_row_of_its_own(environment_pages, tmp_path, monkeypatch):
    path = tmp_path / "returns.json"
    rows = {"arcade/Pong-v0 from pixels": {"returns": [18.5]}, "Pendulum-v1 with sac": {"algorithm": "sac"}}
    path.write_text(json.dumps({name: {"trained": TRAINED | changes} for name, changes in rows.items()}))
    monkeypatch.setattr(environment_pages, "RETURNS", path)
    first, second = (line for line in environment_pages.zoo().splitlines() if "arcade/Pong-v0" in line)
    assert first.startswith("| `arcade/Pong-v0` | - | ")
    assert second.startswith("| `arcade/Pong-v0` from pixels | PPO | 1 | 199,680 | 18.5 | - | - | ")
    assert "| `Pendulum-v1` with sac | SAC | 3 |" in environment_pages.zoo()


def test_one_command_measures_every_preset(measure_returns):
    for presets, from_pixels in ((PRESETS, False), (PIXEL_PRESETS, True)):
        for algorithm, env_id in presets:
            config = preset(env_id, algorithm, from_pixels=from_pixels)
            assert config in measure_returns.presets_of(env_id).values()


@pytest.fixture
def file(measure_returns, tmp_path, monkeypatch):
    """Return the file that is written instead of docs/returns.json."""
    path = tmp_path / "returns.json"
    path.write_text(json.dumps({"Pendulum-v1": {"random": [-1200.0, 300.0]}, "CartPole-v1": {"random": [22.0, 12.0]}}))
    monkeypatch.setattr(measure_returns, "FILE", path)
    monkeypatch.setattr(measure_returns, "PICTURES", tmp_path)
    monkeypatch.setattr(measure_returns, "PANELS", {"cartpole": ("CartPole-v1", "Pendulum-v1")})
    return path


def test_a_run_is_measured_merged_and_drawn(measure_returns, environment_pages, file, tmp_path):
    config = dataclasses.replace(preset("CartPole-v1"), total_timesteps=8192)
    folder = measure_returns.train(config, tmp_path, num_seeds=2)
    assert measure_returns.train(config, tmp_path, num_seeds=2) == folder  # is finished, and not trained again
    measure_returns.main(["--runs", str(folder)])
    rows = json.loads(file.read_text())
    assert rows["Pendulum-v1"] == {"random": [-1200.0, 300.0]} and rows["CartPole-v1"]["random"] == [22.0, 12.0]
    trained = rows["CartPole-v1"]["trained"]
    assert trained["other_settings"] == {"total_timesteps": 8192} and trained["steps"] == 8192
    assert len(trained["returns"]) == 2 and all(value > 9 for value in trained["returns"])
    assert trained["episodes"] == 1000  # as docs/zoo.md says of CartPole
    assert 0 < trained["compile_seconds"] < trained["cpu_seconds"]
    assert len(trained["curve_steps"]) == len(trained["curve_returns"]) and len(trained["curve_returns"][-1]) == 2
    assert "with `total_timesteps=8192`" in environment_pages.zoo_row(funcenv.spec("CartPole-v1"), rows["CartPole-v1"])
    measure_returns.main(["--draw"])
    assert (tmp_path / "cartpole.png").stat().st_size > 10_000


def test_the_examples_of_the_tool_run(measure_returns):
    result = doctest.testmod(measure_returns)
    assert result.attempted >= 2 and result.failed == 0
