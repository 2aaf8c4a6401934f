"""stable-baselines3 on funcenv's CartPole and on Gymnasium's: `python benchmarks/stable_baselines3_cartpole.py`.

Needs `pip install stable-baselines3`, which installs torch.
"""

from __future__ import annotations

import time

import gymnasium
import stable_baselines3
import torch
from stable_baselines3.common.evaluation import evaluate_policy

import funcenv.adapters.gymnasium  # noqa: F401  (registers the ids)

NUM_STEPS = 50_000
SEEDS = (0, 1, 2)
DQN = {
    "learning_rate": 2.3e-3,
    "batch_size": 64,
    "buffer_size": 100_000,
    "learning_starts": 1000,
    "gamma": 0.99,
    "target_update_interval": 10,
    "train_freq": 256,
    "gradient_steps": 128,
    "exploration_fraction": 0.16,
    "exploration_final_eps": 0.04,
    "policy_kwargs": {"net_arch": [256, 256]},
}


def main() -> None:
    torch.set_num_threads(1)
    for algorithm, settings in ((stable_baselines3.PPO, {}), (stable_baselines3.DQN, DQN)):
        for env_id in ("funcenv/CartPole-v1", "CartPole-v1"):
            returns, cpu = [], time.process_time()
            for seed in SEEDS:
                model = algorithm("MlpPolicy", gymnasium.make(env_id), seed=seed, device="cpu", **settings)
                model.learn(NUM_STEPS)
                mean_return, _ = evaluate_policy(model, gymnasium.make(env_id), n_eval_episodes=20, warn=False)
                returns.append(f"{mean_return:.1f}")
            cpu = (time.process_time() - cpu) / len(SEEDS)
            print(
                f"{algorithm.__name__} {env_id:<20} returns {', '.join(returns)} after {NUM_STEPS:,} steps each, "
                f"{cpu:.1f} CPU-s each"
            )


if __name__ == "__main__":
    main()
