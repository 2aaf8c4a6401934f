"""The rows of training: settings with which several libraries do the same work, and presets.

All trainers of a row have the same numbers of environments, gradient steps and minibatches, and networks of the same
widths, each with the environment that it brings. PureJaxRL is no package: `--set checkout=FOLDER` names a checkout.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from programs import Plan, Program, Row

CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"
# 10 environments, and a minibatch of 128 in each of their steps.
_DQN = {"num_envs": 10, "buffer_size": 10_000}
_DQN_IN_PYTHON = _DQN | {"train_freq": 1, "gradient_steps": 1, "batch_size": 128, "learning_starts": 1_000}
_DQN_IN_PYTHON |= {"policy_kwargs": {"net_arch": [120, 84]}}
_REPLAY = {"num_envs": 8, "buffer_size": 50_000}
_REPLAY_IN_PYTHON = _REPLAY | {"train_freq": 1, "gradient_steps": 4, "batch_size": 128, "learning_starts": 128}
_REPLAY_IN_PYTHON |= {"policy_kwargs": {"net_arch": [128, 128]}}
_REPLAY_OURS = _REPLAY | {"num_gradient_steps": 4, "minibatch_size": 128, "learning_starts": 128, "n_step": 1}
_REPLAY_REJAX = _REPLAY | {"num_epochs": 4, "batch_size": 128, "fill_buffer": 128, "learning_rate": 1e-3}
_PPO = {"num_envs": 4, "num_steps": 128, "num_epochs": 4, "num_minibatches": 4, "learning_rate": 2.5e-4}
_PPO_IN_PYTHON = {"num_envs": 4, "n_steps": 128, "n_epochs": 4, "batch_size": 128}
_PQN = {"num_envs": 32, "num_steps": 32, "num_epochs": 4, "num_minibatches": 8}
_PPO_PUREJAXRL = {"LR": 2.5e-4, "NUM_ENVS": 4, "NUM_STEPS": 128, "UPDATE_EPOCHS": 4, "NUM_MINIBATCHES": 4}
_PPO_PUREJAXRL |= {"GAMMA": 0.99, "GAE_LAMBDA": 0.95, "CLIP_EPS": 0.2, "ENT_COEF": 0.01, "VF_COEF": 0.5}
_PPO_PUREJAXRL |= {"MAX_GRAD_NORM": 0.5, "ACTIVATION": "tanh", "ANNEAL_LR": True, "DEBUG": False}
_DQN_PUREJAXRL = {"NUM_ENVS": 10, "BUFFER_SIZE": 10_000, "BUFFER_BATCH_SIZE": 128, "LEARNING_STARTS": 1_000}
_DQN_PUREJAXRL |= {"EPSILON_START": 1.0, "EPSILON_FINISH": 0.05, "EPSILON_ANNEAL_TIME": 40_000, "LR": 1e-3}
_DQN_PUREJAXRL |= {"TARGET_UPDATE_INTERVAL": 500, "TRAINING_INTERVAL": 10, "GAMMA": 0.99, "TAU": 1.0}


def _in_python(algorithm: str, library: str, steps: int, settings: dict[str, Any]) -> Program:
    work = {"library": library, "algorithm": algorithm, "steps": steps, "settings": settings}
    return Program(library, "train_in_python", work, library)


def _rejax(steps: int, widths: tuple[int, ...], settings: dict[str, Any]) -> Program:
    return Program("rejax", "train_rejax", {"steps": steps, "widths": widths, "settings": settings}, "rejax")


def _purejaxrl(file: str, steps: int, settings: dict[str, Any]) -> Program:
    work = {"file": file, "steps": steps, "settings": settings, "checkout": ""}
    return Program("purejaxrl", "train_purejaxrl", work, "purejaxrl")


def _ours(steps: int, settings: dict[str, Any]) -> Program:
    return Program("funcenv", "train_funcenv", {"steps": steps, "settings": settings})


TRAINERS: dict[tuple[str, str], tuple[Program, ...]] = {
    ("ppo", CARTPOLE): (
        _ours(102_400, {"num_envs": 4, "num_steps": 128, "learning_rate": 2.5e-4}),
        _purejaxrl("ppo.py", 102_400, _PPO_PUREJAXRL),
        _rejax(102_400, (64, 64), {**_PPO, "max_grad_norm": 0.5, "agent_kwargs": {"activation": "tanh"}}),
        _in_python("PPO", "sbx", 4_096, _PPO_IN_PYTHON),
        _in_python("PPO", "stable-baselines3", 4_096, _PPO_IN_PYTHON),
    ),
    ("dqn", CARTPOLE): (
        _ours(
            50_000,
            {**_DQN, "num_gradient_steps": 1, "minibatch_size": 128, "n_step": 1}
            | {"hidden_sizes": [120, 84], "is_double": False, "is_dueling": False},
        ),
        _purejaxrl("dqn.py", 50_000, _DQN_PUREJAXRL),
        _rejax(
            50_000,
            (120, 84),
            {**_DQN, "batch_size": 128, "fill_buffer": 1_000, "target_update_freq": 50, "ddqn": False}
            | {"learning_rate": 1e-3, "agent": "QNetwork", "agent_kwargs": {"activation": "relu"}},
        ),
        _in_python("DQN", "sbx", 5_000, _DQN_IN_PYTHON),
        _in_python("DQN", "stable-baselines3", 5_000, _DQN_IN_PYTHON),
    ),
    ("pqn", CARTPOLE): (
        _ours(50_000, _PQN),
        _rejax(49_152, (128, 128), {**_PQN, "max_grad_norm": 10, "learning_rate": 5e-4}),
    ),
    ("sac", PENDULUM): (
        _ours(4_000, _REPLAY_OURS),
        _rejax(4_000, (128, 128), {**_REPLAY_REJAX, "agent_kwargs": {"activation": "relu"}}),
        _in_python("SAC", "sbx", 2_000, _REPLAY_IN_PYTHON),
        _in_python("SAC", "stable-baselines3", 1_600, _REPLAY_IN_PYTHON),
    ),
    ("td3", PENDULUM): (
        _ours(4_000, _REPLAY_OURS),
        _rejax(4_000, (128, 128), _REPLAY_REJAX),
        _in_python("TD3", "sbx", 2_000, _REPLAY_IN_PYTHON),
        _in_python("TD3", "stable-baselines3", 1_600, _REPLAY_IN_PYTHON),
    ),
}


def trainer_rows(plan: Plan) -> Iterator[Row]:
    """Yield the training of each algorithm by all trainers that have it."""
    for (algorithm, env), trainers in TRAINERS.items():
        common = {"algorithm": algorithm, "env": env}
        programs = (Program(one.name, one.worker, common | one.options, one.library) for one in trainers)
        yield Row(tuple(programs), common)


def preset_rows(plan: Plan) -> Iterator[Row]:
    """Yield whole trainings: presets that solve their task in seconds, and PPO with ten seeds that are evaluated."""
    quick = (("sac", PENDULUM), ("sac", "MountainCarContinuous-v0"), ("pqn", CARTPOLE), ("pqn", "Acrobot-v1"))
    for algorithm, env in quick:
        work = {"algorithm": algorithm, "env": env, "is_preset": True, "settings": {}}
        yield Row((Program("funcenv", "train_funcenv", work),), {"algorithm": algorithm, "env": env})
    cases = (("4 x 128", CARTPOLE, 475, _PPO), ("preset", CARTPOLE, 475, None), ("preset", PENDULUM, -250, None))
    for name, env, threshold, settings in cases:
        work = {"algorithm": "ppo", "env": env, "threshold": threshold, "settings": settings or {}, "steps": 500_000}
        for num_seeds in (1, 10) if settings else (10,):
            work = work | {"settings": {**work["settings"], "num_seeds": num_seeds}, "is_preset": settings is None}
            labels = {"algorithm": "ppo", "env": env, "settings": name, "num_seeds": num_seeds}
            yield Row((Program("funcenv", "train_funcenv", {**work, "evaluate": num_seeds > 1}),), labels)


def interface_rows(plan: Plan) -> Iterator[Row]:
    """Yield trainings by stable-baselines3, on our environment behind Gymnasium's interface and on Gymnasium's own."""
    dqn = {"learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000, "gamma": 0.99}
    dqn |= {"target_update_interval": 10, "train_freq": 256, "gradient_steps": 128, "exploration_fraction": 0.16}
    dqn |= {"exploration_final_eps": 0.04, "policy_kwargs": {"net_arch": [256, 256]}}
    for algorithm, settings in (("PPO", {}), ("DQN", dqn)):
        for seed in range(3):
            one = _in_python(algorithm, "stable-baselines3", 50_000, settings)
            common = {**one.options, "seed": seed, "evaluate": True}
            ids = ("funcenv.adapters.gymnasium:funcenv/CartPole-v1", CARTPOLE)
            programs = (Program(env, one.worker, {**common, "env": env}, one.library) for env in ids)
            yield Row(tuple(programs), {"algorithm": algorithm, "seed": seed})


def start_rows(plan: Plan) -> Iterator[Row]:
    """Yield `funcenv train` from the start of the process until the task is solved, and until the process ends."""
    work = {"env": CARTPOLE, "threshold": 475.0}
    programs = (Program(name, "train_command", work) for name in ("empty cache", "filled cache"))
    yield Row(tuple(programs), {"env": CARTPOLE})
