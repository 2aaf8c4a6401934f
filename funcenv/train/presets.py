"""Configurations that are known to solve a task; `funcenv train ENV_ID` starts from them.

Each was tried on 10 seeds; docs/benchmarks.md has the results. Other environments start from the algorithm's defaults.
"""

from __future__ import annotations

from typing import Any

from funcenv.train.algorithm import DEFAULT_ALGORITHM, find_algorithm

PRESETS: dict[tuple[str, str], dict[str, Any]] = {
    ("ppo", "CartPole-v0"): {"total_timesteps": 200_000},
    ("ppo", "CartPole-v1"): {"total_timesteps": 200_000},
    ("ppo", "Pendulum-v1"): {
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
"""Settings that differ from the algorithm's defaults, by the names of the algorithm and the environment."""


def preset(env_id: str, algorithm: str = DEFAULT_ALGORITHM) -> Any:
    """Return the configuration from which an algorithm starts in an environment.

    >>> preset("Pendulum-v1").gamma
    0.95
    """
    return find_algorithm(algorithm).Config(env_id=env_id, **PRESETS.get((algorithm, env_id), {}))
