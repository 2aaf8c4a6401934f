"""Run folders, policies and specifications are data: no way in runs code that they name. The tables list the ways."""

import json
import os
import subprocess
import sys
import types
from collections.abc import Mapping

import numpy as np
import pytest
from rich.console import Console
from safetensors.numpy import save_file

import funcenv
from funcenv import adapters
from funcenv.cli import main
from funcenv.names import UntrustedCodeError
from funcenv.replay.html import build_html
from funcenv.signatures import is_signed, key_path, sign
from funcenv.train import ppo, run
from funcenv.train.reports.comparison import read_run
from funcenv.train.runs import exported
from funcenv.train.runs.folder import SIGNED_AS, extend_config, is_own, read_config
from funcenv.train.runs.progress import print_warnings

CANARY = """
import pathlib
(pathlib.Path(__file__).parent / "ran").touch()
from funcenv.envs import CartPole
class Env(CartPole): ...
def make(*arguments, **more): ...
"""

SHELL = {"command": "touch ran"}
WAYS = {
    "an environment of a module": {"env_id": "canary:Env"},
    "an environment by its id in a module": {"env_id": "canary:Env-v0"},
    "a function of Python": {"env_id": "os:system", "env_params": SHELL},
    "a builtin": {"env_id": "builtins:exec", "env_params": {"source": "open('ran', 'w')"}},
    "a relative module": {"env_id": ".canary:Env"},
    "a module within an id with a namespace": {"env_id": "gymnasium/canary:Env"},
    "control characters in the id": {"env_id": "\x1b]0;title\x07CartPole-v1"},
    "a path": {"env_id": "../canary:Env"},
    "a parameter that names code": {"env_id": "gymnasium/GymV26Environment-v0", "env_params": {"env_id": "canary:Env"}},
    "a parameter that is a list": {"env_params": {"gravity": ["canary"]}},
    "a parameter that is an object": {"env_params": {"gravity": {"__tuple__": ["canary"]}}},
    "a network": {"network": "canary:make"},
    "a network that is a module": {"network": "canary"},
    "a network of Python": {"network": "os:system"},
    "a network within the package": {"network": "funcenv.train.agents.networks:jax"},
    "a setting that does not exist": {"wrappers": ["canary:make"]},
    "settings of another kind": ["canary:make"],
    "an environment that is no text": {"env_id": ["canary:Env"]},
    "parameters that are no object": {"env_params": ["canary:Env"]},
}
FIELDS = {
    "an algorithm that is a module": {"algorithm": "canary"},
    "an algorithm of a module": {"algorithm": "canary:make"},
    "an algorithm of Python": {"algorithm": "os"},
    "an algorithm that is no text": {"algorithm": ["canary"]},
    "a generator": {"key": {"seed": 0, "impl": "canary:make"}},
    "control characters": {"algorithm": "ppo\x1b[2J"},
    "a forged signature": {"algorithm": "canary", "signature": "0" * 64},
    "a signature that is no text": {"algorithm": "canary", "signature": ["0"]},
}
READERS = {
    "evaluate": lambda path: main(["evaluate", path]),
    "compare": lambda path: main(["compare", path]),
    "report": lambda path: main(["report", path, "--no-open"]),
    "replay": lambda path: main(["replay", path, "--no-open"]),
    "export": lambda path: main(["export", path, "policy.mlir"]),
    "play": lambda path: main(["play", "--watch", path, "--terminal"]),
    "resume": lambda path: main(["train", "--resume", path]),
    "load_policy": funcenv.load_policy,
    "the best agent": lambda path: funcenv.load_policy(path, best=True),
    "run.load": run.load,
    "run.resume": run.resume,
    "read_run": read_run,
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return the current folder, whose module `canary` can be imported and leaves the file `ran`."""
    (tmp_path / "canary.py").write_text(CANARY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("canary", None)


@pytest.fixture
def write_run(here):
    """Return a function that writes the folder of a run that somebody else made."""

    def write(config=types.MappingProxyType({}), **fields):
        settings = {**ppo.Config().to_json(), **config} if isinstance(config, Mapping) else config
        contents = {
            "algorithm": "ppo", "config": settings, "key": {"seed": 0, "impl": "philox4x32"},
            "sources": {"canary": str(here / "canary.py")}, "versions": {"funcenv": "0.1.0"}, **fields,
        }  # fmt: skip
        (here / "run").mkdir(exist_ok=True)
        (here / "run" / "config.json").write_text(json.dumps(contents))
        (here / "run" / "canary.py").write_text(CANARY)
        return str(here / "run"), contents

    return write


def refused(read, path):
    """Return whether a reader refuses a file: it exits with an error, or raises one."""
    try:
        return read(path) != 0
    except (ValueError, TypeError):
        return True


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("way", [*WAYS, *FIELDS])
def test_no_reader_runs_the_code_of_a_run_that_somebody_else_made(write_run, here, way, reader):
    path, _ = write_run(WAYS[way]) if way in WAYS else write_run(**FIELDS[way])
    assert refused(READERS[reader], path)
    assert not list(here.rglob("ran")) and "canary" not in sys.modules


@pytest.mark.parametrize("way", [*WAYS, *(way for way in FIELDS if "generator" not in way and "sign" not in way)])
def test_a_policy_file_runs_no_code(here, way):
    config = WAYS.get(way, {})
    settings = {**ppo.Config().to_json(), **config} if isinstance(config, dict) else config
    agent, env = {"w": np.zeros(2, np.float32)}, funcenv.make("CartPole-v1")
    stored = types.SimpleNamespace(to_json=lambda: settings)
    algorithm = FIELDS.get(way, {}).get("algorithm", "ppo")
    exported.save_safetensors(here / "x.safetensors", agent, exported.policy_spec(algorithm, stored, env, agent))
    with pytest.raises(ValueError, match="x.safetensors|must be|is an object|has the form"):
        funcenv.load_policy(here / "x.safetensors")
    assert not (here / "ran").exists()


def test_a_changed_policy_file_is_refused(here):
    agent, env = {"w": np.arange(64, dtype=np.float32)}, funcenv.make("CartPole-v1")
    path = here / "x.safetensors"
    exported.save_safetensors(path, agent, exported.policy_spec("ppo", ppo.Config(), env, agent))
    whole = path.read_bytes()
    for bit in range(0, 64 * 32, 67):
        changed = bytearray(whole)
        changed[-1 - bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="another digest than it says"):
            funcenv.load_policy(path)
    save_file({"w": agent["w"]}, path, metadata={"spec": json.dumps({"format": exported.FORMAT})})
    with pytest.raises(ValueError, match="another digest than it says"):
        funcenv.load_policy(path)


SPECS = [
    {"id": "CartPole-v1", "entry_point": "os:system", "kwargs": SHELL},
    {"id": "X-v0", "entry_point": "canary:Env"},
    {"id": "canary:Env", "entry_point": "canary:Env"},
    {"id": "CartPole-v1", "entry_point": "canary:Env"},
    {"id": ["canary:Env"], "entry_point": "canary:Env"},
    {"id": "gymnasium/CartPole-v1", "entry_point": "funcenv.adapters.gymnasium.from_env:from_gymnasium",
     "kwargs": {"env": "canary:Env"}},
]  # fmt: skip
STATEFUL_SPECS = [
    {"vector_entry_point": "canary:make"},
    {"additional_wrappers": [{"name": "x", "entry_point": "canary:make"}]},
    {"additional_wrappers": [{"name": "x", "entry_point": "os:system"}]},
    {"additional_wrappers": [{"name": "x", "entry_point": "funcenv.adapters.wrappers:RecordVideo"}]},
]


@pytest.mark.parametrize("fields", [*SPECS, *STATEFUL_SPECS])
def test_a_specification_in_json_runs_no_code(here, fields):
    known = json.loads(funcenv.spec("CartPole-v1").to_json())
    for kind in (funcenv.EnvSpec, adapters.EnvSpec):
        with pytest.raises(ValueError, match="names code|is an object with the fields"):
            kind.from_json(json.dumps({**known, **fields})).make()
    assert not (here / "ran").exists()


def test_a_trusted_specification_imports_what_it_says(here, capsys):
    fields = {"id": "X-v0", "entry_point": "canary:Env"}
    env = funcenv.EnvSpec.from_json(json.dumps(fields), trust_code=True).make()
    assert type(env).__name__ == "Env" and "entry_point 'canary:Env'" in capsys.readouterr().err


def test_runs_of_ones_own_need_no_flag_and_changed_ones_do(write_run, here):
    path, contents = write_run({"env_id": "canary:Env"})
    del contents["sources"]
    own = sign(SIGNED_AS, contents)
    (here / "run" / "config.json").write_text(json.dumps(own))
    assert read_config(here / "run")[1].env_id == "canary:Env"
    for changed in ({**own, "algorithm": "canary"}, {**own, "config": {**own["config"], "env_id": "canary:Other"}}):
        (here / "run" / "config.json").write_text(json.dumps(changed))
        with pytest.raises(UntrustedCodeError, match="--trust-code"):
            read_config(here / "run")
    assert not is_signed("policy", own)


def test_a_run_of_ones_own_code_is_evaluated_and_exported_and_resumed_without_a_flag(here, capsys):
    network = {"network": "canary_networks:make", "hidden_sizes": (4,)}
    (here / "canary_networks.py").write_text("from funcenv.train.agents.networks import make_actor_critic as make")
    tiny = {"num_envs": 2, "num_steps": 8, "total_timesteps": 64, "num_minibatches": 1}
    config = ppo.Config(env_id="canary:Env", **tiny, **network)
    folder = run.start(config, here / "own", replay_episodes=0, console=Console(quiet=True)).folder
    assert main(["export", str(folder), "own.safetensors"]) == 0
    assert funcenv.load_policy(here / "own.safetensors") is not None
    longer = ppo.Config(env_id="canary:Env", **{**tiny, "total_timesteps": 128}, **network)
    assert run.resume(folder, config=longer, replay_episodes=0, console=Console(quiet=True)).finished
    assert run.load(folder)[0].config == longer and "importing" not in capsys.readouterr().err


def test_a_run_of_somebody_else_stays_theirs_when_it_is_extended(write_run, here):
    write_run()
    extend_config(here / "run", ppo.Config(total_timesteps=10**6))
    assert not is_own(here / "run")


def test_trust_says_what_it_imports(write_run, here, capsys):
    path, _ = write_run({"env_id": "canary:Env"})
    assert read_config(here / "run", trust_code=True)[1].make_env().unwrapped.gravity == pytest.approx(9.8)
    assert "importing and running env_id 'canary:Env'" in capsys.readouterr().err and (here / "ran").exists()


@pytest.mark.parametrize("place", ["run/hidden.py", "link.py", "run/../hidden.py", "hidden.py"])
def test_sources_are_no_files_of_the_run_no_links_and_no_relative_paths(write_run, here, place):
    for file in (here / "run", here):
        file.mkdir(exist_ok=True)
        (file / "hidden.py").write_text(CANARY)
    (here / "link.py").symlink_to(here / "hidden.py")
    file = place if place == "hidden.py" else f"{here}/{place}"
    _, contents = write_run({"env_id": "no_such_module:Env"}, sources={"no_such_module": file})
    (here / "run" / "config.json").write_text(json.dumps(sign(SIGNED_AS, contents)))
    with pytest.raises(ValueError, match="may not come from"):
        read_config(here / "run")


def test_the_key_is_private_and_nothing_is_signed_without_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert not is_signed("run", {"signature": "x"}) and not key_path().exists()
    signed = sign("run", {"a": (1, 2.5)})
    assert is_signed("run", json.loads(json.dumps(signed))) and sign("run", {"a": (1, 2.5)}) == signed
    assert key_path().stat().st_mode & 0o777 == 0o600 and [key_path()] == list(key_path().parent.iterdir())
    key_path().chmod(0o644)
    assert not is_signed("run", signed)
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null")
    assert sign("run", {"a": 1}) == {"a": 1}


@pytest.mark.parametrize("name", ["sys:exit", "os:system", "os:abort", "subprocess:run", "builtins:exec", "json:loads"])
def test_functions_of_python_are_refused_before_they_are_called(name, capsys):
    for build in (funcenv.make, adapters.make):
        with pytest.raises(TypeError, match="is not an environment: it is a .* of Python itself"):
            build(name)
    with pytest.raises(TypeError, match="is not a network"):
        ppo.Config(network=name).make_network(funcenv.make("CartPole-v1"))
    for command in ("check", "bench"):
        assert main([command, name]) == 1 and "of Python itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(:\n", ["SyntaxError", "line 1: def f(:"]),
        ("x = {}['gravity']\n", ["KeyError: 'gravity'", "line 1: x = {}['gravity']"]),
        ("raise SystemExit(3)\n", ["SystemExit: 3", "line 1"]),
        ("def Env(**more):\n    return {}['gravity']\n", ["KeyError: 'gravity'", "line 2: return {}['gravity']"]),
    ],
)
def test_a_mistake_in_a_users_module_gives_its_line(here, capsys, source, words):
    (here / "mistaken.py").write_text(source)
    for arguments in (["check"], ["bench"], ["play", "--terminal"], ["train", "--total-timesteps", "2000"]):
        sys.modules.pop("mistaken", None)
        assert main([arguments[0], "mistaken:Env", *arguments[1:]]) == 1
        message = capsys.readouterr().err.strip().splitlines()[-1]
        assert all(word in message for word in ["mistaken.py", *words]), message


def test_commands_import_nothing_from_the_current_folder(tmp_path):
    for name in ("jax", "numpy", "signal", "typing", "rich", "tyro", "matplotlib", "optax", "orbax"):
        (tmp_path / f"{name}.py").write_text(CANARY)
    command = [sys.executable, "-m", "funcenv", "compare", "no_such_run"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "no_such_run is not a run" in done.stderr and not (tmp_path / "ran").exists()


def test_pages_escape_titles_and_name_their_scripts_by_hash():
    page = build_html([], 30.0, "</title><script>alert(1)</script>")
    assert "<script>alert" not in page and "script-src 'sha256-" in page and "unsafe-inline" not in page


def test_terminals_get_no_escapes_and_no_markup(here, capsys):
    console = Console(file=(here / "out").open("w"), force_terminal=False, width=200)
    print_warnings(console, ["m[red]x[/bold] \x1b[2J\u202e is damaged"])
    console.file.close()
    assert (here / "out").read_text() == "warning: m[red]x[/bold] \\x1b[2J\\u202e is damaged\n"
    for command in ("evaluate", "compare", "report", "replay", "export", "train"):
        arguments = ["--resume", "m[red]\x1b[2Jx"] if command == "train" else ["m[red]\x1b[2Jx"]
        assert main([command, *arguments, *(["x.mlir"] if command == "export" else [])]) == 1
        message = capsys.readouterr()
        assert "\x1b" not in message.err + message.out and "m[red]\\x1b[2Jx" in message.err


def test_a_run_or_policy_of_another_version_warns(write_run, here):
    path, _ = write_run(versions={"funcenv": "0.0.1\x1b[2J"})
    with pytest.warns(UserWarning, match=r"funcenv 0\.0\.1.* wrote .*, and this is"):
        read_config(here / "run")
