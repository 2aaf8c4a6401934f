"""Write box2d_returns.npz: returns and lengths of 200 episodes of Gymnasium's heuristics in its Box2D environments.

Each episode has a new environment: Gymnasium's BipedalWalker keeps its world from one episode to the next, in which
contacts have another order then. Run it in a virtual environment of its own, after
pip install "gymnasium[box2d]==1.4.0" "box2d==2.3.10".
"""

import pathlib

import gymnasium
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics
from gymnasium.envs.box2d.lunar_lander import heuristic

EPISODES = 200
IDS = "LunarLander-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3"


def policy(env):
    """Return the heuristic at the beginning of an episode."""
    if env.spec.id.startswith("LunarLander"):
        return lambda observation: heuristic(env.unwrapped, observation)
    walk = BipedalWalkerHeuristics().step_heuristic
    return lambda observation: np.array(walk(observation))


def play(id, seed):
    """Return the return, the number of steps and the last reward of an episode."""
    env = gymnasium.make(id)
    observation, _ = env.reset(seed=seed)
    act, total, steps, is_over = policy(env), 0.0, 0, False
    while not is_over:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total, steps, is_over = total + reward, steps + 1, terminated or truncated
    return total, steps, reward


if __name__ == "__main__":
    arrays = {}
    for id in IDS:
        columns = zip(*(play(id, seed) for seed in range(EPISODES)), strict=True)
        for name, column in zip(("returns", "lengths", "last"), columns, strict=True):
            arrays[f"{id}/{name}"] = np.array(column)
    np.savez_compressed(pathlib.Path(__file__).with_name("box2d_returns.npz"), **arrays)
