"""A single-file PPO in CleanRL's style, on funcenv's CartPole and on Gymnasium's: only the id differs.

`python benchmarks/cleanrl_ppo_cartpole.py` (needs `pip install torch`). The loop follows CleanRL (Huang et al.,
"CleanRL: High-quality Single-file Implementations of Deep Reinforcement Learning Algorithms", JMLR 23, 2022):
torch, `SyncVectorEnv` over `gymnasium.make`, `RecordEpisodeStatistics`, next-step autoreset.
"""

from __future__ import annotations

import sys
import time

import gymnasium
import numpy as np
import torch
from torch import nn

import funcenv.adapters.gymnasium  # noqa: F401  (registers the ids)

NUM_ENVS, NUM_STEPS, NUM_MINIBATCHES, NUM_EPOCHS = 4, 128, 4, 4
LEARNING_RATE, GAMMA, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 2.5e-4, 0.99, 0.95, 0.2, 0.01, 0.5, 0.5


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    def __init__(self, num_inputs: int, num_actions: int) -> None:
        super().__init__()
        self.critic = nn.Sequential(layer(num_inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
        self.actor = nn.Sequential(
            layer(num_inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, num_actions, 0.01)
        )

    def policy(self, observation: torch.Tensor) -> torch.distributions.Categorical:
        return torch.distributions.Categorical(logits=self.actor(observation))


def make_env(env_id: str):
    return lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(env_id))


def train(env_id: str, total_timesteps: int, seed: int = 1) -> list[float]:
    """Train, and return the returns of all episodes in the order in which they ended."""
    np.random.seed(seed)
    torch.manual_seed(seed)
    envs = gymnasium.vector.SyncVectorEnv([make_env(env_id) for _ in range(NUM_ENVS)])
    agent = Agent(int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n))
    optimizer = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE, eps=1e-5)
    shape = NUM_STEPS, NUM_ENVS
    observations = torch.zeros(shape + envs.single_observation_space.shape)
    actions = torch.zeros(shape, dtype=torch.int64)
    log_probs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))
    returns: list[float] = []

    next_observation = torch.as_tensor(envs.reset(seed=seed)[0])
    next_done = torch.zeros(NUM_ENVS)
    num_updates = total_timesteps // (NUM_ENVS * NUM_STEPS)
    for update in range(num_updates):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - update / num_updates)
        for step in range(NUM_STEPS):
            observations[step], dones[step] = next_observation, next_done
            with torch.no_grad():
                policy = agent.policy(next_observation)
                actions[step] = policy.sample()
                log_probs[step] = policy.log_prob(actions[step])
                values[step] = agent.critic(next_observation).squeeze(-1)
            observation, reward, terminated, truncated, infos = envs.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(reward)
            next_observation = torch.as_tensor(observation)
            next_done = torch.as_tensor(np.logical_or(terminated, truncated), dtype=torch.float32)
            if "episode" in infos:
                returns += infos["episode"]["r"][infos["_episode"]].tolist()

        with torch.no_grad():
            next_value, next_flag = agent.critic(next_observation).squeeze(-1), next_done
            advantages, last = torch.zeros(shape), torch.zeros(NUM_ENVS)
            for step in reversed(range(NUM_STEPS)):
                delta = rewards[step] + GAMMA * next_value * (1 - next_flag) - values[step]
                last = delta + GAMMA * GAE_LAMBDA * (1 - next_flag) * last
                advantages[step], next_value, next_flag = last, values[step], dones[step]
            targets = advantages + values

        batch = [tensor.flatten(0, 1) for tensor in (observations, actions, log_probs, advantages, targets)]
        for _ in range(NUM_EPOCHS):
            for rows in torch.randperm(NUM_ENVS * NUM_STEPS).chunk(NUM_MINIBATCHES):
                observation, action, old_log_prob, advantage, target = (tensor[rows] for tensor in batch)
                policy = agent.policy(observation)
                ratio = (policy.log_prob(action) - old_log_prob).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.min(advantage * ratio, advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                error = 0.5 * (agent.critic(observation).squeeze(-1) - target).square().mean()
                loss = VALUE * error - gain - ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), MAX_NORM)
                optimizer.step()
    envs.close()
    return returns


def main() -> None:
    torch.set_num_threads(1)
    total_timesteps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for env_id in ("funcenv/CartPole-v1", "CartPole-v1"):
        cpu = time.process_time()
        returns = train(env_id, total_timesteps)
        cpu = time.process_time() - cpu
        last = float(np.mean(returns[-20:]))
        print(
            f"{env_id:<20} last 20 episodes {last:.1f}, {len(returns)} in all, {total_timesteps:,} steps, "
            f"{cpu:.1f} CPU-s"
        )


if __name__ == "__main__":
    main()
