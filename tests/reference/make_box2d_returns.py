"""Write box2d_returns.npz: returns and lengths of 200 episodes of Gymnasium's heuristics in its Box2D environments.

Each episode has a new environment: Gymnasium's BipedalWalker keeps its world from one episode to the next, in which
contacts have another order then. LunarLander is also played with the iterations of `fidelity="fast"` and without
continuous collision. Run it in a virtual environment of its own, after
pip install "gymnasium[box2d]==1.4.0" "box2d==2.3.10".
"""

import pathlib

import Box2D
import gymnasium
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics
from gymnasium.envs.box2d.lunar_lander import heuristic

EPISODES = 200
EXACT = "LunarLander-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3"


class FastWorld(Box2D.b2World):
    """A world with 20 and 10 iterations, which stops no fast bodies."""

    def __init__(self, **options):
        super().__init__(continuousPhysics=False, **options)

    def Step(self, dt, velocity_iterations, position_iterations):
        super().Step(dt, 20, 10)


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


def columns(id):
    """Return returns, lengths and last rewards of all episodes."""
    rows = zip(*(play(id, seed) for seed in range(EPISODES)), strict=True)
    return dict(zip(("returns", "lengths", "last"), map(np.array, rows), strict=True))


if __name__ == "__main__":
    played = {id: columns(id) for id in EXACT}
    Box2D.b2World = FastWorld
    played["LunarLander-v3, fast"] = columns("LunarLander-v3")
    arrays = {f"{id}/{name}": column for id, found in played.items() for name, column in found.items()}
    np.savez_compressed(pathlib.Path(__file__).with_name("box2d_returns.npz"), **arrays)
