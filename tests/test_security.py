"""Files are data: no run folder, policy or specification runs code that it names, unless its reader says so."""

import json
import subprocess
import sys

import pytest
from rich.console import Console

import funcenv
from funcenv import adapters
from funcenv.cli import main
from funcenv.names import UntrustedCodeError
from funcenv.registry import EnvSpec
from funcenv.train import ppo, run
from funcenv.train.runs import exported, trust
from funcenv.train.runs.folder import read_config
from funcenv.train.runs.policy import load_agents

CANARY = """
import pathlib
import funcenv.envs
pathlib.Path(__file__).with_name("it_ran").touch()
from funcenv.train.agents.networks import make_actor_critic
from funcenv.train.algorithms.ppo import *
class Env(funcenv.envs.CartPole): pass
"""
# What a hostile run may write into its configuration, by the fields that could name code.
WAYS = {
    "a built-in function as environment": {"env_id": "os:system", "env_params": {"command": "touch it_ran"}},
    "a class of a module": {"env_id": "canary:Env"},
    "an id of a module": {"env_id": "canary:CartPole-v1"},
    "an id of a module in a namespace": {"env_id": "gymnasium/canary:Env-v0"},
    "a module in a parameter of an id": {"env_id": "gymnasium/CartPole-v1", "env_params": {"id": "canary:Env-v0"}},
    "a network": {"network": "canary:make_actor_critic"},
    "a network in a package that is installed": {"network": "os:system"},
    "an algorithm by module": {"algorithm": "canary"},
    "an algorithm by attribute": {"algorithm": "canary:Algorithm"},
    "a module beside the files of the run": {"env_id": "beside:Env", "sources": {"beside": "beside.py"}},
    "a module above the run": {"env_id": "canary:Env", "sources": {"canary": "../canary.py"}},
    "a list as environment": {"env_id": ["canary:Env"]},
    "an object as parameter": {"env_params": {"gravity": {"canary": "Env"}}},
    "control characters in the id": {"env_id": "\x1b]0;title\x07CartPole-v1"},
    "control characters in the algorithm": {"algorithm": "ppo\x1b[2J"},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Train a tiny agent, and return the folder of its run."""
    folder = tmp_path_factory.mktemp("security") / "run"
    config = ppo.Config(num_envs=2, num_steps=8, total_timesteps=64, num_minibatches=1, hidden_sizes=(4,))
    run.start(config, folder, replay_episodes=0, console=Console(quiet=True))
    return folder


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """Put a module that leaves a trace into the current folder; return where the trace would be."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "canary.py").write_text(CANARY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "canary", raising=False)
    yield tmp_path / "it_ran"
    sys.modules.pop("canary", None)


def hostile(made, folder, changes):
    """Return a copy of a run, as somebody else could send it, with other names in its configuration."""
    folder.mkdir()
    for path in made.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "config.json").unlink()
    (folder / "beside.py").write_text(CANARY)
    written = json.loads((made / "config.json").read_text())
    if "sources" in changes:
        written["sources"] = {name: str(folder / path) for name, path in changes["sources"].items()}
    written["algorithm"] = changes.get("algorithm", written["algorithm"])
    written["config"] |= {name: value for name, value in changes.items() if name not in ("sources", "algorithm")}
    (folder / "config.json").write_text(json.dumps(written))
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_a_run_of_somebody_else_runs_no_code(way, made, canary, tmp_path, capsys):
    folder = hostile(made, tmp_path / "sent", WAYS[way])
    for read in (read_config, run.load, load_agents, funcenv.load_policy, run.resume):
        with pytest.raises(ValueError, match="names code that is not registered|cannot be understood"):
            read(folder)
    commands = [[name, str(folder)] for name in ("evaluate", "compare", "report", "replay")]
    commands += [["export", str(folder), "policy.safetensors"], ["play", "--watch", str(folder), "--terminal"]]
    for command in [*commands, ["train", "--resume", str(folder)]]:
        assert main(command) in (1, 2)
        assert "\x1b" not in capsys.readouterr().err
    assert not canary.exists() and not (folder / "it_ran").exists()


@pytest.mark.parametrize("way", [way for way in WAYS if "sources" not in WAYS[way]])
def test_a_policy_of_somebody_else_runs_no_code(way, made, canary, tmp_path):
    learner, agents = load_agents(made)
    agent = exported.named_leaves(agents)
    del agent
    policy = funcenv.load_policy(made)
    spec = exported.policy_spec("ppo", learner.config, learner.env, policy)
    spec["algorithm"] = WAYS[way].get("algorithm", "ppo")
    spec["config"] |= {name: value for name, value in WAYS[way].items() if name != "algorithm"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exported, "signed", lambda spec: spec)  # somebody else has another key
        exported.save_safetensors(tmp_path / "policy.safetensors", policy, spec)
    with pytest.raises(ValueError, match="names code that is not registered|control characters|must be"):
        funcenv.load_policy(tmp_path / "policy.safetensors")
    assert not canary.exists()


@pytest.mark.parametrize("kind", [EnvSpec, adapters.EnvSpec])
@pytest.mark.parametrize(
    "fields",
    [
        {"entry_point": "canary:Env"},
        {"id": "sent/New-v0", "entry_point": "os:system", "kwargs": {"command": "touch it_ran"}},
        {"id": "canary:Env", "entry_point": "canary:Env"},
        {"kwargs": {"gravity": "canary:Env"}},
    ],
)
def test_a_specification_of_somebody_else_runs_no_code(kind, fields, canary):
    written = json.loads(
        adapters.spec("CartPole-v1").to_json() if kind is adapters.EnvSpec else funcenv.spec("CartPole-v1").to_json()
    )
    with pytest.raises(UntrustedCodeError, match="names code that is not registered"):
        kind.from_json(json.dumps(written | fields))
    assert not canary.exists()


def test_a_wrapper_in_a_specification_is_code(canary):
    written = json.loads(adapters.spec("CartPole-v1").to_json())
    wrapper = {"name": "sent", "entry_point": "canary:Env", "kwargs": {}}
    with pytest.raises(UntrustedCodeError, match="additional_wrappers"):
        adapters.EnvSpec.from_json(json.dumps(written | {"additional_wrappers": [wrapper]}))


def test_what_is_trusted_runs_and_is_named(made, canary, tmp_path, capsys):
    folder = hostile(made, tmp_path / "sent", {"network": "canary:make_actor_critic"})
    assert funcenv.load_policy(folder, trust_code=True) is not None
    assert "importing what" in capsys.readouterr().err and canary.exists()
    with pytest.raises(UntrustedCodeError):  # trust ends with the call
        funcenv.load_policy(folder)


def test_ones_own_runs_need_no_flag(canary, tmp_path):
    config = ppo.Config(env_id="canary:Env", num_envs=2, num_steps=8, total_timesteps=64, num_minibatches=1)
    result = run.start(config, tmp_path / "own", replay_episodes=0, console=Console(quiet=True))
    assert run.load(result.folder)[0].config.env_id == "canary:Env"
    spec = exported.policy_spec("ppo", config, config.make_env(), funcenv.load_policy(result.folder))
    exported.save_safetensors(tmp_path / "own.safetensors", funcenv.load_policy(result.folder), spec)
    assert funcenv.load_policy(tmp_path / "own.safetensors") is not None


def test_a_changed_file_is_not_ones_own(made, canary):
    written = json.loads((made / "config.json").read_text())
    assert trust.is_own(written)
    assert not trust.is_own(written | {"algorithm": "canary"})
    assert not trust.is_own({name: value for name, value in written.items() if name != "signature"})


def test_the_key_is_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    first = trust.signed({"a": 1})
    assert trust.key_file().stat().st_mode & 0o777 == 0o600 and trust.is_own(first)
    assert [path.name for path in trust.key_file().parent.iterdir()] == [trust.key_file().name]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    assert not trust.is_own(first)


def test_a_key_that_cannot_be_made_leaves_runs_unsigned(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    assert trust.signed({"a": 1}) == {"a": 1}


@pytest.mark.parametrize("id", ["os:system", "sys:exit", "builtins:print"])
def test_builtin_functions_build_no_environment(id):
    with pytest.raises(TypeError, match="builds no environment; name a class or a function"):
        funcenv.make(id)


@pytest.mark.parametrize(
    ("text", "found"), [("1 +", "SyntaxError"), ("{}['x']", "KeyError"), ("raise SystemExit", "SystemExit")]
)
def test_a_module_with_a_mistake_is_named_with_its_line(text, found, tmp_path, monkeypatch):
    (tmp_path / "mistaken.py").write_text(f"import math\n{text}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=rf"the module mistaken cannot be imported: .*mistaken.py:2: {found}"):
        funcenv.make("mistaken:Env")


def test_a_command_runs_no_file_of_the_current_folder(tmp_path):
    for name in ("rich", "optax", "matplotlib"):
        (tmp_path / f"{name}.py").write_text("open('it_ran', 'w')")
    command = [sys.executable, "-m", "funcenv", "evaluate", "nowhere"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not (tmp_path / "it_ran").exists()
