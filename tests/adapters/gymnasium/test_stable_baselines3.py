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


@pytest.mark.parametrize(("name", "algorithm"), [("BitFlip-v0", "DQN"), ("GoalReacher-v0", "SAC")])
def test_hindsight_replays_our_goals(name, algorithm):
    """Rewards of relabelled transitions are those of the environment."""
    from stable_baselines3 import HerReplayBuffer

    model = getattr(stable_baselines3, algorithm)(
        "MultiInputPolicy",
        gymnasium.make(f"funcenv/{name}"),
        replay_buffer_class=HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        seed=0,
        device="cpu",
        learning_starts=250,
    )
    model.learn(300)
    batch = model.replay_buffer.sample(512)
    goals = (batch.next_observations[entry].numpy() for entry in ("achieved_goal", "desired_goal"))
    env = gymnasium.make(f"funcenv/{name}").unwrapped
    space = env.observation_space["desired_goal"]
    rewards = env.compute_reward(*(goal.astype(space.dtype) for goal in goals), {})
    assert (batch.rewards.numpy().ravel() == rewards).all() and rewards.max() == 0
