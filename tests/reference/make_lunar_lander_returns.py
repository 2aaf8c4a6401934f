"""Write lunar_lander_returns.npz: returns and lengths of 200 episodes of Gymnasium's heuristic in its LunarLander.

Run it in an environment of its own, after pip install "gymnasium[box2d]==1.4.0" "box2d==2.3.10".
"""

import pathlib

import gymnasium
import numpy as np
from gymnasium.envs.box2d.lunar_lander import heuristic

EPISODES = 200


def play(env, seed):
    """Return the return, the number of steps and the last reward of an episode."""
    observation, _ = env.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        observation, reward, terminated, truncated, _ = env.step(heuristic(env.unwrapped, observation))
        total, steps, is_over = total + reward, steps + 1, terminated or truncated
    return total, steps, reward


if __name__ == "__main__":
    env = gymnasium.make("LunarLander-v3")
    returns, lengths, last = (np.array(column) for column in zip(*(play(env, i) for i in range(EPISODES)), strict=True))
    file = pathlib.Path(__file__).with_name("lunar_lander_returns.npz")
    np.savez_compressed(file, returns=returns, lengths=lengths, last=last)
