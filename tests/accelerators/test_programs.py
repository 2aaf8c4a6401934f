"""Programs of environments, algorithms and policies compile for accelerators, by their own compilers, without them."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.accelerators import compile_env, compile_policy, compile_update, describe, load, mesh_of, save
from funcenv.accelerators.programs import ENV_PROGRAMS, compile_for
from funcenv.accelerators.report import Program
from funcenv.cli.compile import run as compile_command
from funcenv.cli.table import UsageError
from funcenv.names import UntrustedCodeError
from funcenv.sharding import target_platform
from funcenv.train import alphazero, ars, dqn, ppo, pqn, q_learning, recurrent_ppo, reinforce, sac, simba, td3, tqc
from funcenv.train.loop import Learner
from tests.support.rotation import rotated

TOPOLOGIES = ("v5e:1x1", "v5e:4x4")
CHEAP = ("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1", "Pendulum-v1", "FrozenLake-v1")
CHEAP += (
    "CliffWalking-v1",
    "Taxi-v4",
    "Blackjack-v1",
    "arcade/Breakout-v0",
    "arcade/Pong-v0",
    "MultiAgent/CoinGame-v0",
    "BitFlip-v0",  # new episodes of which are computed in a loop
)
CHEAP += tuple(f"MinAtar/{name}-v1" for name in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"))
RIGID = ("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3", "InvertedPendulum-v5")
SIZES = {"num_envs": 32, "hidden_sizes": (8,), "total_timesteps": 32 * 64}
ON_POLICY = SIZES | {"num_steps": 8}
OFF_POLICY = SIZES | {"num_steps": 1, "minibatch_size": 32, "buffer_size": 32 * 16, "learning_starts": 32 * 8}
CONFIGS = {
    "alphazero": alphazero.Config(**ON_POLICY, num_minibatches=2, num_simulations=4),
    "ars": ars.Config(**ON_POLICY),
    "ppo": ppo.Config(**ON_POLICY, num_minibatches=2),
    "pqn": pqn.Config(**ON_POLICY, num_minibatches=2),
    "recurrent_ppo": recurrent_ppo.Config(**ON_POLICY, num_minibatches=2),
    "reinforce": reinforce.Config(**ON_POLICY),
    "q_learning": q_learning.Config(num_envs=32, num_steps=8, total_timesteps=32 * 64),
    "dqn": dqn.Config(**OFF_POLICY),
    "sac": sac.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "simba": simba.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "td3": td3.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "tqc": tqc.Config(**OFF_POLICY, env_id="Pendulum-v1"),
}


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("program", ENV_PROGRAMS)
@pytest.mark.parametrize("env_id", rotated(CHEAP, ("CartPole-v1", "BitFlip-v0")))
def test_an_environment_compiles_for_tpus_without_collectives_in_its_steps(env_id, program, topology):
    compiled = compile_env(funcenv.make(env_id), 64, describe(topology), program, num_steps=16)
    read = Program(compiled)
    inside = read.computations_of(read.main_loop().body) if program == "rollout" else read.computations
    assert not [one for one in read.collectives() if one.computation in inside]


@pytest.mark.dear
@pytest.mark.parametrize("env_id", RIGID)
def test_rigid_bodies_compile_for_a_tpu(env_id):
    compiled = compile_env(funcenv.make(env_id), 16, describe("v5e:1x1"), "step")
    assert compiled.memory_analysis().argument_size_in_bytes > 0


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("algorithm", rotated(CONFIGS, ("ppo",)))
def test_an_update_compiles_for_tpus_and_moves_no_experience(algorithm, topology):
    config = CONFIGS[algorithm]
    collectives = Program(compile_update(algorithm, config, describe(topology))).collectives()
    assert {one.kind for one in collectives} == ({"all-reduce"} if topology == "v5e:4x4" else set())


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_policy_compiles_for_tpus(topology):
    learner = Learner("ppo", CONFIGS["ppo"])
    agent = learner.agent(learner.init(funcenv.key(0)))
    compiled = compile_policy(agent, learner.env, 64, describe(topology))
    assert not Program(compiled).collectives()


def test_no_chip_waits_for_the_loop_of_another_ones_policy():
    def search(observation, key):
        """Loop as often as the observation says, from a constant."""
        total = jax.lax.while_loop(lambda total: total < 1, lambda total: total + jnp.abs(observation[1]) + 0.1, 0.0)
        return (total > 1.2).astype(jnp.int32)

    mesh, venv = mesh_of(describe("v5e:4x4")), funcenv.FuncVectorEnv(funcenv.make("CartPole-v1"), 64)
    keys = jax.eval_shape(lambda: jax.random.split(funcenv.key(0), 64))
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("env"))

        def play(keys):
            vstate, _ = venv.reset(keys)
            return funcenv.rollout(venv, search, funcenv.key(1), 8, collect=None, vstate=vstate)[2]

        read = Program(compile_for(mesh, play, keys.update(sharding=sharding)))
    inside = read.computations_of(read.main_loop().body)
    assert read.loops(read.main_loop().body)
    assert not [one for one in read.collectives() if one.computation in inside]


def test_chips_play_several_steps_before_they_ask_whether_all_episodes_are_over():
    env, mesh = funcenv.make("CartPole-v1"), mesh_of(describe("v5e:4x4"))
    key = jax.eval_shape(lambda: funcenv.key(0))
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

        def play(key):
            return funcenv.evaluate(env, funcenv.random_policy(env), 64, key, max_steps=500)

        read = Program(compile_for(mesh, play, key.update(sharding=sharding)))
    asked = read.main_loop()
    assert [one.computation in read.computations_of(asked.body) for one in read.collectives()] == [False]
    assert read.loops(asked.body)


@pytest.mark.dear
def test_the_bytes_of_collectives_do_not_depend_on_the_number_of_chips():
    config = ppo.Config(num_envs=512, num_steps=4, num_minibatches=2, num_blocks=256, total_timesteps=4096)
    programs = [Program(compile_update(ppo, config, describe(name))) for name in ("v5e:4x4", "v5e:16x16")]
    few, many = (sorted(one.num_bytes for one in program.collectives()) for program in programs)
    assert sum(few) == sum(many) > 0


@pytest.mark.fast_path
def test_a_program_for_a_tpu_holds_nothing_that_was_chosen_for_the_cpu():
    mesh = mesh_of(describe("v5e:1x1"))
    assert target_platform() == "cpu"
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        assert target_platform() == "tpu"
    text = compile_env(funcenv.make("CartPole-v1"), 64, describe("v5e:1x1"), "rollout").as_text()
    assert "xla_cpu" not in text


def test_what_no_accelerator_runs_says_what_to_do():
    devices = describe("v5e:1x1")
    with pytest.raises(ValueError, match='calls a simulator on the host.*choose backend="mjx" for MuJoCo, a native'):
        compile_env(funcenv.make("InvertedPendulum-v5", backend="c"), 8, devices, "step")
    with jax.enable_x64(True), pytest.raises(ValueError, match="with 32 bits, got jax_enable_x64=True"):
        compile_env(funcenv.make("CartPole-v1"), 8, devices, "step")
    with pytest.raises(ValueError, match="program must be one of reset, step, rollout, got 'play'"):
        compile_env(funcenv.make("CartPole-v1"), 8, devices, "play")


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    monkeypatch.setitem(sys.modules, "libtpu", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "funcenv\[accelerators\]"'):
        describe("v5e:1x1")
    with pytest.raises(ModuleNotFoundError, match=r'but no GPU: pip install "jax\[cuda12\]"'):
        describe("h200")


@pytest.mark.parametrize("topology", ["", "v5e", "4x4", "a100", "h200:", "v5e:4x4x"])
def test_other_names_are_refused(topology):
    with pytest.raises(ValueError, match="a topology is a TPU such as"):
        describe(topology)


def test_a_saved_program_runs_where_its_devices_are(tmp_path):
    env = funcenv.make("CartPole-v1")
    compiled = compile_env(env, 8, tuple(jax.devices()[:1]), "reset")
    save(tmp_path / "reset.program", compiled)
    keys = jax.random.split(funcenv.key(0), 8)
    _, timestep = load(tmp_path / "reset.program")(keys)
    np.testing.assert_array_equal(timestep.observation, funcenv.FuncVectorEnv(env, 8).reset(keys)[1].observation)


def test_a_program_of_others_is_not_loaded_without_trust(tmp_path, monkeypatch):
    save(tmp_path / "step.program", compile_env(funcenv.make("CartPole-v1"), 8, describe("v5e:1x1"), "step"))
    with pytest.raises(ValueError, match="cannot be loaded for 1 devices of kind 'cpu'.*load it on the devices"):
        load(tmp_path / "step.program")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(UntrustedCodeError, match="give trust_code=True if you trust"):
        load(tmp_path / "step.program")
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(tmp_path / "step.program", trust_code=True)


def test_the_command_line_writes_programs_for_described_devices(tmp_path, capsys):
    arguments = ["CartPole-v1", "--topology", "v5e:4x4", "--num-envs", "32", "--output", str(tmp_path / "programs")]
    assert compile_command(arguments) == 0
    assert sorted(path.name for path in (tmp_path / "programs").iterdir()) == [
        f"{one}.program" for one in ("reset", "rollout", "step")
    ]
    assert "on each of 16 x TPU v5 lite" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topology", "v5e:4x4", "--num-envs", "30"], "num_envs must be a multiple of the 16 devices, got 30"),
        (["--output", "programs"], "--output is for programs of accelerators, got programs alone"),
    ],
)
def test_what_the_command_line_cannot_compile_is_refused(arguments, message):
    with pytest.raises((ValueError, UsageError), match=message):
        compile_command(["CartPole-v1", *arguments])
