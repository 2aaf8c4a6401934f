"""Q-learning as scripts around Gymnasium are written; it does not know whose environment it runs.

    python docs/examples/gymnasium_style_script.py --env-id FrozenLake-v1
    python docs/examples/gymnasium_style_script.py --env-id funcenv/FrozenLake-v1

The import of `funcenv.adapters.gymnasium`, which registers the ids, is all that was added.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import numpy as np

import funcenv.adapters.gymnasium  # noqa: F401  (registers funcenv/...)


def train(env_id: str, num_episodes: int = 400, seed: int = 0) -> list[float]:
    """The return of every episode; the agent starts with optimistic values and explores a tenth of the time."""
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
            following, reward, terminated, truncated, info = env.step(action)
            target = reward + 0.95 * (not terminated) * values[following].max()
            values[observation, action] += 0.5 * (target - values[observation, action])
            observation, ended = following, terminated or truncated
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
