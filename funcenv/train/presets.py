"""Configurations that are known to solve a task: `funcenv train ENV_ID` starts from these.

Each row was tried on 10 seeds; docs/benchmarks.md has the figures. Other environments start from the algorithm's
defaults.
"""

from __future__ import annotations

from typing import Any

from funcenv.train import ppo

PPO: dict[str, dict[str, Any]] = {
    "CartPole-v0": {"total_timesteps": 200_000},
    "CartPole-v1": {"total_timesteps": 200_000},
    "Pendulum-v1": {
        "total_timesteps": 200_000,
        "num_envs": 16,
        "num_steps": 128,
        "num_epochs": 10,
        "num_minibatches": 16,
        "gamma": 0.95,
        "entropy_coefficient": 0.0,
        "normalize_observation": True,
    },
}


def preset(env_id: str) -> ppo.Config:
    """Where a run in this environment starts from.

    >>> preset("Pendulum-v1").gamma
    0.95
    """
    return ppo.Config(env_id=env_id, **PPO.get(env_id, {}))
