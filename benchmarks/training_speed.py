"""CPU seconds of a million steps of training, against other trainers: `python benchmarks/training_speed.py`.

All trainers of a task have the same numbers of environments, gradient steps and minibatches, and networks of the same
widths, each with the environment that it brings. They take turns; compilation is apart. PureJaxRL is no package: name
the folder of a checkout with --purejaxrl.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("PJRT_NPROC", "1")  # one thread each, because CPU seconds are compared

from harness import HERE, ONE_CORE, PeerError, Worker, compare, parser, peer_python, write_json  # noqa: E402

NAMES = {
    "funcenv": "funcenv",
    "purejaxrl": "PureJaxRL",
    "rejax": "Rejax",
    "sbx": "SBX",
    "stable-baselines3": "stable-baselines3",
}
CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"

# 10 environments, and a minibatch of 128 in each of their steps.
_DQN_IN_PYTHON = {
    "num_envs": 10,
    "train_freq": 1,
    "gradient_steps": 1,
    "batch_size": 128,
    "buffer_size": 10_000,
    "learning_starts": 1_000,
    "policy_kwargs": {"net_arch": [120, 84]},
}
_REPLAY = {"num_envs": 8, "buffer_size": 50_000}
_REPLAY_IN_PYTHON = {
    **_REPLAY,
    "train_freq": 1,
    "gradient_steps": 4,
    "batch_size": 128,
    "learning_starts": 128,
    "policy_kwargs": {"net_arch": [128, 128]},
}
_REPLAY_OURS = {**_REPLAY, "num_gradient_steps": 4, "minibatch_size": 128, "learning_starts": 128, "n_step": 1}
_REPLAY_REJAX = {
    **_REPLAY,
    "num_epochs": 4,
    "batch_size": 128,
    "fill_buffer": 128,
    "learning_rate": 1e-3,
}
_PPO_IN_PYTHON = {"num_envs": 4, "n_steps": 128, "n_epochs": 4, "batch_size": 128}

TASKS: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "ppo": (
        CARTPOLE,
        {
            "funcenv": {"steps": 102_400, "settings": {"num_envs": 4, "num_steps": 128, "learning_rate": 2.5e-4}},
            "purejaxrl": {
                "steps": 102_400,
                "file": "ppo.py",
                "settings": {
                    "LR": 2.5e-4,
                    "NUM_ENVS": 4,
                    "NUM_STEPS": 128,
                    "UPDATE_EPOCHS": 4,
                    "NUM_MINIBATCHES": 4,
                    "GAMMA": 0.99,
                    "GAE_LAMBDA": 0.95,
                    "CLIP_EPS": 0.2,
                    "ENT_COEF": 0.01,
                    "VF_COEF": 0.5,
                    "MAX_GRAD_NORM": 0.5,
                    "ACTIVATION": "tanh",
                    "ANNEAL_LR": True,
                    "DEBUG": False,
                },
            },
            "rejax": {
                "steps": 102_400,
                "settings": {
                    "num_envs": 4,
                    "num_steps": 128,
                    "num_epochs": 4,
                    "num_minibatches": 4,
                    "max_grad_norm": 0.5,
                    "learning_rate": 2.5e-4,
                    "agent_kwargs": {"activation": "tanh"},
                },
                "widths": [64, 64],
            },
            "sbx": {"steps": 4_096, "algorithm": "PPO", "settings": _PPO_IN_PYTHON},
            "stable-baselines3": {"steps": 4_096, "algorithm": "PPO", "settings": _PPO_IN_PYTHON},
        },
    ),
    "dqn": (
        CARTPOLE,
        {
            "funcenv": {
                "steps": 50_000,
                "settings": {
                    "num_envs": 10,
                    "num_gradient_steps": 1,
                    "minibatch_size": 128,
                    "buffer_size": 10_000,
                    "n_step": 1,
                    "hidden_sizes": [120, 84],
                    "is_double": False,
                    "is_dueling": False,
                },
            },
            "purejaxrl": {
                "steps": 50_000,
                "file": "dqn.py",
                "settings": {
                    "NUM_ENVS": 10,
                    "BUFFER_SIZE": 10_000,
                    "BUFFER_BATCH_SIZE": 128,
                    "EPSILON_START": 1.0,
                    "EPSILON_FINISH": 0.05,
                    "EPSILON_ANNEAL_TIME": 40_000,
                    "TARGET_UPDATE_INTERVAL": 500,
                    "LR": 1e-3,
                    "LEARNING_STARTS": 1_000,
                    "TRAINING_INTERVAL": 10,
                    "GAMMA": 0.99,
                    "TAU": 1.0,
                },
            },
            "rejax": {
                "steps": 50_000,
                "settings": {
                    "num_envs": 10,
                    "batch_size": 128,
                    "buffer_size": 10_000,
                    "fill_buffer": 1_000,
                    "target_update_freq": 50,
                    "ddqn": False,
                    "learning_rate": 1e-3,
                    "agent": "QNetwork",
                    "agent_kwargs": {"activation": "relu"},
                },
                "widths": [120, 84],
            },
            "sbx": {"steps": 5_000, "algorithm": "DQN", "settings": _DQN_IN_PYTHON},
            "stable-baselines3": {"steps": 5_000, "algorithm": "DQN", "settings": _DQN_IN_PYTHON},
        },
    ),
    "pqn": (
        CARTPOLE,
        {
            "funcenv": {
                "steps": 50_000,
                "settings": {"num_envs": 32, "num_steps": 32, "num_epochs": 4, "num_minibatches": 8},
            },
            "rejax": {
                "steps": 49_152,
                "settings": {
                    "num_envs": 32,
                    "num_steps": 32,
                    "num_epochs": 4,
                    "num_minibatches": 8,
                    "max_grad_norm": 10,
                    "learning_rate": 5e-4,
                },
                "widths": [128, 128],
            },
        },
    ),
    "sac": (
        PENDULUM,
        {
            "funcenv": {"steps": 4_000, "settings": _REPLAY_OURS},
            "rejax": {
                "steps": 4_000,
                "settings": {**_REPLAY_REJAX, "agent_kwargs": {"activation": "relu"}},
                "widths": [128, 128],
            },
            "sbx": {"steps": 2_000, "algorithm": "SAC", "settings": _REPLAY_IN_PYTHON},
            "stable-baselines3": {"steps": 1_600, "algorithm": "SAC", "settings": _REPLAY_IN_PYTHON},
        },
    ),
    "td3": (
        PENDULUM,
        {
            "funcenv": {"steps": 4_000, "settings": _REPLAY_OURS},
            "rejax": {"steps": 4_000, "settings": _REPLAY_REJAX, "widths": [128, 128]},
            "sbx": {"steps": 2_000, "algorithm": "TD3", "settings": _REPLAY_IN_PYTHON},
            "stable-baselines3": {"steps": 1_600, "algorithm": "TD3", "settings": _REPLAY_IN_PYTHON},
        },
    ),
}
"""The environment of each algorithm, and the steps of a turn and the settings of each of its trainers."""

QUICK_TASKS = (("sac", PENDULUM), ("sac", "MountainCarContinuous-v0"), ("pqn", CARTPOLE), ("pqn", "Acrobot-v1"))
"""Presets that solve their task in seconds."""


def measure(algorithm: str, trainers: list[str], rounds: int, checkout: str | None) -> dict[str, Any]:
    """Let the trainers of a task take turns, and print a row for each."""
    env, options = TASKS[algorithm]
    workers, rows = [], {}
    for trainer in [name for name in options if name in trainers]:
        if trainer == "purejaxrl" and checkout is None:
            rows[trainer] = {"error": "not run: no checkout was named"}
            continue
        work = {"library": trainer, "env": env, "algorithm": algorithm, "checkout": checkout, **options[trainer]}
        try:
            if trainer == "funcenv":
                workers.append(funcenv_worker(work))
            else:
                python = peer_python(f"speed {trainer}")
                workers.append(Worker(trainer, "training_speed.py", work, python, {**ONE_CORE, "JAX_PLATFORMS": "cpu"}))
        except PeerError as error:
            rows[trainer] = {"error": str(error)}
    rows |= compare(workers, rounds)
    compile_cpu = {worker.name: worker.facts["prepare_cpu"] for worker in workers}
    for trainer, row in rows.items():
        if "error" in row:
            print(f"| {algorithm} | {env} | {NAMES[trainer]} | {row['error']} | | |", flush=True)
            continue
        row["seconds_per_million"], row["compile_cpu"] = 1e6 / row["steps_per_cpu_second"], compile_cpu[trainer]
        print(
            f"| {algorithm} | {env} | {NAMES[trainer]} | {row['seconds_per_million']:.1f} | "
            f"{row['ratio_of_first']:.2f} ({row['ratio_range'][0]:.2f} to {row['ratio_range'][1]:.2f}) | "
            f"{row['compile_cpu']:.1f} | {row['version']} |",
            flush=True,
        )
    return rows


def funcenv_worker(work: dict[str, Any]) -> Worker:
    """Return a worker that trains by this package."""
    path = os.pathsep.join(map(str, (HERE.parent, HERE)))
    return Worker("funcenv", "training_speed.py", work, environment={"PYTHONPATH": path})


def measure_presets(rounds: int) -> dict[str, Any]:
    """Train once by each of some presets, and print a row for each."""
    from funcenv.train.presets import PRESETS

    print("| algorithm | environment | steps | CPU-s after compiling | mean return at the end | compiling, CPU-s |")
    print("|---|---|---|---|---|---|")
    results = {}
    for algorithm, env in QUICK_TASKS:
        settings = dict(PRESETS[algorithm, env])
        work = {"library": "funcenv", "env": env, "algorithm": algorithm, "steps": settings.pop("total_timesteps")}
        worker = funcenv_worker({**work, "settings": settings})
        row = results[f"{algorithm} {env}"] = compare([worker], rounds)["funcenv"]
        seconds = worker.facts["steps"] / row["steps_per_cpu_second"]
        print(
            f"| {algorithm} | {env} | {work['steps']:,} | {seconds:.1f} | {row['result']:.1f} | "
            f"{worker.facts['prepare_cpu']:.1f} |",
            flush=True,
        )
    return results


def main() -> None:
    arguments = parser(__doc__, rounds=3)
    arguments.add_argument("--algorithms", nargs="+", choices=list(TASKS), default=list(TASKS))
    arguments.add_argument("--trainers", nargs="+", choices=list(NAMES), default=list(NAMES))
    arguments.add_argument("--purejaxrl", metavar="CHECKOUT", help="the folder of a checkout of PureJaxRL")
    arguments.add_argument("--presets", action="store_true", help="measure presets that take a few seconds instead")
    options = arguments.parse_args()
    if options.presets:
        write_json(options.json, measure_presets(options.rounds))
        return
    print(
        "| algorithm | environment | trainer | CPU-s for 1M steps | funcenv is faster by (range) | preparing, CPU-s | |"
    )
    print("|---|---|---|---|---|---|---|")
    results = {
        algorithm: measure(algorithm, options.trainers, options.rounds, options.purejaxrl)
        for algorithm in options.algorithms
    }
    write_json(options.json, results)


if __name__ == "__main__":
    main()
