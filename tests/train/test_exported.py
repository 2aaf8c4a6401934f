"""Policies leave their runs as parameters and as programs, and come back without pickle."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from rich.console import Console
from safetensors.numpy import load_file, save_file

import funcenv
from funcenv.cli import main
from funcenv.train import ppo, run
from funcenv.train.runs.exported import export_program, named_leaves

CONFIG = ppo.Config(
    num_envs=2, num_steps=8, num_minibatches=1, total_timesteps=64, hidden_sizes=(8,), num_seeds=2,
    normalize_observation=True,
)  # fmt: skip
OBSERVATIONS = jnp.array([[0.1, 0.2, 0.3, 0.4], [0.0, -1.0, 0.02, -0.3], [0.5, 0.1, -0.1, 0.2]])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a short run of two agents."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return run.start(CONFIG, folder, replay_episodes=0, console=Console(quiet=True)).folder


def test_parameters_come_back_as_the_same_policy(trained, tmp_path, capsys):
    path = tmp_path / "policy.safetensors"
    assert main(["export", str(trained), str(path), "--agent", "1"]) == 0
    assert "exported agent 1, its parameters, to" in " ".join(capsys.readouterr().out.split())
    ours, theirs = funcenv.load_policy(path), funcenv.load_policy(trained, agent=1)
    assert type(ours) is type(theirs) is ppo.Agent
    jax.tree.map(np.testing.assert_array_equal, named_leaves(ours), named_leaves(theirs))
    for observation in OBSERVATIONS:
        np.testing.assert_array_equal(
            ours.policy(ours.features(observation)).logits, theirs.policy(theirs.features(observation)).logits
        )
    explorer = funcenv.load_policy(path, explore=True)
    assert explorer.explore and not ours.explore


def test_the_specification_says_what_the_file_holds(trained, tmp_path):
    path = tmp_path / "policy.safetensors"
    assert main(["export", str(trained), str(path)]) == 0
    spec, parameters = json.loads((tmp_path / "policy.json").read_text()), load_file(path)
    assert spec["format"] == "funcenv policy 2" and spec["algorithm"] == "ppo"
    assert spec["action_space"] == "Discrete(2)" and spec["observation_space"].startswith("Box(")
    assert ppo.Config.from_json(spec["config"]) == CONFIG
    assert {name: (list(one.shape), str(one.dtype)) for name, one in parameters.items()} == {
        name: (one["shape"], one["dtype"]) for name, one in spec["parameters"].items()
    }
    assert any(name.startswith("params.params.policy.") for name in parameters)


def test_a_program_is_stablehlo_with_an_open_batch(trained, tmp_path):
    path = tmp_path / "policy.mlir"
    assert main(["export", str(trained), str(path)]) == 0 and (tmp_path / "policy.json").exists()
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        text = str(stablehlo.deserialize_portable_artifact(context, path.read_bytes()))
    assert "stablehlo.dot_general" in text and "tensor<?x4xf32>" in text
    agent, env = funcenv.load_policy(trained), funcenv.make("CartPole-v1")
    expected = [int(agent(observation, funcenv.key(0))) for observation in OBSERVATIONS]
    assert export_program(agent, env).call(OBSERVATIONS).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{run}", "policy.onnx"], "exported as .safetensors for its parameters or .mlir for a program in StableHLO"),
        (["{run}", "nowhere/policy.mlir"], "the folder nowhere does not exist"),
        (["{run}", "policy.mlir", "--agent", "2"], "there is no agent 2"),
        (["{run}"], "export needs FILE, a name that ends with .safetensors or .mlir: funcenv export RUN FILE"),
        (["no_such_run", "policy.mlir"], "no_such_run is not a run"),
    ],
)
def test_mistakes_are_reported(trained, tmp_path, monkeypatch, arguments, message, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", *(argument.format(run=trained) for argument in arguments)]) in (1, 2)
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_files_that_are_no_policy_are_named(trained, tmp_path):
    path = tmp_path / "policy.safetensors"
    save_file({"x": np.zeros(2, np.float32)}, path)
    with pytest.raises(ValueError, match="holds no policy in the format"):
        funcenv.load_policy(path)
    path.write_bytes(b"\\x80\\x04pickle")
    with pytest.raises(ValueError, match="cannot be read: .*; export the policy again"):
        funcenv.load_policy(path)
    assert main(["export", str(trained), str(path)]) == 0
    with pytest.raises(ValueError, match="holds one agent; leave agent and best out"):
        funcenv.load_policy(path, agent=1)
    spec = json.loads((tmp_path / "policy.json").read_text())
    parameters = load_file(path)
    name = next(name for name in parameters if name.endswith("kernel"))
    save_file({**parameters, name: parameters[name][:1]}, path, metadata={"spec": json.dumps(spec)})
    with pytest.raises(ValueError, match="is damaged: it has another digest"):
        funcenv.load_policy(path)


def test_without_safetensors_its_extra_is_named(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("funcenv.train.runs.exported.importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("funcenv.cli.table.require_train_packages", lambda *arguments: None)
    assert main(["export", str(trained), str(tmp_path / "policy.safetensors")]) == 1
    assert 'pip install "funcenv[export]"' in capsys.readouterr().err


def test_a_number_that_was_changed_is_noticed(trained, tmp_path):
    path = tmp_path / "policy.safetensors"
    assert main(["export", str(trained), str(path)]) == 0
    written = bytearray(path.read_bytes())
    written[-1] ^= 1
    path.write_bytes(written)
    with pytest.raises(ValueError, match="is damaged: it has another digest than it says"):
        funcenv.load_policy(path)
