"""The command line."""

import dataclasses
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from funcenv.cli import COMMANDS, EXIT_STATUSES, main
from funcenv.cli.evaluate import agent_line
from funcenv.registry import all_specs
from funcenv.train import ppo
from funcenv.train.presets import preset
from funcenv.train.runs.metrics import format_return

TINY = [
    "--num-envs",
    "4",
    "--num-steps",
    "16",
    "--total-timesteps",
    "128",
    "--hidden-sizes",
    "8",
    "--num-minibatches",
    "2",
    "--final-episodes",
    "0",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a short run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", "CartPole-v1", "--run-dir", str(folder), *TINY]) == 0
    return folder


@pytest.mark.dear
def test_train_leaves_a_run_where_it_is_told(trained, capsys):
    assert (trained / "metrics.csv").exists()


def test_train_names_its_run_below_runs(tmp_path, capsys):
    assert (
        main(["train", "Acrobot-v1", "--runs", str(tmp_path), "--total-timesteps", "8192", "--final-episodes=0"]) == 0
    )
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("Acrobot-v1-ppo-seed0-")
    assert f"funcenv evaluate {folder}" in capsys.readouterr().out


@pytest.fixture
def started(monkeypatch):
    """Return the configurations with which `funcenv train` starts, which then goes no further."""
    configs = []

    def start(config, *arguments, **options):
        configs.append(config)
        raise ValueError("this is enough; stop here")

    monkeypatch.setattr("funcenv.train.runs.run.start", start)
    return configs


@pytest.mark.parametrize(
    ("arguments", "algorithm"),
    [
        (["Ant-v5"], "simba"),
        (["--seed", "0", "Pendulum"], "sac"),
        (["Pendulum-v1", "--algo", "ppo"], "ppo"),
        (["Pendulum-v1", "--pixels", "42"], "ppo"),
        (["CartPole-v1"], "ppo"),
    ],
)
@pytest.mark.filterwarnings("ignore:Pendulum names no version")
def test_training_takes_the_best_algorithm_that_was_measured(arguments, algorithm, started):
    assert main(["train", *arguments]) == 1
    assert started == [preset(started[0].env_id, algorithm, from_pixels="--pixels" in arguments)]


@pytest.mark.parametrize(
    ("flags", "from_pixels"),
    [
        ([], False),
        (["--pixels", "0"], False),
        (["--pixels=42"], True),
        (["--pixels", "42", "--pixels=0"], False),  # the last one counts
    ],
)
def test_training_from_pixels_starts_from_a_preset_of_its_own(flags, from_pixels, started):
    assert main(["train", "arcade/Pong-v0", *flags]) == 1
    assert started == [preset("arcade/Pong-v0", from_pixels=from_pixels)]
    assert started[0].pixels == 42 * from_pixels


@pytest.mark.parametrize(
    ("words", "params"),
    [
        ([], {"continuous": False}),
        (["continuous", "True"], {"continuous": True}),
        (["fidelity", "fast", "engine_power", "4e7"], {"continuous": False, "fidelity": "fast", "engine_power": 4e7}),
    ],
)
def test_parameters_are_added_to_those_of_a_preset(words, params, started):
    assert main(["train", "CarRacing-v3", *(["--env-params"] if words else []), *words]) == 1
    assert started == [dataclasses.replace(preset("CarRacing-v3"), env_params=params)]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["CarRacing-v3"], ["(default: continuous False)", "--clip-epsilon", "--resume RUN", "--no-compile-cache"]),
        (
            ["HalfCheetah-v5", "--algo", "sac"],
            ["those of sac, with", "for HalfCheetah-v5.", "(default: 1000000)"],
        ),
    ],
)
def test_the_help_of_training_is_that_of_its_environment_and_algorithm(arguments, parts, capsys):
    text = help_of("train", *arguments, capsys=capsys)
    assert all(part in " ".join(text.split()) for part in parts), text


def test_the_last_line_of_training_is_its_outcome(trained, tmp_path, capsys):
    assert main(["train", "CartPole-v1", "--run-dir", str(tmp_path / "run"), *TINY, "--replay-episodes", "0"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "loading JAX and the packages for training"
    assert last.startswith("threshold not reached: mean return ") and "threshold 475; try the preset" in last


def test_training_ends_with_what_evaluate_and_compare_say_of_the_saved_agent(tmp_path, capsys):
    folder = str(tmp_path / "run")
    assert (
        main(["train", "CartPole-v1", "--run-dir", folder, *TINY, "--replay-episodes=0", "--final-episodes=100"]) == 0
    )
    outcome = capsys.readouterr().out.splitlines()[-1]
    greedy, exploring, episodes = re.fullmatch(
        r"not solved: greedy return (\S+) \(exploring (\S+)\) over (\d+) episodes, threshold 475; try the preset.*",
        outcome,
    ).groups()
    for flags, words in (([], f"greedy return {greedy} +-"), (["--explore"], f"exploring return {exploring} +-")):
        assert main(["evaluate", folder, "--num-episodes", episodes, *flags]) == 0
        assert words in capsys.readouterr().out
    assert main(["compare", folder]) == 0
    assert greedy in capsys.readouterr().out
    assert main(["evaluate", folder, "--num-episodes", "7"]) == 0
    text, clearly_better = capsys.readouterr().out, float(exploring) > 1.5 * float(greedy)
    assert clearly_better == (f"reach {exploring}: funcenv evaluate {folder} --explore" in text)


def test_training_says_its_outcome_alone_or_as_json(tmp_path, capsys):
    folder, file = str(tmp_path / "run"), tmp_path / "outcome.json"
    flags = ["--replay-episodes=0", "--quiet", "--json", str(file)]
    assert main(["train", "CartPole-v1", "--run-dir", folder, *TINY, *flags]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{folder}: threshold not reached: mean return ")
    outcome = json.loads(file.read_text())
    assert outcome["folder"] == folder and outcome["env_steps"] == 128 and outcome["finished"]
    assert (outcome["threshold"], outcome["solved"], outcome["final"]) == (475, None, None)
    assert main(["train", "--resume", folder, "--replay-episodes=0", "--final-episodes=0", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == outcome
    assert main(["train", "--json", "nowhere/x.json"]) == 1
    assert "--json: there is no folder nowhere" in capsys.readouterr().err


def test_an_episode_that_ends_in_both_ways_is_counted_once():
    agent = {"num_terminated": 70, "num_truncated": 31, "num_unfinished": 0, "returns": [0.0] * 100, "mean_length": 1.0}
    agent |= dict.fromkeys(("mean_return", "std_return", "min_return", "max_return"), 0.0)
    assert agent_line(agent, explore=False).endswith("100 episodes: 69 terminated, 30 truncated, 1 both")


def test_evaluate_reports_the_return(trained, capsys):
    assert main(["evaluate", str(trained), "--num-episodes", "3"]) == 0
    out = capsys.readouterr().out
    assert "CartPole-v1: greedy return" in out and "3 episodes" in out and "all" not in out


@pytest.mark.dear
def test_evaluate_reports_several_agents_together_and_as_json(tmp_path, capsys):
    folder = str(tmp_path / "run")
    assert main(["train", "--run-dir", folder, *TINY, "--num-seeds", "3", "--replay-episodes", "0"]) == 0
    capsys.readouterr()
    assert main(["evaluate", folder, "--num-episodes", "5", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    means = [np.mean(agent["returns"]) for agent in report["agents"]]
    assert len(means) == 3 and report["mean_return"] == pytest.approx(np.mean(means))
    assert report["std_between_agents"] == pytest.approx(np.std(means, ddof=1))
    assert (
        f"all 3 agents: return {format_return(np.mean(means))} +- " in err
        and "CartPole-v1 agent 2: greedy return" in err
    )
    assert main(["evaluate", folder, "--num-episodes", "5", "--json", str(tmp_path / "x.json")]) == 0
    assert json.loads((tmp_path / "x.json").read_text()) == report
    capsys.readouterr()
    assert main(["evaluate", folder, "--num-episodes", "5", "--max-steps", "3", "--quiet"]) == 0
    assert capsys.readouterr() == ("all 3 agents: return 3.00 +- 0.00 between agents (worst 3.00, best 3.00)\n", "")
    assert main(["evaluate", folder, "--json", "nowhere/x.json"]) == 1
    assert "--json: there is no folder nowhere" in capsys.readouterr().err


def test_evaluate_says_that_episodes_did_not_end(trained, capsys):
    assert main(["evaluate", str(trained), "--num-episodes", "3", "--max-steps", "4"]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 episodes did not end within 4 steps" in out and "3 unfinished" in out


@pytest.mark.dear
def test_a_run_on_a_class_is_evaluated_from_another_folder(tmp_path, monkeypatch, capsys):
    (tmp_path / "ship.py").write_text("from funcenv.envs import Pendulum\nclass Ship(Pendulum):\n    'A ship.'\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    flags = ["--max-episode-steps", "10", "--run-dir", "run", "--replay-episodes", "0"]
    command = [sys.executable, "-m", "funcenv"]
    run = partial(subprocess.run, capture_output=True, text=True)
    trained = run([*command, "train", "ship:Ship", *TINY, "--total-timesteps", "1.28e2", *flags])
    assert trained.returncode == 0 and "ship:Ship has no threshold" in trained.stdout, trained.stderr
    evaluate = [*command, "evaluate", "../run", "--num-episodes", "2"]
    evaluated = run(evaluate, cwd="elsewhere")
    assert evaluated.returncode == 0 and "ship:Ship: greedy return" in evaluated.stdout, evaluated.stderr
    (tmp_path / "ship.py").rename(tmp_path / "boat.py")
    gone = run(evaluate, cwd="elsewhere")
    assert gone.returncode == 1 and "the run needs the module ship, which was" in gone.stderr


def test_a_finished_run_gets_more_steps(trained, tmp_path, capsys):
    folder = str(shutil.copytree(trained, tmp_path / "run"))
    assert main(["train", "--resume", folder, "--total-timesteps", "1.92e2", "--replay-episodes", "0"]) == 0
    assert (tmp_path / "run" / "metrics.csv").read_text().splitlines()[-1].split(",")[2] == "192"
    assert main(["train", "--resume", folder, "--total-timesteps", "64"]) == 1
    assert "can only grow: it is 192, got 64" in capsys.readouterr().err


def help_of(*arguments, capsys):
    """Return what a command prints with --help."""
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--help"])
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_every_command_has_help_that_fits_the_terminal(command, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = help_of(command.name, capsys=capsys)
    assert text.startswith(f"usage: {command.usage} [--flags]") and "loading" not in text
    assert not [line for line in text.splitlines() if len(line) > columns and ":make_" not in line]
    assert "None" not in text and "|" not in text and "STR" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_shows_examples_and_how_numbers_are_written_where_there_are_any(command, capsys):
    text = help_of(command, capsys=capsys)
    assert f"\nexamples:\n  {'source <(' if command == 'completion' else ''}funcenv {command}" in text
    assert ("500k" in text.rpartition("\n\n")[2]) == any(
        f" {label}" in text for label in ("N ", "X ", "[N ...]", "N\n")
    )
    assert ("--no-compile-cache" in text) == (COMMANDS[command].keeps_programs and command != "compile")


def test_the_overview_lists_all_commands_and_exit_statuses(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS) and all(f"  {status} " in text for status in EXIT_STATUSES)
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_missing_for_training_is_named(trained, monkeypatch, capsys):
    find_spec = importlib.util.find_spec
    hidden = ("rich", "orbax")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in hidden else find_spec(name))
    for arguments in (["train"], ["evaluate", str(trained)], ["replay", str(trained)]):
        assert main(arguments) == 1
        assert f'{arguments[0]} needs orbax, rich: pip install "funcenv[train]"' in capsys.readouterr().err


def test_light_commands_import_no_package_for_training():
    code = """
import sys
from funcenv.cli import main
from funcenv.train.runs.metrics import format_return
main(["list"]); main(["check", "CartPole-v1"])
quickly = ["--seconds", "0.001", "--rounds", "1", "--no-breakdown", "--no-programs"]
main(["bench", "CartPole-v1", "--num-envs", "2", *quickly])
import funcenv.cli.play
print("imported", [name for name in ("flax", "optax", "orbax", "rich", "matplotlib") if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "imported []"


def test_resume_of_a_finished_run_says_where_it_is(trained, capsys):
    assert main(["train", "--resume", str(trained)]) == 0
    assert str(trained) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["dance"], 2, "there is no command 'dance'; the commands are train, sweep, benchmark, evaluate"),
        (["trian"], 2, "there is no command 'trian'; did you mean train?"),
        (["train", "--lr", "1e-3"], 2, "there is no flag --lr; did you mean --learning-rate?"),
        (["train", "--num_env", "8"], 2, "there is no flag --num_env; did you mean --num-envs?"),
        (["train", "--thread=8"], 2, "there is no flag --thread; did you mean --threads?"),
        (
            ["train", "Pendulum-v1", "--clip-epsilon", "0.1"],
            2,
            "no flag --clip-epsilon here: sac does not have it; write",
        ),
        (["train", "--buffer-size", "9"], 2, "ppo does not have it; write --algo dqn or "),
        (["train", "--algo", "poo"], 2, "there is no algorithm 'poo'; did you mean ppo?"),
        (["train", "--algo", "a3c"], 2, "'a3c'; ppo takes its place; there are alphazero, ars, bc, "),
        (["train", "--num-envs", "1.5"], 2, "'1.5' is not a whole number; write 1000, 1e3 or 1k"),
        (["train", "--num-minibatches", "3"], 2, "num_minibatches must divide num_envs * num_steps"),
        (["train", "CartPoel-v1"], 1, "did you mean CartPole-v1"),
        (["train", "--resume"], 2, "argument --resume: expected one argument"),
        (["train", "--resume", "no_such_run"], 1, "no_such_run is not a run"),
        (["check"], 2, "check needs ENV, an id"),
        (["check", "no_such_module:Env"], 1, "no_such_module"),
        (["evaluate"], 2, "evaluate needs RUN, the folder of a run: funcenv evaluate RUN"),
        (["evaluate", "no_such_run"], 1, "no_such_run is not a run"),
        (["list", "all"], 2, "unrecognized arguments: all; funcenv list --help"),
        (["check", "--seed", "x", "CartPole-v1"], 2, "'x' is not a whole number"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(arguments, status, message, capsys):
    assert main(arguments) == status
    assert message in capsys.readouterr().err


def test_warnings_take_one_line_and_name_files_of_users(tmp_path):
    (tmp_path / "my_env.py").write_text(
        "import warnings\nwarnings.warn('too windy')\nfrom funcenv.envs import CartPole\n"
    )
    command = [sys.executable, "-m", "funcenv", "check", "my_env:CartPole", "CartPole"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "warning: CartPole names no version; using the newest, CartPole-v1\n" in done.stderr
    assert f"warning: too windy ({tmp_path / 'my_env.py'}, line 2)\n" in done.stderr


def test_resuming_with_other_flags_is_refused(trained, capsys):
    assert main(["train", "--resume", str(trained), "--learning-rate", "0.5"]) == 1
    assert "learning_rate is 0.001 there, 0.5 here" in capsys.readouterr().err
    assert main(["train", "Pendulum-v1", "--resume", str(trained)]) == 1
    assert "env_id is 'CartPole-v1' there, 'Pendulum-v1' here" in capsys.readouterr().err


def test_every_hyper_parameter_has_a_flag_with_help(capsys):
    text = " ".join(help_of("train", capsys=capsys).split())
    for field in dataclasses.fields(ppo.Config)[1:]:
        assert f"--{field.name.replace('_', '-')}" in text
    assert "divides num_envs * num_steps" in text


def test_check_reports_what_is_wrong(tmp_path, monkeypatch, capsys):
    (tmp_path / "my_broken_env.py").write_text(
        "from funcenv.envs import Pendulum\n"
        "class Broken(Pendulum):\n"
        "    def observation(self, state, key):\n"
        "        return 100 * super().observation(state, key)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["check", "my_broken_env:Broken"]) == 1
    assert "observation" in capsys.readouterr().out
    assert main(["check", "--seed", "1", "Pendulum-v1"]) == 0


def test_the_list_in_json_has_every_id(capsys):
    assert main(["list", "--json"]) == 0
    entries = {entry["id"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(entries) == set(all_specs())
    assert entries["CartPole-v1"] == {"id": "CartPole-v1", "max_episode_steps": 500, "reward_threshold": 475.0}


def test_python_m_funcenv_is_the_same():
    out = subprocess.run([sys.executable, "-m", "funcenv", "list"], capture_output=True, text=True, check=True).stdout
    assert "Pendulum-v1" in out


@pytest.fixture
def boat(tmp_path, monkeypatch):
    """Write a module with an environment that is not registered, and return its folder."""
    (tmp_path / "boat.py").write_text("from funcenv.envs import Pendulum\nclass Boat(Pendulum):\n    'A boat.'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "boat", raising=False)
    yield tmp_path
    sys.modules.pop("boat", None)


def test_play_takes_a_class_and_its_parameters(boat, monkeypatch):
    played = []
    monkeypatch.setattr("funcenv.cli.play.play", lambda env, **options: played.append((env, options)))
    assert main(["play", "boat:Boat", "--env-params", "g", "1.6", "--seed", "3", "--wait"]) == 0
    ((env, options),) = played
    assert type(env.get_wrapper_attr("func_env").unwrapped).__name__ == "Boat"
    assert env.get_wrapper_attr("func_env").unwrapped.g == 1.6
    assert options["seed"] == 3 and options["wait_on_player"] is True


def test_play_reports_a_name_without_a_value(capsys):
    assert main(["play", "CartPole-v1", "--env-params", "gravity"]) == 2
    assert "takes names and values in turn, got gravity" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "train --help"])
def test_output_that_nobody_reads_is_no_error(command):
    code = f"import sys; from funcenv.cli import main; sys.exit(main({command.split()}))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read().decode()
    assert (process.returncode, errors) == (141, "")


def test_training_says_how_many_steps_fill_whole_batches(tmp_path, capsys):
    steps = [*TINY[:4], "--total-timesteps", "150", *TINY[6:], "--replay-episodes", "0"]
    assert main(["train", "CartPole-v1", "--run-dir", str(tmp_path / "run"), *steps]) == 0
    assert "training 128 of 150 steps, in whole batches of 64" in capsys.readouterr().out
