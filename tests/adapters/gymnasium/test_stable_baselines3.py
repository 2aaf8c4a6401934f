"""stable-baselines3 trains a funcenv environment unchanged; it needs torch, which the dev extra leaves out."""

import gymnasium
import pytest

import funcenv.adapters.gymnasium  # noqa: F401  (registers the ids)

stable_baselines3 = pytest.importorskip(
    "stable_baselines3", reason="stable-baselines3 is not installed: pip install stable-baselines3"
)


@pytest.mark.dear
def test_ppo_learns_cartpole():
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    env = gymnasium.make("funcenv/CartPole-v1")
    model = stable_baselines3.PPO("MlpPolicy", env, seed=0, device="cpu").learn(10_000)
    mean_return, _ = evaluate_policy(model, Monitor(gymnasium.make("funcenv/CartPole-v1")), n_eval_episodes=20)
    assert mean_return > 100


def test_dqn_runs():
    env = gymnasium.make("funcenv/CartPole-v1")
    stable_baselines3.DQN("MlpPolicy", env, seed=0, device="cpu", learning_starts=100).learn(500)
