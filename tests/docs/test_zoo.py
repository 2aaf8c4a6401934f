"""The table of what presets reach: its rows, and the tool that measures them, on a short run."""

import dataclasses
import doctest
import json
import re

import numpy as np
import pytest
from environment_list import by_family

import funcenv
from funcenv.train.presets import PIXEL_PRESETS, PRESETS, default_algorithm, preset

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


def row(result_tables, env_id="CartPole-v1", optimum=None, **changes):
    return result_tables.zoo_row(funcenv.spec(env_id), {"optimum": optimum, "trained": {**TRAINED, **changes}})


def test_a_row_says_what_was_reached_and_what_it_cost(result_tables):
    assert row(result_tables) == (
        "| `CartPole-v1` | PPO | 3 | 199,680 | 490.0 [480.0, 500.0] | 475 | yes, at 107,520 | 13 |"
    )


def test_a_row_says_where_a_run_differs_from_its_preset(result_tables):
    assert "| 50,000 of 200,000 |" in row(result_tables, steps=50_000)
    assert "| 199,680, with `gamma=0.9` |" in row(result_tables, other_settings={"gamma": 0.9})


def test_a_row_of_one_agent_has_no_interval_and_one_below_the_threshold_is_not_solved(result_tables):
    shown = row(result_tables, returns=[474.9], solved_at=None, cpu_seconds=None)
    assert shown == "| `CartPole-v1` | PPO | 1 | 199,680 | 474.9 | 475 | no | - |"
    assert "| yes |" in row(result_tables, solved_at=None)


@pytest.mark.parametrize(("value", "reached"), [(-13.0, "yes"), (-13.1, "yes"), (-13.2, "no")])
def test_a_return_near_the_optimum_reaches_the_goal(result_tables, value, reached):
    shown = row(result_tables, "CliffWalking-v1", optimum=-13.0, returns=[value], solved_at=None)
    assert f"| -13.0 (optimum) | {reached} |" in shown
    assert "| 0.7 or 0.74 (optimum) |" in row(result_tables, "FrozenLake-v1", optimum=0.744)


def test_an_id_without_a_measurement_is_listed_as_such(result_tables):
    spec = funcenv.spec("CarRacing-v3")
    assert result_tables.zoo_row(spec, {}) == "| `CarRacing-v3` | - | - | - | not measured | 900 | - | - |"


def test_every_id_has_a_row_on_the_page_of_its_family(result_tables, docs):
    families = by_family()
    assert set(re.findall(r"<!-- zoo: (.+?) -->", (docs / "zoo.md").read_text())) == set(families)
    listed = []
    for family, pages in families.items():
        table = [line for line in result_tables.zoo(family).splitlines() if line.startswith("|")]
        rows = [line.split("`")[1] for line in table[2:]]
        assert set(rows) == {spec.id for page in pages for spec in page.specs}
        assert {line.count(" | ") for line in table if "---" not in line} == {7}
        listed += rows
    assert {env_id for algorithm, env_id in PRESETS if algorithm == "ppo"} <= set(listed)


def test_the_page_of_an_environment_gives_the_figures_of_the_zoo(result_tables):
    spec = funcenv.spec("LunarLander-v3")
    measured = json.loads(result_tables.RETURNS.read_text())[spec.id]["trained"]
    figures = result_tables.return_of(measured)
    assert figures in result_tables.returns_table([spec]) and figures in result_tables.zoo("Box2D")


def test_figures_in_sentences_and_tables_of_the_zoo_are_those_of_the_file(result_tables, docs):
    page = (docs / "zoo.md").read_text() + (docs / "zoo_trials.md").read_text()
    markers = re.findall(r"<!-- (result|interval|cut|cost|extent): (.+?) -->", page)
    assert {"result", "interval", "cut", "cost", "extent"} == {kind for kind, _ in markers}
    for kind, name in markers:
        trained = json.loads(result_tables.RETURNS.read_text())[name]["trained"]
        figures = {
            "result": rf"{re.escape(result_tables.figure(np.mean(trained['returns'])))} ± [\d,]+",
            "interval": re.escape(result_tables.return_of(trained)),
            "cut": re.escape(result_tables.return_of(trained.get("cut", trained))),
            "cost": f"{trained['cpu_seconds'] / len(trained['returns']):,.0f}",
            "extent": rf"{len(trained['returns'])} agents?, [\d,.]+M? steps",
        }
        assert re.fullmatch(figures[kind], result_tables.with_figures(f"<!-- {kind}: {name} -->"))
    assert not re.search("<!-- (result|interval|cut|cost|extent|after)", result_tables.with_figures(page))


@pytest.mark.parametrize(
    ("returns", "shown"), [([498.0, 502.0], "| 500.0 | 500 | yes |"), ([499.0], "| 499.0 | 500 | no |")]
)
def test_an_aim_is_reached_by_the_mean_of_all_agents(result_tables, tmp_path, monkeypatch, returns, shown):
    path = tmp_path / "returns.json"
    path.write_text(json.dumps({"CartPole-v1 with pqn": {"trained": {**TRAINED, "returns": returns}}}))
    monkeypatch.setattr(result_tables, "RETURNS", path)
    monkeypatch.setattr(result_tables, "AIMS", {"CartPole-v1 with pqn": 500})
    assert result_tables.aims().splitlines()[2:] == [f"| `CartPole-v1` | PPO | {len(returns)} | 199,680 {shown}"]


def test_each_aim_is_that_of_a_registered_id_and_has_a_row(result_tables):
    rows = result_tables.aims().splitlines()[2:]
    ids = [name.partition(" ")[0] for name in result_tables.AIMS]
    assert [row.split("`")[1] for row in rows] == [funcenv.spec(env_id).id for env_id in ids]


def test_a_run_with_images_or_another_algorithm_has_a_row_of_its_own(result_tables, tmp_path, monkeypatch):
    path = tmp_path / "returns.json"
    rows = {"arcade/Pong-v0 from pixels": {"returns": [18.5]}, "Pendulum-v1 with sac": {"algorithm": "sac"}}
    path.write_text(json.dumps({name: {"trained": TRAINED | changes} for name, changes in rows.items()}))
    monkeypatch.setattr(result_tables, "RETURNS", path)
    first, second = (line for line in result_tables.zoo("Arcade").splitlines() if "arcade/Pong-v0" in line)
    assert first.startswith("| `arcade/Pong-v0` | - | ")
    assert second.startswith("| `arcade/Pong-v0` from pixels | PPO | 1 | 199,680 | 18.5 | - | - | ")
    assert "| `Pendulum-v1` | SAC | 3 |" in result_tables.zoo("Classic control")


def test_the_default_algorithm_is_the_cheapest_of_the_best_that_were_measured(measure_returns):
    measured = {}
    for name, row in json.loads(measure_returns.FILE.read_text()).items():
        env_id, *other = name.split(" with ")
        if "trained" in row and "pixels" not in name:
            agents = row["trained"]
            cost = agents["cpu_seconds"] / len(agents["returns"])
            measured.setdefault(env_id, {})["".join(other) or "ppo"] = np.mean(agents["returns"]), cost
    compared = {env_id: by_name for env_id, by_name in measured.items() if len(by_name) > 1}
    assert len(compared) > 5
    for env_id, by_name in compared.items():
        best = max(reached for reached, _ in by_name.values())
        as_good = [name for name, (reached, _) in by_name.items() if reached >= best - abs(best) / 100]
        assert default_algorithm(env_id) == min(as_good, key=lambda name: by_name[name][1])


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


@pytest.mark.dear
def test_a_run_is_measured_merged_drawn_and_exported(measure_returns, result_tables, export_agents, file, tmp_path):
    config = dataclasses.replace(preset("CartPole-v1"), total_timesteps=8192, eval_every=4096, eval_episodes=4)
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
    evaluations = trained["evaluations"]
    assert evaluations["episodes"] == 4 and evaluations["steps"] == [4096, 8192]
    assert np.shape(evaluations["returns"]) == (2, 2)
    assert "with `total_timesteps=8192`" in result_tables.zoo_row(funcenv.spec("CartPole-v1"), rows["CartPole-v1"])
    with pytest.raises(ValueError, match="has the agents of this run"):
        measure_returns.main(["--add", "--runs", str(folder)])
    with pytest.raises(SystemExit):
        measure_returns.main(["--add"])
    assert json.loads(file.read_text()) == rows
    measure_returns.main(["--draw"])
    assert (tmp_path / "cartpole.png").stat().st_size > 10_000
    path = export_agents.export_agent(folder, tmp_path / "agents", num_episodes=4)
    results = json.loads(path.with_suffix(".json").read_text())["results"]
    assert path.name == "CartPole-v1.safetensors" and results["agent"][1:] == ", the best of 2"
    assert results["min_return"] <= results["mean_return"] <= results["max_return"]


def test_agents_of_more_seeds_join_those_of_a_row(measure_returns):
    row = {
        **TRAINED,
        **{"returns": [1.0], "deviations": [0.5], "solved_at": 100, "compile_seconds": 2.0, "cpu_seconds": 8.0},
        **{"curve_steps": [100, 200], "curve_returns": [[0.0], [1.0]], "curve_cpu_seconds": [4.0, 8.0]},
        "cut": {"max_steps": 10, "returns": [0.5], "deviations": [0.1]},
    }
    more = {
        **row,
        **{"returns": [3.0, 4.0], "deviations": [0.0, 0.25], "solved_at": 200, "cpu_seconds": 16.0},
        **{"curve_steps": [50, 250], "curve_returns": [[0.0, 4.0], [4.0, 4.0]], "curve_cpu_seconds": [2.0, 10.0]},
        "cut": {"max_steps": 10, "returns": [2.0, 3.0], "deviations": [0.2, 0.3]},
    }
    result = measure_returns.joined(row, more)
    assert result == {
        **row,
        **{"returns": [1.0, 3.0, 4.0], "deviations": [0.5, 0.0, 0.25], "solved_at": 200},
        **{"compile_seconds": 4.0, "cpu_seconds": 24.0},
        # The second run's first agent has 1 and 3 at the steps of the first run's curve.
        **{"curve_returns": [[0.0, 1.0, 4.0], [1.0, 3.0, 4.0]], "curve_cpu_seconds": [8.0, 16.0]},
        "cut": {"max_steps": 10, "returns": [0.5, 2.0, 3.0], "deviations": [0.1, 0.2, 0.3]},
    }
    assert measure_returns.joined(row, {**more, "solved_at": None})["solved_at"] is None
    equally_good = {**more, "returns": [1.0, 4.0]}  # as the agent of the row
    assert measure_returns.joined(row, equally_good)["returns"] == [1.0, 1.0, 4.0]
    with pytest.raises(ValueError, match="the row has the agents of this run; add a run with another --seed"):
        measure_returns.joined(result, more)
    with pytest.raises(ValueError, match="differs from the row in other_settings, planned_steps; measure it without"):
        measure_returns.joined(row, {**more, "other_settings": {"gamma": 0.9}, "planned_steps": 1})


def test_evaluations_of_joined_runs_are_kept_where_they_are_alike(measure_returns):
    curves = {"curve_steps": [100], "curve_returns": [[0.0]], "curve_cpu_seconds": [4.0]}
    row = {**TRAINED, **curves, "deviations": [0.5], "compile_seconds": 2.0}
    row["evaluations"] = {"episodes": 8, "steps": [50, 100], "returns": [[1.0], [2.0]]}
    more = {**row, "curve_returns": [[1.0]], "evaluations": {**row["evaluations"], "returns": [[3.0], [5.0]]}}
    joined = measure_returns.joined(row, more)["evaluations"]
    assert joined == {"episodes": 8, "steps": [50, 100], "returns": [[1.0, 3.0], [2.0, 5.0]]}
    for other in ({"steps": [60, 100]}, {"episodes": 4}):
        differing = {**more, "evaluations": {**more["evaluations"], **other}}
        assert "evaluations" not in measure_returns.joined(row, differing)


def test_a_run_of_other_settings_is_refused_before_it_is_measured(measure_returns, file, tmp_path, monkeypatch):
    config = dataclasses.replace(preset("CartPole-v1"), gamma=0.9)
    monkeypatch.setattr(measure_returns.run, "read_config", lambda folder: ("ppo", config, {}))
    monkeypatch.setattr(measure_returns, "measure_run", lambda folder: pytest.fail("measured"))
    row = {**TRAINED, "algorithm": "ppo", "other_settings": {}, "planned_steps": config.total_timesteps}
    before = json.dumps({"CartPole-v1": {"trained": {**row, "episodes": 100}}})
    file.write_text(before)
    with pytest.raises(ValueError, match="differs from the row in other_settings, episodes; measure it without --add"):
        measure_returns.main(["--add", "--runs", str(tmp_path)])
    assert file.read_text() == before


def test_a_page_quotes_evaluations_during_the_run(result_tables, tmp_path, monkeypatch):
    path = tmp_path / "returns.json"
    evaluations = {"episodes": 8, "steps": [50_016, 100_000], "returns": [[10.0, 15.0], [1000.0, 2000.0]]}
    path.write_text(json.dumps({"Ant-v5 with simba": {"trained": {**TRAINED, "evaluations": evaluations}}}))
    monkeypatch.setattr(result_tables, "RETURNS", path)
    text = "<!-- after 50000: Ant-v5 with simba --> and <!-- after 100000: Ant-v5 with simba -->"
    assert result_tables.with_figures(text) == "12.5 and 1,500"
    with pytest.raises(ValueError, match=r"not evaluated after 75,000 steps; docs/returns.json has \[50016, 100000\]"):
        result_tables.with_figures("<!-- after 75000: Ant-v5 with simba -->")


def test_the_results_of_a_benchmark_are_rows_of_the_zoo(measure_returns, file, tmp_path):
    folder = tmp_path / "suites"
    (folder / "results").mkdir(parents=True)
    plan = {"suite": "classic", "label": "sac", "num_episodes": 2, "runs": {"Pendulum-v1": {}}}
    (folder / "benchmark.json").write_text(json.dumps(plan))
    curve = {"curve_steps": [8], "curve_returns": [[-900.0]]}
    result = {"env_id": "Pendulum-v1", **TRAINED, "algorithm": "sac", **curve, "episode_returns": [[1.0, 2.0]]}
    (folder / "results" / "Pendulum-v1.json").write_text(json.dumps(result))
    measure_returns.main(["--benchmarks", str(folder)])
    assert json.loads(file.read_text())["Pendulum-v1 with sac"]["trained"] == {**TRAINED, "algorithm": "sac", **curve}


def test_the_examples_of_the_tool_run(measure_returns):
    result = doctest.testmod(measure_returns)
    assert result.attempted >= 2 and result.failed == 0
