"""Training on several devices and in several processes is that of one device: but for rounding, or bit for bit."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

from funcenv.train import (
    alphazero,
    ars,
    dqn,
    plr,
    ppo,
    pqn,
    q_learning,
    recurrent_ppo,
    reinforce,
    run,
    sac,
    simba,
    td3,
    tqc,
)
from funcenv.train.devices import CoordinatorError, connect
from funcenv.train.runs import checkpoint
from funcenv.train.runs.metrics import read_metrics
from tests.support.rotation import rotated
from tests.support.training import same_states

ON_POLICY = {"num_envs": 16, "num_steps": 8, "hidden_sizes": (8,), "total_timesteps": 128 * 6}
OFF_POLICY = {"num_envs": 16, "num_steps": 2, "buffer_size": 512, "minibatch_size": 8, "hidden_sizes": (64, 64)}
OFF_POLICY |= {"learning_starts": 64, "total_timesteps": 32 * 6}
CONFIGS = {
    "ppo": ppo.Config(**ON_POLICY, num_seeds=2, num_minibatches=2, normalize_observation=True),
    "q_learning": q_learning.Config(num_envs=16, num_steps=8, total_timesteps=128 * 6),
    "pqn": pqn.Config(**ON_POLICY | {"hidden_sizes": (64, 64)}, num_seeds=2, num_minibatches=2),
    "dqn": dqn.Config(**OFF_POLICY),
    "sac": sac.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "plr": plr.Config(**ON_POLICY, num_minibatches=2, level_buffer=32),
    "recurrent_ppo": recurrent_ppo.Config(**ON_POLICY, num_minibatches=2),
}
SHARING = CONFIGS | {
    "reinforce": reinforce.Config(**ON_POLICY),
    "ars": ars.Config(**ON_POLICY | {"num_steps": 40, "total_timesteps": 640 * 6}),  # in fewer, no pole falls
    "alphazero": alphazero.Config(**ON_POLICY, num_minibatches=2, num_simulations=4),
    "td3": td3.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "simba": simba.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "tqc": tqc.Config(**OFF_POLICY, env_id="Pendulum-v1"),
}
del SHARING["q_learning"]  # it has no gradients

EIGHT_DEVICES = "--xla_force_host_platform_device_count=8"

ON_DEVICES = """
import json, pathlib, sys
import jax, funcenv
from funcenv.random import impl_name
from funcenv.train.runs import checkpoint
from funcenv.train.algorithm import find_algorithm
from funcenv.train.loop import Learner
from tests.support.rotation import rotated
from tests.support.training import same_states

name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
config = find_algorithm(name).Config.from_json(json.loads(sys.argv[3]))
key, ends = funcenv.key(0), []

def is_sharded(learner, state):
    done = state.collector.vstate.done
    return done.sharding.shard_shape(done.shape)[1] * len(learner.mesh.devices) == done.shape[1]

for count in (1, 2, 8):
    learner = Learner(name, config, devices=jax.devices()[:count])
    half, metrics = learner.advance(learner.init(key), config.num_updates // 2)
    assert count == 1 or is_sharded(learner, half)
    if count == 2:
        checkpoint.save(folder, 1, half)
    if count == 8:  # eight devices go on with what two have saved
        half, _ = checkpoint.restore_latest(folder, learner.template(key), impl_name(key))
        assert is_sharded(learner, half)
    end, _ = learner.advance(half, config.num_updates)
    ends.append((end, learner.agents(end)))
    same_states(ends[-1], ends[0])
print("equal")
"""


def python(*arguments, **variables):
    """Return a started Python process whose output, errors included, is text; XLA optimizes as it does for users."""
    path = os.pathsep.join(part for part in sys.path if part)
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path, "FUNCENV_NO_FAST_PATH": "1", "XLA_FLAGS": ""} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.dear
@pytest.mark.parametrize("algorithm", rotated(CONFIGS, ("ppo",)))
def test_deterministic_reductions_give_the_same_bits_on_all_numbers_of_devices(algorithm, tmp_path):
    config = json.dumps(dataclasses.replace(CONFIGS[algorithm], deterministic_reductions=True).to_json())
    # The guide says that recurrent PPO is equal without fused multiply-adds only.
    flags = f"{EIGHT_DEVICES} --xla_cpu_max_isa=AVX" if algorithm == "recurrent_ppo" else EIGHT_DEVICES
    output, _ = python("-c", ON_DEVICES, algorithm, tmp_path, config, XLA_FLAGS=flags).communicate()
    assert output.endswith("equal\n"), output


SHARED_GRADIENTS = """
import json, sys
import jax
import numpy as np
import funcenv
from funcenv.accelerators.report import Program
from funcenv.train.algorithm import find_algorithm
from funcenv.train.loop import Learner

name = sys.argv[1]
config = find_algorithm(name).Config.from_json(json.loads(sys.argv[2]))

def agents(learner):
    state, _ = learner.advance(learner.init(funcenv.key(0)), config.num_updates)
    return learner.agents(state)

sharded = Learner(name, config)
collectives = Program(sharded.lower(sharded.init(funcenv.key(0))).compile()).collectives()
small = 4 * config.num_seeds * (3 * config.num_steps + 16)  # sums of what ended in each step, and moments
kinds = sorted({collective.kind for collective in collectives})
num_gradients = sum(collective.num_bytes > small for collective in collectives)
alone, *others = [agents(Learner(name, config, devices=jax.devices()[:count])) for count in (1, 2)] + [agents(sharded)]
for other in others:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), other, alone)
print(*kinds, num_gradients)
"""


@pytest.mark.dear
@pytest.mark.parametrize("algorithm", rotated(SHARING, ("ppo",)))
def test_only_gradients_and_statistics_cross_devices(algorithm):
    """The loops over steps and minibatches occur once in a program.

    SAC, TQC and TD3 have gradients of critics and actor, and SimBa those of two steps of its critics. PLR also gathers
    the levels of an update for its buffer, which every device holds.
    """
    config = json.dumps(SHARING[algorithm].to_json())
    output, _ = python("-c", SHARED_GRADIENTS, algorithm, config, XLA_FLAGS=EIGHT_DEVICES).communicate()
    two, three = "all-reduce 2", "all-reduce 3"
    expected = {"sac": two, "td3": two, "tqc": two, "simba": three, "plr": "all-gather all-reduce 1"}
    assert output.splitlines()[-1] == expected.get(algorithm, "all-reduce 1"), output


@pytest.mark.dear
@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_devices_that_do_not_divide_the_blocks_gather_what_they_collect(algorithm):
    config = json.dumps(dataclasses.replace(SHARING[algorithm], num_blocks=4).to_json())
    output, _ = python("-c", SHARED_GRADIENTS, algorithm, config, XLA_FLAGS=EIGHT_DEVICES).communicate()
    assert output.splitlines()[-1].startswith("all-gather all-reduce "), output


NO_SHARES = """
import jax
from jax.sharding import AxisType
from funcenv.train.devices import deterministic_reductions
from funcenv.train.shares import num_shares

with jax.set_mesh(jax.make_mesh((8,), ("env",), axis_types=(AxisType.Auto,))):
    print([num_shares(num_rows) for num_rows in (8, 32, 12)])
    with deterministic_reductions(True):
        print(num_shares(8))
"""


def test_a_minibatch_that_devices_do_not_divide_is_learned_by_each():
    output, _ = python("-c", NO_SHARES, XLA_FLAGS=EIGHT_DEVICES).communicate()
    assert output.endswith("[8, 8, 1]\n1\n"), output


def start_one(folder, *flags):
    """Return a process that trains, as the command line starts it."""
    settings = ["--num-envs=16", "--num-steps=8", "--num-minibatches=2", "--hidden-sizes=8", "--num-seeds=2"]
    command = [
        "-m",
        "funcenv",
        "train",
        "CartPole-v1",
        "--run-dir",
        folder,
        "--replay-episodes=0",
        "--final-episodes=0",
    ]
    return python(*command, *settings, *flags, FUNCENV_NO_FAST_PATH="0")


def free_address():
    """Return an address of this host at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def start_two(folder, *flags):
    """Return two processes that train together, at an address of this host."""
    together = ["--coordinator", free_address(), "--num-processes=2", *flags]
    return [start_one(folder, *together, f"--process-id={number}") for number in (0, 1)]


@pytest.mark.dear
def test_a_run_of_two_processes_is_that_of_one_and_goes_on_in_one(tmp_path, console):
    """The first process alone reports, and writes the files that are not parts of checkpoints."""
    flags = ["--total-timesteps=768", "--eval-every=384", "--eval-episodes=4", "--deterministic-reductions"]
    folders = tmp_path / "two", tmp_path / "one"
    processes = [*start_two(folders[0], *flags), start_one(folders[1], *flags)]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    assert "100%  768 of 768 steps per agent" in outputs[0] and "steps" not in outputs[1]
    repeatable = [
        [(row["mean_return"], row["loss"], row["eval_return"]) for row in read_metrics(folder / "metrics.csv")]
        for folder in folders
    ]
    assert repeatable[0] == repeatable[1] and len(repeatable[0]) == 2 * 6
    assert {path.name for path in folders[0].iterdir()} == {path.name for path in folders[1].iterdir()}
    config = dataclasses.replace(run.read_config(folders[0])[1], total_timesteps=1152)
    results = [run.resume(folder, config=config, replay_episodes=0, console=console) for folder in folders]
    same_states(results[0].state, results[1].state)


@pytest.mark.dear
def test_two_processes_share_the_gradients(tmp_path, console):
    folders = tmp_path / "two", tmp_path / "one"
    processes = [*start_two(folders[0], "--total-timesteps=768"), start_one(folders[1], "--total-timesteps=768")]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    two, one = (learner.agents(state) for learner, state in (run.load(folder, console) for folder in folders))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), two, one)


@pytest.mark.dear
def test_a_signal_to_one_process_stops_all_of_them_and_saves(tmp_path):
    first, other = start_two(tmp_path / "run", "--total-timesteps=1e9", "--checkpoint-seconds=1e9")
    try:
        wait_for_updates(first)
        other.terminate()
        outputs = [process.communicate(timeout=60)[0] for process in (first, other)]
    finally:
        first.kill()
        other.kill()
    assert [first.returncode, other.returncode] == [128 + signal.SIGTERM] * 2, outputs
    assert "stopped and saved; resume it with" in outputs[0]
    assert len(checkpoint.checkpoints(tmp_path / "run" / "checkpoints")) == 1


def wait_for_updates(first):
    """Return when the first process has reported the first update."""
    assert any("  128 of 1,000,000,000 steps" in line for line in first.stdout)


@pytest.mark.dear
def test_where_one_process_is_killed_the_others_stop(tmp_path):
    first, other = start_two(tmp_path / "run", "--total-timesteps=1e9", "--checkpoint-seconds=1e9")
    try:
        wait_for_updates(first)
        other.kill()
        output, _ = first.communicate(timeout=60)
    finally:
        first.kill()
        other.communicate()
    assert first.returncode == 1
    assert "process 0 of 2 stops, because another one has stopped; see what that one printed" in output


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("127.0.0.1:9", 2, 1, 0), CoordinatorError, "process 1 cannot reach process 0 at 127.0.0.1:9 within 0 s"),
        (("node1", 2, 1), ValueError, "coordinator must be HOST:PORT, got 'node1'; for example node1:12345"),
        (("node1:1", 2, 2), ValueError, "process_id must be at least 0 and below num_processes=2, got 2"),
        (("node1:1", 2), ValueError, "belong together, process_id is missing; give all of them, or none under SLURM"),
    ],
)
def test_processes_that_do_not_find_each_other_say_why(arguments, error, message):
    with pytest.raises(error, match=message):
        connect(*arguments)


CLUSTERS = {
    "slurm": {"SLURM_JOB_ID": "{job}", "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
    | {"SLURM_PROCID": "{rank}", "SLURM_LOCALID": "{rank}"},
    "open_mpi": {"OMPI_MCA_orte_hnp_uri": "{launcher}.0;tcp://127.0.0.1:34911", "OMPI_COMM_WORLD_SIZE": "2"}
    | {"OMPI_COMM_WORLD_RANK": "{rank}", "OMPI_COMM_WORLD_LOCAL_RANK": "{rank}"},
}
"""What `srun` and `mpirun` of Open MPI 4 tell each process by environment variables."""

FIND_OTHERS = """
import jax
from funcenv.train.devices import all_gather_scalars, connect
connect(timeout_seconds=60)
heard = all_gather_scalars(jax.process_index())
print("process", jax.process_index(), "of", jax.process_count(), "hears", heard.ravel().tolist())
"""


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_processes_that_a_cluster_starts_find_each_other(cluster):
    job = next(number for number in range(os.getpid() % 4096, 8192) if is_free(61440 + number % 4096)) % 4096
    numbers = {"job": job, "launcher": job * 4096}
    processes = [
        python(
            "-c", FIND_OTHERS, **{name: text.format(rank=rank, **numbers) for name, text in CLUSTERS[cluster].items()}
        )
        for rank in (0, 1)
    ]
    outputs = [process.communicate()[0] for process in processes]
    for rank, output in enumerate(outputs):
        assert f"process {rank} of 2 hears [0, 1]" in output, outputs


def test_processes_that_were_told_different_numbers_say_so():
    connect_one = "import sys; from funcenv.train.devices import connect; "
    connect_one += "connect(sys.argv[1], *map(int, sys.argv[2:]))"
    address = free_address()
    first, other = [python("-c", connect_one, address, number, i) for i, number in enumerate((2, 3))]
    output, _ = other.communicate()
    first.kill()
    first.communicate()
    assert "num_processes is 2 for process 0 and 3 for process 1; give all processes the same number" in output


def is_free(port):
    """Return whether nothing listens at a port of this host; JAX derives one from the number of a job."""
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) != 0


def test_a_process_that_does_not_come_is_missed(tmp_path):
    first, other = start_two(tmp_path / "run", "--connect-seconds=1")
    other.kill()
    output, _ = first.communicate(timeout=60)
    other.communicate()
    assert first.returncode == 1 and "the 2 processes of the run did not all come to 127.0.0.1:" in output


def test_environments_that_cannot_be_divided_are_refused():
    code = "import sys; from funcenv.train.loop import Learner; from funcenv.train import ppo; "
    code += "Learner(ppo, ppo.Config(num_envs=12))"
    output, _ = python("-c", code, XLA_FLAGS=EIGHT_DEVICES).communicate()
    assert "num_envs must be a multiple of the 8 devices in 1 processes, got 12; choose another number" in output
