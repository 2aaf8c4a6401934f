"""Q-learning in the style of a script for Gymnasium, which also trains on environments of funcenv.

    python docs/examples/gymnasium_style_script.py --env-id FrozenLake-v1
    python docs/examples/gymnasium_style_script.py --env-id funcenv/FrozenLake-v1

Only the import of `funcenv.adapters.gymnasium`, which registers the ids, was added.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import numpy as np

import funcenv.adapters.gymnasium  # noqa: F401  (registers funcenv/...)


def train(env_id: str, num_episodes: int = 400, seed: int = 0) -> list[float]:
    """Train an agent with optimistic initial values that explores in a tenth of its steps; return all returns."""
    rng = np.random.default_rng(seed)
    env = gym.wrappers.RecordEpisodeStatistics(gym.make(env_id, is_slippery=False))
    values = np.ones((int(env.observation_space.n), int(env.action_space.n)))
    returns = []
    for episode in range(num_episodes):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        ended = False
        while not ended:
            greedy = int(rng.choice(np.flatnonzero(values[observation] == values[observation].max())))
            action = int(rng.integers(values.shape[1])) if rng.random() < 0.1 else greedy
            next_observation, reward, terminated, truncated, info = env.step(action)
            target = reward + 0.95 * (not terminated) * values[next_observation].max()
            values[observation, action] += 0.5 * (target - values[observation, action])
            observation, ended = next_observation, terminated or truncated
        returns.append(float(info["episode"]["r"]))
    env.close()
    return returns


def main() -> None:
    """Train and print the success rate of each hundred episodes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--env-id", default="funcenv/FrozenLake-v1")
    parser.add_argument("--num-episodes", type=int, default=400)
    arguments = parser.parse_args()
    returns = train(arguments.env_id, arguments.num_episodes)
    for first in range(0, len(returns), 100):
        print(f"episodes {first:4d} on: success rate {np.mean(returns[first : first + 100]):.2f}")


if __name__ == "__main__":
    main()
