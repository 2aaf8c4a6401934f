"""The command line."""

import dataclasses
import importlib.util
import json
import shutil
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from funcenv.cli import main
from funcenv.train.metrics import format_return
from funcenv.train.presets import preset

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
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a short run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", "CartPole-v1", "--run-dir", str(folder), *TINY]) == 0
    return folder


def test_train_leaves_a_run_where_it_is_told(trained, capsys):
    assert (trained / "metrics.csv").exists()


def test_train_names_its_run_below_runs(tmp_path, capsys):
    assert main(["train", "Pendulum-v1", "--runs", str(tmp_path), "--total-timesteps", "4096"]) == 0
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("Pendulum-v1-ppo-seed0-")
    assert f"funcenv evaluate {folder}" in capsys.readouterr().out


@pytest.fixture
def started(monkeypatch):
    """Return the configurations with which `funcenv train` starts, which then goes no further."""
    configs = []

    def start(config, *arguments, **options):
        configs.append(config)
        raise ValueError("this is enough; stop here")

    monkeypatch.setattr("funcenv.train.run.start", start)
    return configs


@pytest.mark.parametrize(("flags", "from_pixels"), [([], False), (["--pixels", "0"], False), (["--pixels=42"], True)])
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


def test_help_names_the_parameters_of_a_preset(capsys):
    with pytest.raises(SystemExit):
        main(["train", "CarRacing-v3", "--help"])
    assert "Its --env-params are continuous False." in " ".join(capsys.readouterr().out.split())


def test_the_last_line_of_training_is_its_outcome(trained, tmp_path, capsys):
    assert main(["train", "CartPole-v1", "--run-dir", str(tmp_path / "run"), *TINY, "--replay-episodes", "0"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "loading JAX and the packages for training"
    assert last.startswith("not solved: mean return ") and "threshold 475; try the preset" in last


def test_evaluate_reports_the_return(trained, capsys):
    assert main(["evaluate", str(trained), "--num-episodes", "3"]) == 0
    out = capsys.readouterr().out
    assert "CartPole-v1: return" in out and "3 episodes" in out and "all" not in out


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
    assert f"all 3 agents: return {format_return(np.mean(means))} +- " in err and "CartPole-v1 agent 2: return" in err
    assert main(["evaluate", folder, "--num-episodes", "5", "--json", str(tmp_path / "x.json")]) == 0
    assert json.loads((tmp_path / "x.json").read_text()) == report
    assert main(["evaluate", folder, "--json", "nowhere/x.json"]) == 1
    assert "--json: there is no folder nowhere" in capsys.readouterr().err


def test_evaluate_says_that_episodes_did_not_end(trained, capsys):
    assert main(["evaluate", str(trained), "--num-episodes", "3", "--max-steps", "4"]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 episodes did not end within 4 steps" in out and "3 unfinished" in out


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
    assert evaluated.returncode == 0 and "ship:Ship: return" in evaluated.stdout, evaluated.stderr
    (tmp_path / "ship.py").rename(tmp_path / "boat.py")
    gone = run(evaluate, cwd="elsewhere")
    assert gone.returncode == 1 and "the run needs the module ship, which was" in gone.stderr


def test_a_finished_run_gets_more_steps(trained, tmp_path, capsys):
    folder = str(shutil.copytree(trained, tmp_path / "run"))
    assert main(["train", "--resume", folder, "--total-timesteps", "1.92e2", "--replay-episodes", "0"]) == 0
    assert (tmp_path / "run" / "metrics.csv").read_text().splitlines()[-1].split(",")[2] == "192"
    assert main(["train", "--resume", folder, "--total-timesteps", "64"]) == 1
    assert "can only grow: it is 192, got 64" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["train", "evaluate", "compare", "report", "replay", "export", "play", "bench", "check", "list"]
)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert stopped.value.code == 0 and f"usage: funcenv {command}" in out and "loading" not in out


def test_what_is_missing_for_training_is_named(trained, monkeypatch, capsys):
    find_spec = importlib.util.find_spec
    hidden = ("tyro", "orbax")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in hidden else find_spec(name))
    for arguments in (["train"], ["evaluate", str(trained)], ["replay", str(trained)]):
        assert main(arguments) == 1
        assert f'{arguments[0]} needs orbax, tyro: pip install "funcenv[train]"' in capsys.readouterr().err


def test_light_commands_import_no_package_for_training():
    code = """
import sys
from funcenv.cli import main
from funcenv.train.metrics import format_return
main(["list"]); main(["check", "CartPole-v1"])
main(["bench", "CartPole-v1", "--num-envs", "2", "--seconds", "0.001", "--rounds", "1", "--no-breakdown"])
import funcenv.adapters.playing.command
print("imported", [name for name in ("flax", "optax", "orbax", "rich", "tyro", "matplotlib") if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "imported []"


def test_resume_of_a_finished_run_says_where_it_is(trained, capsys):
    assert main(["train", "--resume", str(trained)]) == 0
    assert str(trained) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["dance"], 2, "there is no command 'dance'; the commands are train, evaluate"),
        (["train", "CartPoel-v1"], 1, "did you mean CartPole-v1"),
        (["train", "--resume"], 2, "--resume needs the folder of a run"),
        (["train", "--resume", "no_such_run"], 1, "no_such_run is not a run"),
        (["check"], 2, "the following arguments are required: ENV"),
        (["check", "no_such_module:Env"], 1, "no_such_module"),
        (["evaluate"], 2, "evaluate needs the folder of a run"),
        (["evaluate", "no_such_run"], 1, "no_such_run is not a run"),
        (["list", "all"], 2, "unrecognized arguments: all; funcenv list --help"),
        (["check", "--seed", "x", "CartPole-v1"], 2, "invalid int value: 'x'"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(arguments, status, message, capsys):
    assert main(arguments) == status
    assert message in capsys.readouterr().err


def test_an_invalid_setting_is_reported_without_a_traceback(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["train", "CartPole-v1", "--num-minibatches", "3"])
    assert stopped.value.code == 2
    assert "num_minibatches must divide num_envs * num_steps" in " ".join(capsys.readouterr().err.split())


def test_resuming_with_other_flags_is_refused(trained, capsys):
    assert main(["train", "--resume", str(trained), "--learning-rate", "0.5"]) == 1
    assert "learning_rate is 0.001 there, 0.5 here" in capsys.readouterr().err
    assert main(["train", "Pendulum-v1", "--resume", str(trained)]) == 1
    assert "env_id is 'CartPole-v1' there, 'Pendulum-v1' here" in capsys.readouterr().err


def test_every_hyper_parameter_has_a_flag_with_help(capsys):
    import dataclasses

    from funcenv.train.ppo import Config

    with pytest.raises(SystemExit):
        main(["train", "--help"])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for field in dataclasses.fields(Config):
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


def test_without_arguments_the_commands_are_shown(capsys):
    assert main([]) == 0
    assert "funcenv train" in capsys.readouterr().out


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
    monkeypatch.setattr("funcenv.adapters.playing.command.play", lambda env, **options: played.append((env, options)))
    assert main(["play", "boat:Boat", "--env-params", "g", "1.6", "--seed", "3", "--wait"]) == 0
    ((env, options),) = played
    assert type(env.get_wrapper_attr("func_env").unwrapped).__name__ == "Boat"
    assert env.get_wrapper_attr("func_env").unwrapped.g == 1.6
    assert options["seed"] == 3 and options["wait_on_player"] is True


def test_play_reports_a_name_without_a_value(capsys):
    assert main(["play", "CartPole-v1", "--env-params", "gravity"]) == 1
    assert "takes names and values in turn, got gravity" in capsys.readouterr().err


def test_training_without_tyro_names_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tyro", None)
    assert main(["train", "CartPole-v1"]) == 1
    assert 'pip install "funcenv[train]"' in capsys.readouterr().err


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
